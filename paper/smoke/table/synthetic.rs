//! Models of the table that nobody trained, for tests of what is made of them.

use super::point::SmokePoint;
use super::settings::TableSettings;
use super::{later, sooner};
use crate::targets::Budget;
use crate::targets::point::{Frame, Trained};
use reynolds_train::config::{self, Assignment};
use reynolds_train::error::Result;
use reynolds_train::task::Metrics;

/// The quick budget with these settings.
pub(super) fn with(given: &[(&str, &str)]) -> Result<TableSettings> {
    let assignments: Vec<Assignment> = given.iter().map(|(key, value)| Assignment::new(key, value)).collect();
    config::load(&TableSettings::of_budget(Budget::Quick), None, &assignments)
}

/// The quick budget with these rows, columns and seeds.
pub(super) fn settings(kinds: &str, columns: &str, seeds: u64) -> TableSettings {
    with(&[("kinds", kinds), ("columns", columns), ("seeds", &seeds.to_string())]).unwrap()
}

/// What came of a run with these errors on both tests and on the validation part; persistence has 1.
pub(super) fn run(rmse: f64, validation: f64) -> Trained {
    let mut metrics = Metrics::from([
        ("validation/rmse".into(), validation),
        ("parameters".into(), 1234.0),
        ("epochs".into(), 6.0),
        ("best/epoch".into(), 5.0),
    ]);
    for test in ["future", "domain"] {
        for (name, value) in
            [("rmse", rmse), ("mse", rmse * rmse), ("persistence_rmse", 1.0), ("gain", 1.0 - rmse), ("gain_se", 0.01)]
        {
            metrics.insert(format!("test/{test}/{name}"), value);
            metrics.insert(format!("last/test/{test}/{name}"), value);
        }
    }
    let steps = vec![rmse as f32; 20];
    let arrays = [
        ("curve/epoch", vec![1.0, 2.0]),
        ("curve/validation/rmse", vec![1.0, validation as f32]),
        ("by_step/future/rmse", steps.clone()),
        ("by_step/domain/rmse", steps.clone()),
        ("by_step/future/persistence", vec![1.0; 20]),
        ("by_step/domain/persistence", vec![1.0; 20]),
    ];
    let arrays = arrays.map(|(name, values)| (name.to_string(), values)).into();
    Trained { metrics, arrays, ..Trained::default() }
}

/// What comes of a run whose loss stopped being finite.
pub(super) fn diverged() -> Trained {
    Trained { metrics: [("diverged".to_string(), 1.0)].into(), ..Trained::default() }
}

/// Every point that the settings ask for, sooner and later, and what `result` says came of it.
pub(super) fn models(settings: &TableSettings, result: impl Fn(&SmokePoint) -> Trained) -> Frame {
    let done = |point: SmokePoint| {
        let trained = result(&point);
        (point, trained)
    };
    let mut frame = Frame::new(sooner(settings).into_iter().map(done));
    for point in later(settings, &frame) {
        let trained = result(&point);
        frame.insert(&point, trained);
    }
    frame
}
