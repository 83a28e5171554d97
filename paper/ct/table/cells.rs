//! The cells of the tables: what was trained, what it cost, and whether it learned anything.
//!
//! Trivial is the linearly interpolated image (LI), which every network starts from.

use crate::ct::networks::Architecture;
use reynolds::norm::Norm;

use super::cost::RowCost;
use super::row::{InTable, Mode, Row};
use super::settings::Costs;
use super::training::Training;
use crate::targets::point::{Frame, Trained};
use crate::targets::runs::{self, Run};
use crate::targets::sample::Sample;

/// Images of the paper's epoch: throughput times epoch time is about that in every row of its table.
pub(super) const EPOCH: f64 = 6000.0;

/// How good an image is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Quality {
    Psnr,
    Ssim,
}

impl Quality {
    pub(super) const ALL: [Self; 2] = [Self::Psnr, Self::Ssim];

    /// As in metrics.
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Psnr => "psnr",
            Self::Ssim => "ssim",
        }
    }

    /// As in tables.
    pub(super) fn head(self) -> &'static str {
        match self {
            Self::Psnr => "PSNR",
            Self::Ssim => "SSIM",
        }
    }

    /// "41.44", "0.9468".
    pub(super) fn text(self, value: f64) -> String {
        match self {
            _ if !value.is_finite() => "–".into(),
            Self::Psnr => format!("{value:.2}"),
            Self::Ssim => format!("{value:.4}"),
        }
    }
}

/// What one process measured of a network in a mode.
#[derive(Debug, Clone)]
pub(super) struct Cost<'a> {
    measured: &'a Trained,
    /// Minibatches, increasing.
    pub(super) batches: Vec<usize>,
}

impl<'a> Cost<'a> {
    /// Of the batches that fitted.
    fn new(measured: &'a Trained, batches: &[usize]) -> Self {
        let mut cost = Self { measured, batches: batches.to_vec() };
        cost.batches = batches.iter().copied().filter(|&batch| cost.train(batch).is_finite()).collect();
        cost
    }

    fn at(&self, batch: usize, metric: &str) -> f64 {
        self.measured.metric(&format!("batch{batch}/{metric}"))
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

    /// Milliseconds of a training step, at the largest batch.
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

    pub(super) fn parameters(&self) -> f64 {
        self.measured.metric("parameters")
    }

    /// ("batch12", why it was not measured).
    pub(super) fn left_out(&self) -> impl Iterator<Item = (&str, &str)> {
        self.measured.failures.iter().map(|(batch, reason)| (batch.as_str(), reason.as_str()))
    }
}

/// One row of a table that was run.
#[derive(Debug, Clone)]
pub(super) struct Cell<'a> {
    pub(super) row: Row,
    /// Of the projection penalty.
    pub(super) norm: Norm,
    /// In sentences.
    pub(super) label: String,
    /// (seed, what came of it), by seed; none where only the cost was measured.
    pub(super) runs: Vec<Run<'a>>,
    pub(super) cost: Option<Cost<'a>>,
}

