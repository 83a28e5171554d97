//! Models of the table that nobody trained, for tests of what is made of them.

use super::plume_model::PlumeModel;
use super::settings::{Setup, of_budget};
use super::{TableSmoke, later, sooner};
use crate::targets::point::{Frame, Trained};
use crate::targets::{Budget, Target};
use reynolds_train::config::Assignment;
use reynolds_train::task::Metrics;

/// The quick budget with these rows, columns and seeds.
pub(super) fn setup(kinds: &str, columns: &str, seeds: u64) -> Setup {
    Setup::new(&settings(kinds, columns, seeds)).unwrap()
}

/// The same as a table.
pub(super) fn settings(kinds: &str, columns: &str, seeds: u64) -> toml::Table {
    let mut settings = of_budget(Budget::Quick);
    for (key, value) in [("kinds", kinds), ("columns", columns), ("seeds", &seeds.to_string())] {
        Assignment::new(key, value).apply(&mut settings).unwrap();
    }
    assert!(TableSmoke.settings(Budget::Quick).len() == settings.len());
    settings
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
    Trained { metrics, arrays: arrays.map(|(name, values)| (name.to_string(), values)).into() }
}

/// What comes of a run whose loss stopped being finite.
pub(super) fn diverged() -> Trained {
    Trained { metrics: [("diverged".to_string(), 1.0)].into(), ..Trained::default() }
}

/// Every model that the setup asks for, sooner and later, and what `result` says came of it.
pub(super) fn models(setup: &Setup, result: impl Fn(&PlumeModel) -> Trained) -> Frame {
    let mut models = Frame::new(sooner(setup).unwrap().into_iter().map(|model| {
        let trained = result(&model);
        (model, trained)
    }));
    for model in later(setup, &models).unwrap() {
        let trained = result(&model);
        models.insert(&model, trained);
    }
    models
}
