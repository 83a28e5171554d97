//! The cells of the tables: quality and cost of a row beside the paper's numbers, which are of other data.
//!
//! The trivial answer is the linearly interpolated image (LI), which every network starts from.

use std::sync::LazyLock;

use super::row::{Mode, Row};
use super::settings::TargetSettings;
use crate::ct::networks::Architecture;
use crate::targets::Named;
use crate::targets::columns::{Column, DASH, Line, Value, decimals, shown};
use crate::targets::point::{Frame, Trained};
use crate::targets::published::Published;
use crate::targets::runs::{Runs, in_common};
use crate::targets::sample::Sample;

/// Images of the paper's epoch: throughput times epoch time is about that in every row of its table.
pub(super) const EPOCH: f64 = 6000.0;

const NONE: f64 = f64::NAN;

/// `tab:ct_mar` and, by the names of norms, `tab:norm_comparison`.
pub(super) static PAPER: LazyLock<Published> = LazyLock::new(|| {
    Published::read(&[
        include_str!("../../published/ct_mar.toml"),
        include_str!("../../published/norm_comparison.toml"),
    ])
});

/// A measure of image quality.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Quality {
    pub(super) metric: &'static str,
    pub(super) head: &'static str,
    decimals: usize,
}

pub(super) const PSNR: Quality = Quality { metric: "psnr", head: "PSNR", decimals: 2 };
pub(super) const SSIM: Quality = Quality { metric: "ssim", head: "SSIM", decimals: 4 };
pub(super) const QUALITIES: [Quality; 2] = [PSNR, SSIM];

impl Quality {
    /// "41.44", "0.9468".
    pub(super) fn text(self, value: f64) -> String {
        shown(value, |value| format!("{value:.*}", self.decimals))
    }
}

/// One row of a table that was run.
#[derive(Debug, Clone)]
pub(super) struct Cell<'a> {
    pub(super) row: Row,
    /// In sentences.
    pub(super) label: String,
    /// Its row among the paper's numbers.
    paper: String,
    /// Empty where only the cost was measured.
    pub(super) runs: Runs<'a>,
    pub(super) cost: Option<&'a Trained>,
    /// Minibatches that were measured, increasing.
    pub(super) batches: Vec<usize>,
}

impl<'a> Cell<'a> {
    /// `None` if nothing was run of it. In the table of norms it is named by its norm.
    fn new(settings: &TargetSettings, frame: &'a Frame, row: Row) -> Option<Self> {
        let runs = Runs::find(frame, settings.seeds(), |seed| settings.model(row.trained(), seed));
        let (label, paper) = match (settings.norms.is_some(), row.mode) {
            (false, _) => (row.label(), row.name()),
            (true, Mode::Plain) => ("no penalty".into(), String::new()),
            (true, _) => (row.norm.to_string(), row.norm.to_string()),
        };
        let costs = settings.measured();
        let cost = costs.and_then(|costs| frame.find(&costs.of(&settings.run, row.trained())));
        let mut cell = Self { row, label, paper, runs, cost, batches: Vec::new() };
        let batches = costs.map_or(&[][..], |costs| costs.batches(row.trained()));
        cell.batches = batches.iter().copied().filter(|&batch| cell.train(batch).is_finite()).collect();
        (!cell.runs.is_empty() || cell.cost.is_some()).then_some(cell)
    }

    /// A metric of the test with the weights that this row tests, of the runs that did not diverge.
    pub(super) fn test(&self, metric: &str) -> Sample {
        self.runs.sample(&self.metric(metric))
    }

    fn metric(&self, metric: &str) -> String {
        format!("{}test/{metric}", if self.row.mode == Mode::Projected { "projected/" } else { "" })
    }

    /// Mean gain of PSNR over LI, case by case, and its standard error.
    fn gain(&self) -> (f64, f64) {
        self.runs.gain(&self.metric("gain/psnr"))
    }

    /// Whether it beats LI, with every seed.
    pub(super) fn is_trained(&self) -> bool {
        self.runs.is_trained(&self.metric("gain/psnr"))
    }

    /// "41.44 ± 0.03": over seeds, or over cases where there is one; with its label where it is not trained.
    fn text(&self, quality: Quality) -> String {
        if self.runs.is_empty() {
            return DASH.into();
        }
        let sample = self.test(quality.metric);
        let spread = match sample.values().len() {
            1 => self.test(&format!("{}_se", quality.metric)).mean(),
            _ => sample.deviation(),
        };
        let mut text = quality.text(sample.mean());
        if spread.is_finite() {
            text += &format!(" ± {}", quality.text(spread));
        }
        // Said once a row.
        self.runs.labelled(text, self.is_trained() || quality != PSNR)
    }

    pub(super) fn parameters(&self) -> f64 {
        let kept = self.runs.metric("parameters");
        if kept.is_finite() { kept } else { self.measured_parameters() }
    }

    pub(super) fn measured_parameters(&self) -> f64 {
        self.cost.map_or(NONE, |cost| cost.metric("parameters"))
    }

    fn at(&self, batch: usize, metric: &str) -> f64 {
        self.cost.map_or(NONE, |cost| cost.metric(&format!("batch{batch}/{metric}")))
    }

