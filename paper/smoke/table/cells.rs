//! The cells of the table: their models, and whether they beat persistence, which repeats the last frame seen.

use super::*;
use crate::smoke::networks::SmokeNetConfig;

pub(super) fn metric(test: Subset, name: &str) -> String {
    format!("test/{}/{name}", test.name())
}

/// A cell that was run.
#[derive(Debug, Clone)]
pub(super) struct Cell<'a> {
    pub(super) kind: Symmetry,
    pub(super) column: Column,
    /// The selected λ_⊥ of +Reg, else 0.
    pub(super) lambda_perp: f64,
    pub(super) model: SmokeNetConfig,
    pub(super) runs: Runs<'a>,
    /// The error of persistence on both tests, the same for all runs of a row.
    persistence: [f64; 2],
}

impl Cell<'_> {
    pub(super) fn test(&self, test: Subset, name: &str) -> Sample {
        self.runs.sample(&metric(test, name))
    }

    pub(super) fn persistence(&self, test: Subset) -> f64 {
        self.persistence[usize::from(test == Subset::Domain)]
    }

    /// Mean gain over persistence, and its standard error.
    pub(super) fn gain(&self, test: Subset) -> (f64, f64) {
        self.runs.gain(&metric(test, "gain"))
    }

    /// Whether it beats persistence and no seed diverged.
    pub(super) fn is_trained(&self, test: Subset) -> bool {
        self.runs.is_trained(&metric(test, "gain"))
    }

    pub(super) fn label(&self) -> String {
        match self.column.reg {
            true => format!("{} (λ_⊥ = {})", self.column.head, strength(self.lambda_perp)),
            false => self.column.head.into(),
        }
    }
}

/// λ_⊥ of the sweep with the least validation error at the first seed, the stronger of equal ones, diverged ones last; `None` if the sweep
/// was not run.
pub(super) fn selected(settings: &TableSettings, frame: &Frame, kind: Symmetry, column: Column) -> Option<f64> {
    let mut best: Option<(f64, f64)> = None;
    for lambda in settings.lambda_perp.increasing() {
        let Some(run) = frame.find(&settings.point(kind, column, lambda, settings.run.seed)) else { continue };
        let error = Some(run.metric("validation/rmse")).filter(|error| error.is_finite()).unwrap_or(f64::INFINITY);
        if best.is_none_or(|(_, least)| error <= least) {
            best = Some((lambda, error));
        }
    }
    best.map(|(lambda, _)| lambda)
}

/// All cells that were run, row by row.
pub(super) fn cells<'a>(settings: &TableSettings, frame: &'a Frame) -> Vec<Cell<'a>> {
    let row = |kind: Symmetry| {
        let cell = |column: Column| -> Option<Cell<'a>> {
            let lambda_perp = if column.reg { selected(settings, frame, kind, column)? } else { 0.0 };
            let point = |seed| settings.point(kind, column, lambda_perp, seed);
            let runs = Runs::find(frame, settings.all_seeds(), point);
            let model = point(settings.run.seed).run.settings.model;
            let is_empty = runs.is_empty();
            (!is_empty).then_some(Cell { kind, column, lambda_perp, model, runs, persistence: [f64::NAN; 2] })
        };
        let mut row: Vec<Cell<'a>> = settings.columns_of(kind).filter_map(cell).collect();
        let trivial = |test: Subset| in_common(row.iter().map(|cell| &cell.runs), &metric(test, "persistence_rmse"));
        let persistence = Subset::TESTS.map(trivial);
        row.iter_mut().for_each(|cell| cell.persistence = persistence);
        row
    };
    settings.kinds.iter().flat_map(row).collect()
}

pub(super) fn cell<'a, 'b>(cells: &'a [Cell<'b>], kind: Symmetry, column: Column) -> Option<&'a Cell<'b>> {
    cells.iter().find(|cell| cell.kind == kind && cell.column == column)
}

#[cfg(test)]
mod tests {
    use super::super::tests::{models, run, settings};
    use super::*;
    use crate::smoke::networks::Architecture::Rsteer;
    use crate::targets::synthetic::diverged;

    #[test]
    fn the_strength_with_the_least_validation_error_of_the_first_seed_is_selected_whatever_the_tests_say() {
        let settings = settings("rotation", "rsteer,rsteer+reg", 2);
        let models = models(&settings, |model| {
            let lambda = model.run.penalty.lambda_perp;
            let other_seed = if model.run.seed > 0 { -1.0 } else { 0.0 };
            let validation = if lambda == 1e-4 { 0.4 } else { 0.5 + other_seed };
            run(0.7 + 10.0 * lambda, validation)
        });
        let of = |column| cell(&cells(&settings, &models), Symmetry::Rotation, column).unwrap().clone();
        assert_eq!(of(Column::of(Rsteer, true)).lambda_perp, 1e-4);
        assert_eq!(of(Column::of(Rsteer, true)).runs.len(), 2);
        assert_eq!(of(Column::of(Rsteer, false)).lambda_perp, 0.0);
    }

    #[test]
    fn what_diverged_is_selected_last_and_is_not_trained() {
        let settings = settings("rotation", "rsteer+reg", 1);
        let strongest = models(&settings, |model| match model.run.penalty.lambda_perp {
            1e-2 => diverged(),
            _ => run(0.7, 0.5),
        });
        assert_eq!(selected(&settings, &strongest, Symmetry::Rotation, Column::of(Rsteer, true)), Some(1e-4));
        let all = models(&settings, |_| diverged());
        let cells = cells(&settings, &all);
        assert_eq!((cells[0].runs.diverged(), cells[0].is_trained(Subset::Future)), (1, false));
    }
}
