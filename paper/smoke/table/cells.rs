//! The cells of the table: which models make one up, and whether they learned anything.
//!
//! Trivial is persistence, which repeats the last frame that is seen.

use crate::smoke::data::Kind;

use super::rows::strength;
use super::settings::TableSettings;
use crate::smoke::columns::Column;
use crate::targets::point::Frame;
use crate::targets::runs::{self, Run};
use crate::targets::sample::Sample;

/// One of the two tests.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Test {
    /// The same simulations, later.
    Future,
    /// Simulations that were never seen.
    Domain,
}

impl Test {
    pub(super) const ALL: [Self; 2] = [Self::Future, Self::Domain];

    /// As in the table.
    pub(super) fn head(self) -> &'static str {
        match self {
            Self::Future => "Future",
            Self::Domain => "Domain",
        }
    }

    /// As in metrics.
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Future => "future",
            Self::Domain => "domain",
        }
    }

    /// A metric of this test.
    pub(super) fn metric(self, name: &str) -> String {
        format!("test/{}/{name}", self.name())
    }
}

/// A cell that was run.
#[derive(Debug, Clone)]
pub(super) struct Cell<'a> {
    pub(super) kind: Kind,
    pub(super) column: Column,
    /// The selected λ_⊥ of +Reg, else 0.
    pub(super) lambda_perp: f64,
    /// (seed, what came of it), by seed.
    pub(super) runs: Vec<Run<'a>>,
}

impl Cell<'_> {
    /// A metric of the runs that did not diverge.
    pub(super) fn sample(&self, metric: &str) -> Sample {
        runs::sample(&self.runs, metric)
    }

    /// A metric of one of the tests.
    pub(super) fn test(&self, test: Test, metric: &str) -> Sample {
        self.sample(&test.metric(metric))
    }

    /// Runs whose loss stopped being finite.
    pub(super) fn diverged(&self) -> usize {
        runs::diverged(&self.runs)
    }

    /// Mean gain over persistence, and its standard error.
    pub(super) fn gain(&self, test: Test) -> (f64, f64) {
        runs::gain(&self.test(test, "gain"), &self.test(test, "gain_se"))
    }

    /// Whether it beats persistence, with every seed.
    pub(super) fn is_trained(&self, test: Test) -> bool {
        self.diverged() == 0 && runs::is_gain(self.gain(test))
    }

    /// Its name in sentences.
    pub(super) fn label(&self) -> String {
        match self.column.reg {
            true => format!("{} (λ_⊥ = {})", self.column.head, strength(self.lambda_perp)),
            false => self.column.head.into(),
        }
    }
}

/// λ_⊥ of the sweep with the least validation error at the first seed, the stronger of equal ones, and what diverged last; `None` if the
/// sweep was not run.
pub(super) fn selected(settings: &TableSettings, frame: &Frame, kind: Kind, column: Column) -> Option<f64> {
    let mut best: Option<(f64, f64)> = None;
    for lambda in settings.lambda_perp.iter() {
        let Some(run) = frame.find(&settings.point(kind, column, lambda, settings.run.seed)) else { continue };
        let error = Some(run.metric("validation/rmse")).filter(|error| error.is_finite()).unwrap_or(f64::INFINITY);
        if best.is_none_or(|(_, least)| error < least) {
            best = Some((lambda, error));
        }
    }
    best.map(|(lambda, _)| lambda)
}

/// All cells that were run, row by row.
pub(super) fn cells<'a>(settings: &TableSettings, frame: &'a Frame) -> Vec<Cell<'a>> {
    let mut cells = Vec::new();
    for kind in settings.kinds.iter() {
        for column in settings.columns_of(kind) {
            let lambda_perp = if column.reg { selected(settings, frame, kind, column) } else { Some(0.0) };
            let Some(lambda_perp) = lambda_perp else { continue };
            let run = |seed| frame.find(&settings.point(kind, column, lambda_perp, seed)).map(|run| (seed, run));
            let runs: Vec<Run<'a>> = settings.all_seeds().filter_map(run).collect();
            if !runs.is_empty() {
                cells.push(Cell { kind, column, lambda_perp, runs });
            }
        }
    }
    cells
}

/// The cell of a row and column, if it was run.
pub(super) fn cell<'a, 'b>(cells: &'a [Cell<'b>], kind: Kind, column: Column) -> Option<&'a Cell<'b>> {
    cells.iter().find(|cell| cell.kind == kind && cell.column == column)
}

#[cfg(test)]
mod tests {
    use super::super::synthetic::{self, models, run, settings};
    use super::*;
    use crate::smoke::networks::Architecture::Rsteer;

    #[test]
    fn the_strength_with_the_least_validation_error_of_the_first_seed_is_selected_whatever_the_tests_say() {
        let settings = settings("rotation", "rsteer,rsteer+reg", 2);
        let models = models(&settings, |model| {
            let lambda = model.run.penalty.lambda_perp;
            let other_seed = if model.run.seed > 0 { -1.0 } else { 0.0 };
            let validation = if lambda == 1e-4 { 0.4 } else { 0.5 + other_seed };
            run(0.7 + 10.0 * lambda, validation)
        });
        let of = |column| cell(&cells(&settings, &models), Kind::Rotation, column).unwrap().clone();
        assert_eq!(of(Column::of(Rsteer, true)).lambda_perp, 1e-4);
        assert_eq!(of(Column::of(Rsteer, true)).runs.len(), 2);
        assert_eq!(of(Column::of(Rsteer, false)).lambda_perp, 0.0);
    }

    #[test]
    fn what_diverged_is_selected_last_and_is_not_trained() {
        let settings = settings("rotation", "rsteer+reg", 1);
        let strongest = models(&settings, |model| match model.run.penalty.lambda_perp {
            1e-2 => synthetic::diverged(),
            _ => run(0.7, 0.5),
        });
        assert_eq!(selected(&settings, &strongest, Kind::Rotation, Column::of(Rsteer, true)), Some(1e-4));
        let all = models(&settings, |_| synthetic::diverged());
        let cells = cells(&settings, &all);
        assert_eq!((cells[0].diverged(), cells[0].is_trained(Test::Future)), (1, false));
    }

    #[test]
    fn a_cell_is_trained_if_it_beats_persistence_by_three_standard_errors() {
        let settings = settings("scaling", "conv", 2);
        let judged = |gains: [f64; 2], own: f64| {
            let models = models(&settings, |model| {
                let mut run = run(0.7, 0.5);
                run.metrics.insert("test/future/gain".into(), gains[model.run.seed as usize]);
                run.metrics.insert("test/future/gain_se".into(), own);
                run
            });
            cells(&settings, &models)[0].is_trained(Test::Future)
        };
        assert!(judged([0.31, 0.31], 0.1));
        assert!(!judged([0.29, 0.29], 0.1));
    }

    #[test]
    fn cells_that_were_not_run_are_not_there() {
        let settings = settings("translation,rotation", "all", 1);
        let some = models(&settings, |_| run(0.7, 0.5));
        let count = |kind| cells(&settings, &some).iter().filter(|cell| cell.kind == kind).count();
        assert_eq!([Kind::Translation, Kind::Rotation, Kind::Scaling].map(count), [6, 9, 0]);
        assert!(cells(&settings, &Frame::default()).is_empty());
    }
}
