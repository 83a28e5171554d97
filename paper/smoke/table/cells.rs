//! The cells of the table: which models make one up, and whether they learned anything.
//!
//! Trivial is persistence, which repeats the last frame that is seen.

use crate::smoke::data::Kind;

use super::column::Column;
use super::settings::Setup;
use crate::targets::point::Frame;
use crate::targets::runs::{self, Run};
use crate::targets::sample::Sample;
use reynolds_train::error::Result;

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
        match self.column.without_penalty() {
            Some(_) => format!("{} (λ_⊥ = {})", self.column.head(), strength(self.lambda_perp)),
            None => self.column.head().into(),
        }
    }
}

/// "1e-4", "0".
pub(super) fn strength(lambda: f64) -> String {
    if lambda == 0.0 { "0".into() } else { format!("{lambda:e}") }
}

/// λ_⊥ of the sweep with the least validation error at seed 0, the stronger of equal ones, and what diverged last; `None` if the sweep
/// was not run.
pub(super) fn selected(setup: &Setup, models: &Frame, kind: Kind, column: Column) -> Result<Option<f64>> {
    let mut best: Option<(f64, f64)> = None;
    for &lambda in &setup.lambda_perp {
        let Some(run) = models.find(&setup.model(kind, column, lambda, 0)?) else { continue };
        let error = Some(run.metric("validation/rmse")).filter(|error| error.is_finite()).unwrap_or(f64::INFINITY);
        if best.is_none_or(|(_, least)| error < least) {
            best = Some((lambda, error));
        }
    }
    Ok(best.map(|(lambda, _)| lambda))
}

/// All cells that were run, row by row.
pub(super) fn cells<'a>(setup: &Setup, models: &'a Frame) -> Result<Vec<Cell<'a>>> {
    let mut cells = Vec::new();
    for &kind in &setup.kinds {
        for column in setup.columns_of(kind) {
            let lambda_perp = match column.without_penalty() {
                Some(_) => selected(setup, models, kind, column)?,
                None => Some(0.0),
            };
            let Some(lambda_perp) = lambda_perp else { continue };
            let mut runs = Vec::new();
            for seed in 0..setup.seeds {
                runs.extend(models.find(&setup.model(kind, column, lambda_perp, seed)?).map(|run| (seed, run)));
            }
            if !runs.is_empty() {
                cells.push(Cell { kind, column, lambda_perp, runs });
            }
        }
    }
    Ok(cells)
}

/// The cell of a row and column, if it was run.
pub(super) fn cell<'a, 'b>(cells: &'a [Cell<'b>], kind: Kind, column: Column) -> Option<&'a Cell<'b>> {
    cells.iter().find(|cell| cell.kind == kind && cell.column == column)
}

#[cfg(test)]
mod tests {
    use super::super::synthetic::{self, models, run, setup};
    use super::*;

    #[test]
    fn the_strength_with_the_least_validation_error_of_seed_0_is_selected_whatever_the_tests_say() {
        let setup = setup("rotation", "rsteer,rsteer+reg", 2);
        let models = models(&setup, |model| {
            let lambda = model.config.penalty.lambda_perp;
            let other_seed = if model.config.seed > 0 { -1.0 } else { 0.0 };
            let validation = if lambda == 1e-4 { 0.4 } else { 0.5 + other_seed };
            run(0.7 + 10.0 * lambda, validation)
        });
        let of = |column| cell(&cells(&setup, &models).unwrap(), Kind::Rotation, column).unwrap().clone();
        assert_eq!(of(Column::RsteerReg).lambda_perp, 1e-4);
        assert_eq!(of(Column::RsteerReg).runs.len(), 2);
        assert_eq!(of(Column::Rsteer).lambda_perp, 0.0);
    }

    #[test]
    fn what_diverged_is_selected_last_and_is_not_trained() {
        let setup = setup("rotation", "rsteer+reg", 1);
        let strongest = models(&setup, |model| match model.config.penalty.lambda_perp {
            1e-2 => synthetic::diverged(),
            _ => run(0.7, 0.5),
        });
        assert_eq!(selected(&setup, &strongest, Kind::Rotation, Column::RsteerReg).unwrap(), Some(1e-4));
        let all = models(&setup, |_| synthetic::diverged());
        let cells = cells(&setup, &all).unwrap();
        assert_eq!((cells[0].diverged(), cells[0].is_trained(Test::Future)), (1, false));
    }

    #[test]
    fn a_cell_is_trained_if_it_beats_persistence_by_three_standard_errors() {
        let setup = setup("scaling", "conv", 2);
        let judged = |gains: [f64; 2], own: f64| {
            let models = models(&setup, |model| {
                let mut run = run(0.7, 0.5);
                run.metrics.insert("test/future/gain".into(), gains[model.config.seed as usize]);
                run.metrics.insert("test/future/gain_se".into(), own);
                run
            });
            cells(&setup, &models).unwrap()[0].is_trained(Test::Future)
        };
        assert!(judged([0.31, 0.31], 0.1));
        assert!(!judged([0.29, 0.29], 0.1));
    }

    #[test]
    fn cells_that_were_not_run_are_not_there() {
        let setup = setup("translation,rotation", "all", 1);
        let some = models(&setup, |_| run(0.7, 0.5));
        let count = |kind| cells(&setup, &some).unwrap().iter().filter(|cell| cell.kind == kind).count();
        assert_eq!([Kind::Translation, Kind::Rotation, Kind::Scaling].map(count), [6, 9, 0]);
        assert!(cells(&setup, &Frame::default()).unwrap().is_empty());
    }
}