impl Cell<'_> {
    /// A metric of the runs that did not diverge, of the weights that this row tests.
    pub(super) fn sample(&self, metric: &str) -> Sample {
        runs::sample(&self.runs, &format!("{}{metric}", self.row.mode.prefix()))
    }

    /// A metric of the test.
    pub(super) fn test(&self, metric: &str) -> Sample {
        self.sample(&format!("test/{metric}"))
    }

    /// PSNR or SSIM of the test.
    pub(super) fn quality(&self, quality: Quality) -> Sample {
        self.test(quality.name())
    }

    /// Runs whose loss stopped being finite.
    pub(super) fn diverged(&self) -> usize {
        runs::diverged(&self.runs)
    }

    /// Mean gain of PSNR over LI, case by case, and its standard error.
    pub(super) fn gain(&self) -> (f64, f64) {
        runs::gain(&self.test("gain/psnr"), &self.test("gain/psnr_se"))
    }

    /// Whether it beats LI, with every seed.
    pub(super) fn is_trained(&self) -> bool {
        self.diverged() == 0 && runs::is_gain(self.gain())
    }

    /// "41.44 ± 0.03": over seeds, or over cases where there is one; with its label where it is not trained.
    pub(super) fn text(&self, quality: Quality) -> String {
        if self.runs.is_empty() {
            return "–".into();
        }
        let (sample, diverged) = (self.quality(quality), self.diverged());
        if diverged == self.runs.len() {
            return "diverged, not trained".into();
        }
        let spread = match sample.values().len() {
            1 => self.test(&format!("{}_se", quality.name())).mean(),
            _ => sample.deviation(),
        };
        let mut text = quality.text(sample.mean());
        if spread.is_finite() {
            text += &format!(" ± {}", quality.text(spread));
        }
        if diverged > 0 {
            text += &format!(" ({diverged} of {} diverged)", self.runs.len());
        }
        // Said once a row.
        if self.is_trained() || quality != Quality::Psnr { text } else { text + " not trained" }
    }

    /// Parameters that are trained.
    pub(super) fn parameters(&self) -> f64 {
        let kept = self.runs.first().map_or(f64::NAN, |(_, run)| run.metric("parameters"));
        if kept.is_finite() { kept } else { self.cost.as_ref().map_or(f64::NAN, Cost::parameters) }
    }
}

/// What a table has cells of.
#[derive(Debug, Clone, Copy)]
pub(super) struct Asked<'a> {
    pub(super) training: &'a Training,
    /// `None` where nothing is measured.
    pub(super) costs: Option<&'a Costs>,
}

impl Asked<'_> {
    /// Makes a cell of what was run of it; `None` if nothing was.
    fn cell<'a>(self, frame: &'a Frame, row: Row, norm: Norm, label: String) -> Option<Cell<'a>> {
        let trained_as = Row { mode: row.mode.trained_as(), ..row };
        let run = |seed| Some((seed, frame.find(&self.training.model(trained_as, norm, seed))?));
        let runs: Vec<Run<'a>> = self.training.all_seeds().filter_map(run).collect();
        let cost = self.costs.and_then(|costs| {
            let cost = RowCost::new(costs, self.training, trained_as, norm);
            frame.find(&cost).map(|measured| Cost::new(measured, &cost.batches))
        });
        (!runs.is_empty() || cost.is_some()).then_some(Cell { row, norm, label, runs, cost })
    }

    /// All of these rows that were run.
    pub(super) fn cells<'a>(self, frame: &'a Frame, rows: &[(Row, Norm)]) -> Vec<Cell<'a>> {
        rows.iter().filter_map(|&(row, norm)| self.cell(frame, row, norm, row.label())).collect()
    }

    /// The same, each called by its norm.
    pub(super) fn norm_cells<'a>(self, frame: &'a Frame, rows: &[(Row, Norm)]) -> Vec<Cell<'a>> {
        let label = |row: Row, norm: Norm| if row.mode == Mode::Plain { "no penalty".into() } else { norm.to_string() };
        rows.iter().filter_map(|&(row, norm)| self.cell(frame, row, norm, label(row, norm))).collect()
    }
}

/// The cell of a network and a mode, if it was run.
pub(super) fn find<'a, 'b>(cells: &'a [Cell<'b>], network: Architecture, mode: Mode) -> Option<&'a Cell<'b>> {
    cells.iter().find(|cell| cell.row == Row { network, mode })
}

/// A metric of the trivial images, which is the same for every run; not a number if there is no run.
pub(super) fn trivial(cells: &[Cell<'_>], metric: &str) -> f64 {
    let runs = cells.iter().flat_map(|cell| &cell.runs);
    let mut values = runs.map(|(_, run)| run.metric(&format!("test/{metric}")));
    values.find(|value| value.is_finite()).unwrap_or(f64::NAN)
}
