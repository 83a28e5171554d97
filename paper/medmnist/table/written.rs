//! The table for programs: a line for each row and set, and all of it for results.json.

use reynolds_report::{Csv, csv::Field};
use serde_json::{Map, Value, json};

use super::cells::{Cell, majority};
use super::paper;
use crate::medmnist::rows::Strengths;
use crate::targets::Named;
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
    let words = |words: &str| words.split(' ').map(String::from).collect::<Vec<_>>();
    let mut head =
        words("set row learning_rate lambda_g lambda_perp parameters seeds diverged trained majority gain gain_se");
    head.extend(METRICS.iter().flat_map(|(_, name)| ["mean", "sd"].map(|what| format!("{name}_{what}"))));
    head.extend(words("paper_accuracy paper_accuracy_sd"));
    let mut csv = Csv::new(head);
    for cell in cells {
        let Strengths { learning_rate, lambda_g, lambda_perp } = cell.strengths;
        let (gain, error) = cell.gain();
        let mut fields: Vec<Field> = vec![cell.set.name().into(), cell.row.name().into()];
        fields.extend([learning_rate, lambda_g, lambda_perp, cell.parameters()].map(Field::from));
        fields.extend([cell.runs.len().into(), cell.diverged().into(), Field::from(cell.is_trained())]);
        fields.extend([majority(cells, cell.set), gain, error].map(Field::from));
        for (metric, _) in METRICS {
            let sample = cell.test(metric);
            fields.extend([sample.mean(), sample.deviation()].map(Field::from));
        }
        let (mean, deviation) = paper::accuracy(cell.row, cell.set).unzip();
        fields.extend([mean, deviation].map(Field::from));
        csv.row(fields);
    }
    csv.to_string()
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
