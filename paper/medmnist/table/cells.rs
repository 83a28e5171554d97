//! The cells of the tables: what was trained with the strengths that were selected, and whether it learned anything.
//!
//! Trivial is the most frequent class, which needs no volume.

use super::settings::TableSettings;
use super::tuning::selected;
use super::volume_run::VolumeRun;
use crate::medmnist::rows::{Row, Strengths};
use crate::medmnist::sets::Set;
use crate::targets::point::Frame;
use crate::targets::runs::{self, Run};
use crate::targets::sample::Sample;

/// A row on a set that was run.
#[derive(Debug, Clone)]
pub(super) struct Cell<'a> {
    pub(super) set: Set,
    pub(super) row: Row,
    pub(super) strengths: Strengths,
    /// (seed, what came of it), by seed.
    pub(super) runs: Vec<Run<'a>>,
}

impl Cell<'_> {
    /// A metric of the test, of the runs that did not diverge.
    pub(super) fn test(&self, metric: &str) -> Sample {
        runs::sample(&self.runs, &format!("test/{metric}"))
    }

    /// Test accuracy.
    pub(super) fn accuracy(&self) -> Sample {
        self.test("accuracy")
    }

    /// Runs whose loss stopped being finite.
    pub(super) fn diverged(&self) -> usize {
        runs::diverged(&self.runs)
    }

    /// Mean gain of accuracy over the most frequent class, and its standard error.
    pub(super) fn gain(&self) -> (f64, f64) {
        runs::gain(&self.test("gain/accuracy"), &self.test("gain/accuracy_se"))
    }

    /// Whether it beats the most frequent class, with every seed.
    pub(super) fn is_trained(&self) -> bool {
        self.diverged() == 0 && runs::is_gain(self.gain())
    }

    /// Parameters that are trained.
    pub(super) fn parameters(&self) -> f64 {
        self.runs.first().map_or(f64::NAN, |(_, run)| run.metric("parameters"))
    }

    /// "0.862 ± 0.018", with its label where it is not trained.
    pub(super) fn text(&self) -> String {
        let (sample, diverged) = (self.accuracy(), self.diverged());
        if diverged == self.runs.len() {
            return "diverged, not trained".into();
        }
        let mut text = share(&sample);
        if diverged > 0 {
            text += &format!(" ({diverged} of {} diverged)", self.runs.len());
        }
        if self.is_trained() { text } else { text + " not trained" }
    }

    /// A cell of the confusion matrix summed over seeds, `[true, predicted]`.
    pub(super) fn confusion(&self, truth: usize, predicted: usize) -> f64 {
        let found = self.test(&format!("confusion/{truth}/{predicted}"));
        found.values().iter().filter(|value| value.is_finite()).sum()
    }

    /// Classes of the confusion matrix.
    pub(super) fn classes(&self) -> usize {
        let known = |class: &usize| {
            self.runs.iter().any(|(_, run)| run.metric(&format!("test/confusion/{class}/{class}")).is_finite())
        };
        (0..).take_while(known).count()
    }

    /// Test volumes of these classes, of one seed.
    pub(super) fn volumes(&self, classes: &[usize]) -> f64 {
        let runs = self.runs.iter().filter(|(_, run)| !runs::is_diverged(run)).count().max(1);
        let of = |&class: &usize| (0..self.classes()).map(|other| self.confusion(class, other)).sum::<f64>();
        classes.iter().map(of).sum::<f64>() / runs as f64
    }
}

/// "0.862 ± 0.018"; one value alone has no spread.
pub(super) fn share(sample: &Sample) -> String {
    match sample.values().len() {
        0 => "–".into(),
        _ if !sample.mean().is_finite() => "–".into(),
        1 => format!("{:.3}", sample.mean()),
        _ => format!("{:.3} ± {:.3}", sample.mean(), sample.deviation()),
    }
}

/// All cells that were run, set by set.
pub(super) fn cells<'a>(settings: &TableSettings, frame: &'a Frame) -> Vec<Cell<'a>> {
    let mut cells = Vec::new();
    for set in settings.sets.iter() {
        for row in settings.rows.iter() {
            let Some(strengths) = selected(settings, frame, set, row) else { continue };
            let run = VolumeRun::new(&settings.run, set, row, strengths);
            let runs = run.over_seeds(frame, seeds(settings.run.seed, settings.seeds));
            if !runs.is_empty() {
                cells.push(Cell { set, row, strengths, runs });
            }
        }
    }
    cells
}

/// So many seeds from the first on.
pub(super) fn seeds(first: u64, count: u64) -> std::ops::Range<u64> {
    first..first.saturating_add(count)
}

/// The cell of a row on a set, if it was run.
pub(super) fn find<'a, 'b>(cells: &'a [Cell<'b>], set: Set, row: Row) -> Option<&'a Cell<'b>> {
    cells.iter().find(|cell| cell.set == set && cell.row == row)
}

/// Share of the most frequent class of a set's test; not a number if there is no run.
pub(super) fn majority(cells: &[Cell<'_>], set: Set) -> f64 {
    let runs = cells.iter().filter(|cell| cell.set == set).flat_map(|cell| &cell.runs);
    let mut values = runs.map(|(_, run)| run.metric("test/majority"));
    values.find(|value| value.is_finite()).unwrap_or(f64::NAN)
}
