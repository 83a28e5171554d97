//! The settings of the MedMNIST targets as the budgets have them: edits of what `reynolds run medmnist` has by default.

use super::settings::{EfficiencySettings, SensitivitySettings, ShapesSettings, TableSettings, Tuning};
use crate::medmnist::networks::Symmetry;
use crate::medmnist::rows::Row;
use crate::medmnist::sets::Set;
use crate::medmnist::{MedExperiment, MedSettings, data};
use crate::targets::{Budget, Chosen, Numbers};
use reynolds_train::config::RunConfig;
use reynolds_train::experiment::Experiment;

/// To learn from in `fig-shapes`: with 480 every λ_⊥ up to 0.1 has all there is to have where no symmetry is broken.
const FEW: usize = 160;

/// λ of `fig-sensitivity`, λ_⊥ of `fig-shapes`.
fn sweep(budget: Budget) -> Numbers {
    match budget {
        Budget::Quick => Numbers::new(&[1e-4, 1e-2, 1.0]),
        Budget::Standard | Budget::Full => Numbers::new(&[1e-4, 1e-3, 1e-2, 1e-1, 1.0]),
    }
}

fn seeds(budget: Budget) -> u64 {
    if budget == Budget::Quick { 2 } else { 3 }
}

/// What all models of a budget are.
fn run(budget: Budget) -> RunConfig<MedSettings> {
    let mut run = MedExperiment.defaults();
    let MedSettings { data, model } = &mut run.settings;
    let shapes = &mut data.shapes;
    match budget {
        Budget::Quick => {
            run.train.epochs = 5;
            model.width = 1;
            (shapes.train, shapes.validation, shapes.test) = (160, 48, 96);
            data.turned = 4;
        }
        Budget::Standard => {
            run.train.epochs = 30;
            data.turned = 24;
        }
        Budget::Full => {
            data.turned = 48;
            // The running statistics, as the paper has them: they lag behind the weights where training is short.
            data.settled = 0;
        }
    }
    run
}

/// `table-medmnist`: every row on every set that is there.
pub(super) fn table(budget: Budget) -> TableSettings {
    let (tuning, learning_rates) = match budget {
        Budget::Quick => (Tuning::Staged, Numbers::new(&[1e-3])),
        Budget::Standard => (Tuning::Staged, Numbers::new(&[1e-4, 5e-4])),
        // The paper's list has 1e-5 twice, surely for 1e-4.
        Budget::Full => (Tuning::Grid, Numbers::new(&[5e-6, 1e-5, 5e-5, 1e-4, 5e-4])),
    };
    let (lambda_g, lambda_perp) = match budget {
        Budget::Quick => (Numbers::new(&[1e-3]), Numbers::new(&[1e-3, 1.0])),
        Budget::Standard | Budget::Full => (Numbers::new(&[1e-3, 1e-4]), Numbers::new(&[1e-3, 1e-2, 1e-1, 1.0])),
    };
    let (sets, rows, seeds, run) = (present(), Chosen::all(), seeds(budget), run(budget));
    TableSettings { sets, rows, seeds, tuning, learning_rates, lambda_g, lambda_perp, run }
}

/// `fig-confusion`: some models of the table.
pub(super) fn confusion(budget: Budget) -> TableSettings {
    let rows = Chosen::new(&[Row::CNN, Row::scnn(Symmetry::So3), Row::ours(Symmetry::So3)]);
    TableSettings { rows, ..table(budget) }
}

/// `fig-sensitivity`.
pub(super) fn sensitivity(budget: Budget) -> SensitivitySettings {
    let seeds = if budget == Budget::Full { seeds(budget) } else { 1 };
    let (sets, groups, lambdas) = (present(), Chosen::all(), sweep(budget));
    SensitivitySettings { sets, groups, seeds, lambda_g: lambdas.clone(), lambda_perp: lambdas, run: run(budget) }
}

/// `fig-shapes`. Volumes that nobody scanned are free, and few of them cannot tell which λ_⊥ is best; but few to learn from show what a
/// symmetry saves.
pub(super) fn shapes(budget: Budget) -> ShapesSettings {
    let mut run = run(budget);
    let data = &mut run.settings.data;
    data.shapes.train = FEW;
    data.shapes.validation *= 2;
    data.shapes.test *= 2;
    run.penalty.lambda_g = 1e-4;
    if budget == Budget::Quick {
        run.train.learning_rate = 1e-3;
    } else {
        data.batch = 16;
        run.train.epochs *= 2;
        run.train.learning_rate = 5e-4;
    }
    let (groups, breakings, lambda_perp) = (Chosen::all(), Numbers::new(&[0.0, 0.5, 1.0]), sweep(budget));
    ShapesSettings { groups, seeds: seeds(budget), breakings, lambda_perp, run }
}

