//! The settings of the MedMNIST targets as the budgets have them.

use crate::medmnist::data;
use toml::{Table, Value};

use super::sets;
use crate::targets::Budget;
use crate::targets::setting::integer;

/// What a target is a table or figure of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Of {
    /// `table-medmnist`.
    Accuracy,
    /// `table-medmnist-efficiency`.
    Efficiency,
    /// `fig-sensitivity`.
    Sensitivity,
    /// `fig-confusion`.
    Confusion,
    /// `fig-shapes`.
    Shapes,
}

/// What a budget says.
struct Amount {
    seeds: usize,
    epochs: usize,
    /// c of all networks; 0: that of the paper.
    width: usize,
    /// Of the generated set: to learn from, to choose by, to test on.
    shapes: [usize; 3],
    /// Test volumes that the defect is measured on.
    turned: usize,
    /// Minibatches that statistics are measured on before an evaluation: where training is short; the paper has the running ones.
    settled: usize,
    tuning: &'static str,
    learning_rates: &'static str,
    lambda_g: &'static str,
    lambda_perp: &'static str,
    /// λ of `fig-sensitivity`, λ_⊥ of `fig-shapes`.
    sweep: &'static str,
    measured_steps: usize,
}

fn amount(budget: Budget) -> Amount {
    match budget {
        Budget::Quick => Amount {
            seeds: 2,
            epochs: 5,
            width: 1,
            shapes: [160, 48, 96],
            turned: 4,
            settled: 8,
            tuning: "staged",
            learning_rates: "1e-3",
            lambda_g: "1e-3",
            lambda_perp: "1e-3,1",
            sweep: "1e-4,1e-2,1",
            measured_steps: 2,
        },
        Budget::Standard => Amount {
            seeds: 3,
            epochs: 30,
            width: 0,
            shapes: [960, 160, 320],
            turned: 24,
            settled: 8,
            tuning: "staged",
            learning_rates: "1e-4,5e-4",
            lambda_g: "1e-3,1e-4",
            lambda_perp: "1e-3,1e-2,1e-1,1",
            sweep: "1e-4,1e-3,1e-2,1e-1,1",
            measured_steps: 50,
        },
        Budget::Full => Amount {
            seeds: 3,
            epochs: 100,
            width: 0,
            shapes: [960, 160, 320],
            turned: 48,
            settled: 0,
            tuning: "grid",
            // The paper's list has 1e-5 twice, surely for 1e-4.
            learning_rates: "5e-6,1e-5,5e-5,1e-4,5e-4",
            lambda_g: "1e-3,1e-4",
            lambda_perp: "1e-3,1e-2,1e-1,1",
            sweep: "1e-4,1e-3,1e-2,1e-1,1",
            measured_steps: 100,
        },
    }
}

/// Settings as a budget has them.
pub(super) fn of_budget(budget: Budget, of: Of) -> Table {
    let Amount {
        seeds,
        epochs,
        width,
        shapes,
        turned,
        settled,
        tuning,
        learning_rates,
        lambda_g,
        lambda_perp,
        sweep,
        measured_steps,
    } = amount(budget);
    let text = |text: &str| Value::String(text.into());
    let mut pairs: Vec<(&str, Value)> =
        vec![("width", integer(width)), ("nonlinearity", text("pointwise")), ("precision", text("f32"))];
    if of == Of::Efficiency {
        pairs.extend([
            ("rows", text("all")),
            ("train_batch", integer(32)),
            ("inference_batch", integer(48)),
            ("steps", integer(measured_steps)),
        ]);
        return table(pairs);
    }
    let present = sets::present(&data::folder(None));
    // Volumes that nobody scanned are free, and few of them cannot tell which λ_⊥ is best; but few to learn from show what a symmetry saves.
    let (shapes, epochs, batch) = match of {
        Of::Shapes if budget == Budget::Quick => ([shapes[0], 2 * shapes[1], 2 * shapes[2]], epochs, 32),
        Of::Shapes => ([FEW, 2 * shapes[1], 2 * shapes[2]], 2 * epochs, 16),
        _ => (shapes, epochs, 32),
    };
    let data: [(&str, Value); 10] = [
        ("folder", text("")),
        ("size", integer(28)),
        ("turned", integer(turned)),
        ("settled", integer(settled)),
        ("train", integer(shapes[0])),
        ("validation", integer(shapes[1])),
        ("test", integer(shapes[2])),
        ("breaking", Value::Float(1.0)),
        ("noise", Value::Float(NOISE)),
        ("seed", integer(0)),
    ];
    let seeds = if of == Of::Sensitivity && budget != Budget::Full { 1 } else { seeds };
    pairs.extend([
        ("seeds", integer(seeds)),
        ("epochs", integer(epochs)),
        ("batch", integer(batch)),
        ("form", text("squared")),
        ("data", Value::Table(table(data))),
    ]);
    match of {
        Of::Accuracy => pairs.extend([("sets", text(&present)), ("rows", text("all"))]),
        Of::Confusion => pairs.extend([("sets", text(&present)), ("rows", text("cnn,so3-scnn,so3-ours"))]),
        Of::Sensitivity => pairs.extend([("sets", text(&present)), ("groups", text("so3,o3"))]),
        Of::Shapes | Of::Efficiency => {
            pairs.extend([("groups", text("so3,o3")), ("breakings", text("0,0.5,1"))]);
        }
    }
    match of {
        Of::Accuracy | Of::Confusion => pairs.extend([
            ("tuning", text(tuning)),
            ("learning_rates", text(learning_rates)),
            ("lambda_g", text(lambda_g)),
            ("lambda_perp", text(lambda_perp)),
        ]),
        Of::Sensitivity => {
            pairs.extend([("learning_rates", text("1e-4")), ("lambda_g", text(sweep)), ("lambda_perp", text(sweep))]);
        }
        Of::Shapes | Of::Efficiency => {
            let rate = if budget == Budget::Quick { "1e-3" } else { "5e-4" };
            pairs.extend([("learning_rates", text(rate)), ("lambda_g", text("1e-4")), ("lambda_perp", text(sweep))]);
        }
    }
    table(pairs)
}

/// To learn from in `fig-shapes`: with 480 every λ_⊥ up to 0.1 has all there is to have where no symmetry is broken.
const FEW: usize = 160;

/// Of the generated set, as `reynolds run medmnist` has it.
const NOISE: f64 = 0.1;

fn table<'a>(pairs: impl IntoIterator<Item = (&'a str, Value)>) -> Table {
    pairs.into_iter().map(|(key, value)| (key.to_string(), value)).collect()
}
