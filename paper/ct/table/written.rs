//! The tables for programs: a line for each row, and all of it for results.json.

use std::fmt::Write as _;

use reynolds::norm::Norm;
use serde_json::{Map, Value, json};

use super::cells::{Cell, Quality, trivial};
use super::paper::{Published, published, published_norm};
use super::row::Mode;
use super::run::is_picture;
use crate::targets::Named;
use crate::targets::curves::field;
use crate::targets::point::{Entry, Frame};

/// Metrics of a test that are written as mean and deviation.
const METRICS: [(&str, &str); 6] = [
    ("psnr", "psnr"),
    ("ssim", "ssim"),
    ("held/residual", "residual"),
    ("held/relative", "relative"),
    ("defect", "defect"),
    ("psnr_se", "psnr_se"),
];

/// The paper's numbers of a row: of `table-norms` where a norm is asked about.
fn paper(cell: &Cell<'_>, norms: bool) -> Published {
    let of_row = published(cell.row);
    if !norms {
        return of_row;
    }
    let none = f64::NAN;
    let blank = Published {
        train_4: none,
        train_12: none,
        inference: none,
        epoch: none,
        memory: none,
        psnr: none,
        ssim: none,
        ..of_row
    };
    match published_norm(cell.norm).filter(|_| cell.row.mode == Mode::Penalty) {
        Some(paper) => {
            Published { train_12: paper.train, epoch: paper.epoch, psnr: paper.psnr, ssim: paper.ssim, ..blank }
        }
        None => blank,
    }
}

/// A line for each row, the trivial ones first.
pub(super) fn csv(batches: &[usize], cells: &[Cell<'_>], norms: bool) -> String {
    let mut csv = "network,mode,norm,parameters,seeds,diverged,trained,gain,gain_se".to_string();
    for (_, name) in METRICS {
        let _ = write!(csv, ",{name}_mean,{name}_sd");
    }
    for batch in batches {
        let _ = write!(csv, ",train_images_per_s_{batch},peak_memory_gib_{batch}");
    }
    csv += ",inference_images_per_s,epoch_s,paper_train_4,paper_train_12,paper_inference,paper_epoch_s,paper_memory_gb,\
            paper_psnr,paper_ssim\n";
    for (name, key) in [("input", "input"), ("li", "interpolated")] {
        let [psnr, ssim] = Quality::ALL.map(|quality| field(trivial(cells, &format!("{key}/{}", quality.name()))));
        let rest = 2 * (METRICS.len() - 2) + 2 * batches.len() + 9;
        let _ = writeln!(csv, "{name},,,,,,,,{psnr},{ssim},{}", ",".repeat(rest));
    }
    for cell in cells {
        csv += &line(cell, batches, norms);
    }
    csv
}

fn line(cell: &Cell<'_>, batches: &[usize], norms: bool) -> String {
    let norm = if cell.row.mode == Mode::Penalty { format!("\"{}\"", cell.norm) } else { String::new() };
    let (gain, error) = cell.gain();
    let mut line = format!("{},{},{norm}{}", cell.row.network.name(), cell.row.mode.name(), field(cell.parameters()));
    let _ = write!(line, ",{},{},{}", cell.runs.len(), cell.diverged(), cell.is_trained());
    line += &[gain, error].map(field).concat();
    for (metric, _) in METRICS {
        let sample = cell.test(metric);
        line += &[sample.mean(), sample.deviation()].map(field).concat();
    }
    for &batch in batches {
        let cost = cell.cost.as_ref();
        let numbers = cost.map_or([f64::NAN; 2], |cost| [cost.train(batch), cost.memory(batch)]);
        line += &numbers.map(field).concat();
    }
    let cost = cell.cost.as_ref().map_or([f64::NAN; 2], |cost| [cost.inference(), cost.epoch()]);
    let Published { train_4, train_12, inference, epoch, memory, psnr, ssim, .. } = paper(cell, norms);
    line += &cost.map(field).concat();
    line += &[train_4, train_12, inference, epoch, memory, psnr, ssim].map(field).concat();
    line + "\n"
}

/// Rows and curves for results.json; pictures are in the figures alone.
pub(super) fn results(cells: &[Cell<'_>], models: &Frame) -> Map<String, Value> {
    let of_cell = |cell: &Cell<'_>| {
        let (gain, error) = cell.gain();
        let mut value = json!({
            "network": cell.row.network.name(),
            "mode": cell.row.mode.name(),
            "norm": (cell.row.mode == Mode::Penalty).then(|| Norm::to_string(&cell.norm)),
            "seeds": cell.runs.iter().map(|(seed, _)| seed).collect::<Vec<_>>(),
            "diverged": cell.diverged(),
            "trained": cell.is_trained(),
            "gain": gain,
            "gain_se": error,
        });
        for (metric, name) in METRICS {
            value[name] = json!(cell.test(metric).values());
        }
        value
    };
    let of_model = |entry: &Entry| {
        let arrays = entry.trained.arrays.iter().filter(|(name, _)| !is_picture(name));
        (entry.id.clone(), arrays.map(|(name, values)| (name.clone(), json!(values))).collect::<Map<_, _>>().into())
    };
    let with_curves = models.iter().filter(|entry| !entry.trained.arrays.is_empty());
    Map::from_iter([
        ("data".to_string(), super::tables::DATA.into()),
        ("cells".to_string(), cells.iter().map(of_cell).collect::<Vec<_>>().into()),
        ("curves".to_string(), with_curves.map(of_model).collect::<Map<_, _>>().into()),
    ])
}