    /// Training images a second.
    pub(super) fn train(&self, batch: usize) -> f64 {
        self.at(batch, "train_images_per_s")
    }

    /// The largest batch that was measured.
    pub(super) fn largest(&self) -> usize {
        self.batches.last().copied().unwrap_or_default()
    }

    /// Images a second without a gradient, at the largest batch.
    pub(super) fn inference(&self) -> f64 {
        self.at(self.largest(), "inference_images_per_s")
    }

    /// Milliseconds of a training step at the largest batch.
    pub(super) fn step(&self) -> f64 {
        self.at(self.largest(), "train_ms")
    }

    /// GiB at a batch.
    pub(super) fn memory(&self, batch: usize) -> f64 {
        self.at(batch, "peak_memory_mib") / 1024.0
    }

    /// Seconds of an epoch of [`EPOCH`] images at the largest batch.
    pub(super) fn epoch(&self) -> f64 {
        EPOCH / self.train(self.largest())
    }

    /// The paper's number; not a number where it has a dash.
    pub(super) fn published(&self, metric: &str) -> f64 {
        PAPER.number(&self.paper, metric)
    }
}

/// All rows of a table that were run.
pub(super) fn cells<'a>(settings: &TargetSettings, frame: &'a Frame) -> Vec<Cell<'a>> {
    settings.rows().into_iter().filter_map(|row| Cell::new(settings, frame, row)).collect()
}

/// The cell of a network and a mode, if it was run.
pub(super) fn find<'a, 'b>(cells: &'a [Cell<'b>], network: Architecture, mode: Mode) -> Option<&'a Cell<'b>> {
    cells.iter().find(|cell| (cell.row.network, cell.row.mode) == (network, mode))
}

pub(super) type CellColumn<'a> = Column<'a, Cell<'a>>;

/// Rows of a table after those of the two trivial images: their `names` under `head`, PSNR and SSIM under the heads of these columns.
pub(super) fn lines<'r, 'a>(
    cells: &'r [Cell<'a>],
    names: [&'static str; 2],
    [head, psnr, ssim]: [&'static str; 3],
) -> impl Iterator<Item = Line<'r, Cell<'a>>> {
    let trivial = names.into_iter().zip(["input", "interpolated"]).map(move |(name, key)| {
        let value = |metric: &str| in_common(cells.iter().map(|cell| &cell.runs), &format!("test/{key}/{metric}"));
        Line::Given(vec![(head, name.into()), (psnr, value("psnr").into()), (ssim, value("ssim").into())])
    });
    trivial.chain(cells.iter().map(Line::Row))
}

/// The quality of a row, for programs.
pub(super) fn of_images<'a>() -> Vec<CellColumn<'a>> {
    let norm = |cell: &Cell<'_>| (cell.row.mode == Mode::Penalty).then(|| Value::Quoted(cell.row.norm.to_string()));
    let sample = |[name, metric]: [&'static str; 2]| CellColumn::sample(name, move |cell: &Cell<'_>| cell.test(metric));
    let mut columns = vec![
        CellColumn::new("network", |cell| cell.row.network.name()),
        CellColumn::new("mode", |cell| cell.row.mode.name()),
        CellColumn::new("norm", norm),
        CellColumn::new("parameters", Cell::parameters),
        CellColumn::new("seeds", |cell| cell.runs.seeds()),
        CellColumn::new("diverged", |cell| cell.runs.diverged()),
        CellColumn::new("trained", Cell::is_trained),
        CellColumn::new("gain", |cell| cell.gain().0),
        CellColumn::new("gain_se", |cell| cell.gain().1),
    ];
    let weights = [["distance", "weights/distance"], ["relative_distance", "weights/relative_distance"]];
    columns.extend(
        [["psnr"; 2], ["ssim"; 2], weights[0], weights[1], ["equivariance_error"; 2], ["psnr_se"; 2]].map(sample),
    );
    columns
}

/// All of a row for programs: its quality, its cost at these batches, and the paper's numbers.
pub(super) fn of_rows<'a>(batches: &[usize]) -> Vec<CellColumn<'a>> {
    let mut columns = of_images();
    for &batch in batches {
        columns.push(CellColumn::new(format!("train_images_per_s_{batch}"), move |cell| cell.train(batch)));
        columns.push(CellColumn::new(format!("peak_memory_gib_{batch}"), move |cell| cell.memory(batch)));
    }
    columns.push(CellColumn::new("inference_images_per_s", Cell::inference));
    columns.push(CellColumn::new("epoch_s", Cell::epoch));
    let published = PAPER.metrics[1..].iter();
    columns.extend(published.map(|name| CellColumn::new(format!("paper_{name}"), |cell| cell.published(name))));
    columns
}

/// "41.44 ± 0.03 not trained" and the like.
pub(super) fn quality_text<'a>(head: &'static str, quality: Quality) -> CellColumn<'a> {
    CellColumn::new(head, move |cell: &Cell<'_>| cell.text(quality)).format(move |value| quality.text(value))
}

pub(super) fn gain<'a>() -> CellColumn<'a> {
    CellColumn::pair(["gain over LI / se", "se"], Cell::gain).format(decimals::<2>)
}
