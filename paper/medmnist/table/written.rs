//! The table for programs: a line for each row and set, and all of it for results.json.

use std::fmt::Write as _;

use serde_json::{Map, Value, json};

use super::cells::{Cell, majority};
use super::paper;
use crate::medmnist::rows::Strengths;
use crate::targets::Named;
use crate::targets::curves::field;
use crate::targets::point::{Entry, Frame};

/// Metrics of the test that are written as mean and deviation.
const METRICS: [(&str, &str); 8] = [
    ("accuracy", "accuracy"),
    ("auc", "auc"),
    ("defect", "defect"),
    ("held/residual", "residual"),
    ("held/relative", "relative"),
    ("pairs/rotation", "rotation_pairs"),
    ("pairs/reflection", "reflection_pairs"),
    ("loss", "loss"),
];

/// A line for each row and set.
pub(super) fn csv(cells: &[Cell<'_>]) -> String {
    let mut csv = "set,row,learning_rate,lambda_g,lambda_perp,parameters,seeds,diverged,trained,majority,gain,gain_se"
        .to_string();
    for (_, name) in METRICS {
        let _ = write!(csv, ",{name}_mean,{name}_sd");
    }
    csv += ",paper_accuracy,paper_accuracy_sd\n";
    for cell in cells {
        let Strengths { learning_rate, lambda_g, lambda_perp } = cell.strengths;
        let (gain, error) = cell.gain();
        let _ = write!(
            csv,
            "{},{},{learning_rate},{lambda_g},{lambda_perp}{}",
            cell.set.name(),
            cell.row.name(),
            field(cell.parameters())
        );
        let _ = write!(csv, ",{},{},{}", cell.runs.len(), cell.diverged(), cell.is_trained());
        csv += &[majority(cells, cell.set), gain, error].map(field).concat();
        for (metric, _) in METRICS {
            let sample = cell.test(metric);
            csv += &[sample.mean(), sample.deviation()].map(field).concat();
        }
        let (mean, deviation) = paper::accuracy(cell.row, cell.set).unwrap_or((f64::NAN, f64::NAN));
        csv += &([mean, deviation].map(field).concat() + "\n");
    }
    csv
}

/// Rows and curves for results.json.
pub(super) fn results(cells: &[Cell<'_>], models: &Frame) -> Map<String, Value> {
    let of_cell = |cell: &Cell<'_>| {
        let (gain, error) = cell.gain();
        let mut value = json!({
            "set": cell.set.name(),
            "row": cell.row.name(),
            "learning_rate": cell.strengths.learning_rate,
            "lambda_g": cell.strengths.lambda_g,
            "lambda_perp": cell.strengths.lambda_perp,
            "seeds": cell.runs.iter().map(|(seed, _)| seed).collect::<Vec<_>>(),
            "diverged": cell.diverged(),
            "trained": cell.is_trained(),
            "gain": gain,
            "gain_se": error,
            "paper": paper::accuracy(cell.row, cell.set).map(|(mean, deviation)| [mean, deviation]),
        });
        for (metric, name) in METRICS {
            value[name] = json!(cell.test(metric).values());
        }
        value
    };
    let of_model = |entry: &Entry| {
        let arrays = entry.trained.arrays.iter();
        (entry.id.clone(), arrays.map(|(name, values)| (name.clone(), json!(values))).collect::<Map<_, _>>().into())
    };
    Map::from_iter([
        ("cells".to_string(), cells.iter().map(of_cell).collect::<Vec<_>>().into()),
        ("curves".to_string(), models.iter().map(of_model).collect::<Map<_, _>>().into()),
    ])
}
