//! Untrained models of the tables, for tests of what is made of them.

use super::settings::Table;
use super::*;
use crate::targets::synthetic::{given, models, trained, with_arrays};

pub(super) const CLASSES: usize = 8;

pub(super) fn table(assignments: &[(&str, &str)]) -> TargetSettings<Table> {
    given(budget::table(Budget::Quick), assignments)
}

/// Every model that a target asks for in all its rounds, each with a result.
pub(super) fn of<O: Trains>(settings: &TargetSettings<O>, result: impl Fn(&VolumeRun) -> Trained) -> Frame {
    models(|frame| O::wanted(settings, frame), result)
}

/// A run with this accuracy and defect on eight classes of 100 volumes each: half of the wrong answers are the other class of the pair (0, 1),
/// (2, 3), ….
pub(super) fn run(accuracy: f64, defect: f64) -> Trained {
    let numbers = [
        ("parameters", 2_035_066.0),
        ("validation/accuracy", accuracy),
        ("validation/loss", 1.0 - accuracy),
        ("test/accuracy", accuracy),
        ("test/auc", accuracy),
        ("test/majority", 0.5),
        ("test/gain/accuracy", accuracy - 0.5),
        ("test/gain/accuracy_se", 0.02),
        ("test/invariance_error", defect),
        ("test/weights/distance", 10.0 * defect),
        ("test/pairs/rotation", accuracy),
        ("test/pairs/reflection", accuracy),
        ("test/pairs/rotation_count", 400.0),
        ("test/pairs/reflection_count", 400.0),
    ];
    let wrong = 100.0 * (1.0 - accuracy);
    let confusion = (0..CLASSES * CLASSES).map(|at| {
        let (truth, predicted) = (at / CLASSES, at % CLASSES);
        let count = match predicted {
            predicted if predicted == truth => 100.0 * accuracy,
            predicted if predicted == truth ^ 1 => wrong / 2.0,
            _ => wrong / 12.0,
        };
        (format!("test/confusion/{truth}/{predicted}"), count)
    });
    let numbers = numbers.into_iter().map(|(name, value)| (name.to_string(), value));
    let curves = [
        ("curve/epoch", vec![1.0, 2.0]),
        ("curve/validation/accuracy", vec![0.5, accuracy as f32]),
        ("curve/train/loss", vec![2.0, 1.0]),
    ];
    with_arrays(trained(numbers.chain(confusion)), curves)
}

/// A run with these accuracies.
pub(super) fn validated(validation: f64, test: f64) -> Trained {
    let mut trained = run(test, 0.1);
    for (name, value) in [("accuracy", validation), ("loss", 1.0 - validation)] {
        trained.metrics.insert(format!("validation/{name}"), value);
    }
    trained
}

pub(super) fn held<'a>(checks: impl IntoIterator<Item = &'a Check>) -> Vec<bool> {
    checks.into_iter().map(|check| check.is_held()).collect()
}