/// `table-medmnist-efficiency`.
pub(super) fn efficiency(budget: Budget) -> EfficiencySettings {
    let steps = match budget {
        Budget::Quick => 2,
        Budget::Standard => 50,
        Budget::Full => 100,
    };
    let mut run = MedExperiment.defaults();
    run.settings.model.width = self::run(budget).settings.model.width;
    EfficiencySettings { rows: Chosen::all(), inference_batch: 48, classes: 2, steps, warmup: 5, run }
}

/// The sets whose files are there.
fn present() -> Chosen<Set> {
    Chosen::new(&Set::present(&data::folder(None)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::targets::Named;
    use reynolds_torch::Precision;

    /// Epochs, batch, width, generated volumes, turned and settled: once as one list, so that no budget changes unseen.
    fn sizes(run: &RunConfig<MedSettings>) -> ([usize; 3], [usize; 3], [usize; 2]) {
        let MedSettings { data, model } = &run.settings;
        let shapes = &data.shapes;
        (
            [run.train.epochs, data.batch, model.width],
            [shapes.train, shapes.validation, shapes.test],
            [data.turned, data.settled],
        )
    }

    #[test]
    fn budgets_are_those_that_results_were_made_with() {
        for (budget, seeds, table_sizes, shapes_sizes) in [
            (Budget::Quick, [2, 1, 2], ([5, 32, 1], [160, 48, 96], [4, 8]), ([5, 32, 1], [160, 96, 192], [4, 8])),
            (
                Budget::Standard,
                [3, 1, 3],
                ([30, 32, 0], [960, 160, 320], [24, 8]),
                ([60, 16, 0], [160, 320, 640], [24, 8]),
            ),
            (
                Budget::Full,
                [3, 3, 3],
                ([100, 32, 0], [960, 160, 320], [48, 0]),
                ([200, 16, 0], [160, 320, 640], [48, 0]),
            ),
        ] {
            let (table, sensitivity, shapes) = (table(budget), sensitivity(budget), shapes(budget));
            assert_eq!([table.seeds, sensitivity.seeds, shapes.seeds], seeds);
            assert_eq!((sizes(&table.run), sizes(&sensitivity.run)), (table_sizes, table_sizes));
            assert_eq!(sizes(&shapes.run), shapes_sizes);
            let rate = if budget == Budget::Quick { 1e-3 } else { 5e-4 };
            assert_eq!((shapes.run.train.learning_rate, shapes.run.penalty.lambda_g), (rate, 1e-4));
            assert_eq!(sensitivity.run.train.learning_rate, 1e-4);
            assert_eq!((shapes.breakings.as_slice(), shapes.lambda_perp), (&[0.0, 0.5, 1.0][..], sweep(budget)));
        }
    }

    #[test]
    fn whatever_else_a_run_has_is_as_by_default_but_what_the_budgets_edit() {
        for budget in [Budget::Quick, Budget::Standard, Budget::Full] {
            for run in [table(budget).run, confusion(budget).run, sensitivity(budget).run, shapes(budget).run] {
                let mut usual = MedExperiment.defaults();
                let (data, shapes) = (&run.settings.data, &run.settings.data.shapes);
                usual.train.epochs = run.train.epochs;
                usual.train.learning_rate = run.train.learning_rate;
                usual.penalty.lambda_g = run.penalty.lambda_g;
                usual.settings.model.width = run.settings.model.width;
                let (to, to_shapes) = (&mut usual.settings.data, shapes.clone());
                (to.batch, to.turned, to.settled) = (data.batch, data.turned, data.settled);
                (to.shapes.train, to.shapes.validation, to.shapes.test) =
                    (to_shapes.train, to_shapes.validation, to_shapes.test);
                assert_eq!(run, usual);
                // What the table had of its own before it took the run's.
                assert_eq!((run.seed, shapes.noise, shapes.breaking, shapes.seed), (0, 0.1, 1.0, 0));
                assert_eq!((data.size, data.folder.as_str(), run.train.precision), (28, "", Precision::F32));
            }
            let cost = efficiency(budget);
            let batches = (cost.run.settings.data.batch, cost.inference_batch, cost.classes, cost.warmup);
            assert_eq!((batches, cost.rows), ((32, 48, 2, 5), Chosen::new(Row::ALL)));
        }
    }
}
