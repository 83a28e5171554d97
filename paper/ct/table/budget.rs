//! The settings of the CT targets as the budgets have them.

use toml::{Table, Value};

use super::paper::NORMS;
use super::row::{NETWORKS, name};
use crate::targets::Budget;
use crate::targets::setting::integer;

/// What a target is a table or figure of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Of {
    /// `table-ct`.
    Modes,
    /// `table-norms`.
    Norms,
    /// `fig-ct`.
    Pictures,
}

/// What a budget says.
struct Amount {
    seeds: usize,
    /// ACDNet, DICDNet, OSCNet.
    epochs: [usize; 3],
    steps: usize,
    batch: usize,
    sample_batch: usize,
    patch: usize,
    decay_at: &'static str,
    side: usize,
    /// Pairs that are trained on, validated on, tested on.
    pairs: [usize; 3],
    measured_side: usize,
    measured_steps: usize,
}

fn amount(budget: Budget) -> Amount {
    match budget {
        Budget::Quick => Amount {
            seeds: 1,
            epochs: [4, 4, 4],
            steps: 25,
            batch: 4,
            sample_batch: 4,
            patch: 32,
            decay_at: "0.75",
            side: 64,
            pairs: [48, 8, 16],
            measured_side: 32,
            measured_steps: 2,
        },
        Budget::Standard => Amount {
            seeds: 1,
            epochs: [4, 15, 4],
            steps: 100,
            batch: 16,
            sample_batch: 16,
            patch: 64,
            decay_at: "0.6,0.8,0.9",
            side: 256,
            pairs: [240, 16, 60],
            measured_side: 256,
            measured_steps: 20,
        },
        Budget::Full => Amount {
            seeds: 3,
            epochs: [80, 80, 80],
            steps: 500,
            batch: 12,
            sample_batch: 4,
            patch: 256,
            decay_at: "0.625",
            side: 512,
            pairs: [6000, 60, 200],
            measured_side: 256,
            measured_steps: 50,
        },
    }
}

/// Settings as a budget has them.
pub(super) fn of_budget(budget: Budget, of: Of) -> Table {
    let Amount { seeds, epochs, steps, batch, sample_batch, patch, decay_at, side, pairs, .. } = amount(budget);
    let Amount { measured_side, measured_steps, .. } = amount(budget);
    let text = |text: &str| Value::String(text.into());
    let of_network = |values: [Value; 3]| {
        Value::Table(NETWORKS.into_iter().zip(values).map(|(network, value)| (name(network), value)).collect())
    };
    let data: [(&str, Value); 9] = [
        ("source", text("phantom")),
        ("folder", text("")),
        ("slices", text("")),
        ("side", integer(side)),
        ("train", integer(pairs[0])),
        ("validation", integer(pairs[1])),
        ("test", integer(pairs[2])),
        ("set_seed", integer(0)),
        ("flips", Value::Boolean(true)),
    ];
    let rpp = [("equivariant", Value::Float(0.0)), ("residual", Value::Float(1e-4))];
    let mut pairs: Vec<(&str, Value)> = vec![
        ("seeds", integer(seeds)),
        ("epochs", of_network(epochs.map(integer))),
        ("steps", integer(steps)),
        ("batch", integer(batch)),
        ("sample_batch", integer(sample_batch)),
        ("patch", integer(patch)),
        ("learning_rate", Value::Float(2e-4)),
        ("decay_at", text(decay_at)),
        ("precision", text("f32")),
        ("stages", integer(10)),
        ("blocks", integer(3)),
        ("held", text("x")),
        ("lambda_perp", Value::Float(1.0)),
        ("form", text(if of == Of::Norms { "plain" } else { "squared" })),
        ("sample_weight", of_network([1e-6, 1e-8, 1e-8].map(Value::Float))),
        ("rpp", Value::Table(table(rpp))),
        ("data", Value::Table(table(data))),
    ];
    match of {
        Of::Modes => pairs.extend([("networks", text("all")), ("modes", text("all"))]),
        Of::Norms => pairs.extend([("networks", text("dicdnet")), ("norms", text(&NORMS.join(" ")))]),
        Of::Pictures => pairs.extend([("networks", text("all")), ("modes", text("plain,sample,penalty"))]),
    }
    if of != Of::Pictures {
        pairs.extend([
            ("efficiency", Value::Boolean(true)),
            ("measured_side", integer(measured_side)),
            ("measured_steps", integer(measured_steps)),
            ("measured_batches", text("4,12")),
            ("measured_precision", text("f32")),
            ("sample_at_largest", Value::Boolean(true)),
        ]);
    }
    table(pairs)
}

fn table<'a>(pairs: impl IntoIterator<Item = (&'a str, Value)>) -> Table {
    pairs.into_iter().map(|(key, value)| (key.to_string(), value)).collect()
}
