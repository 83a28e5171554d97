//! Models of the tables that nobody trained and costs that nobody measured, for tests of what is made of them.

use super::budget;
use super::settings::TableSettings;
use super::target::Training;
use super::volume_run::VolumeRun;
use crate::targets::Budget;
use crate::targets::point::{Frame, Trained};
use reynolds_train::config::{self, Assignment, Settings};

/// The share of the most frequent class of every synthetic set.
pub(super) const MAJORITY: f64 = 0.5;

/// Classes of every synthetic set.
pub(super) const CLASSES: usize = 8;

/// Settings with these values in place of theirs.
pub(super) fn given<S: Settings>(settings: S, given: &[(&str, &str)]) -> S {
    let assignments: Vec<Assignment> = given.iter().map(|(key, value)| Assignment::new(key, value)).collect();
    config::load(&settings, None, &assignments).unwrap()
}

/// The quick budget of the table with these values.
pub(super) fn table(assignments: &[(&str, &str)]) -> TableSettings {
    given(budget::table(Budget::Quick), assignments)
}

/// What came of a run with this accuracy and defect on eight classes of 100 volumes each: of those that are wrong, half go to the class
/// beside it (0 and 1, 2 and 3, …).
pub(super) fn run(accuracy: f64, defect: f64) -> Trained {
    let mut trained = Trained::default();
    let mut put = |name: &str, value: f64| {
        trained.metrics.insert(name.to_string(), value);
    };
    for (name, value) in [
        ("parameters", 2_035_066.0),
        ("validation/accuracy", accuracy),
        ("validation/loss", 1.0 - accuracy),
        ("test/accuracy", accuracy),
        ("test/auc", accuracy),
        ("test/majority", MAJORITY),
        ("test/gain/accuracy", accuracy - MAJORITY),
        ("test/gain/accuracy_se", 0.02),
        ("test/defect", defect),
        ("test/held/residual", 10.0 * defect),
        ("test/pairs/rotation", accuracy),
        ("test/pairs/reflection", accuracy),
        ("test/pairs/rotation_count", 400.0),
        ("test/pairs/reflection_count", 400.0),
    ] {
        put(name, value);
    }
    for truth in 0..CLASSES {
        for predicted in 0..CLASSES {
            let wrong = 100.0 * (1.0 - accuracy);
            let count = match predicted {
                predicted if predicted == truth => 100.0 * accuracy,
                predicted if predicted == truth ^ 1 => wrong / 2.0,
                _ => wrong / 12.0,
            };
            put(&format!("test/confusion/{truth}/{predicted}"), count);
        }
    }
    let curve = vec![0.5, accuracy as f32];
    trained.arrays =
        [("curve/epoch", vec![1.0, 2.0]), ("curve/validation/accuracy", curve), ("curve/train/loss", vec![2.0, 1.0])]
            .map(|(name, values)| (name.to_string(), values))
            .into();
    trained
}

/// What came of a run that is as good as this on validation and as good as that on the test.
pub(super) fn validated(validation: f64, test: f64) -> Trained {
    let mut trained = run(test, 0.1);
    for (name, value) in [("accuracy", validation), ("loss", 1.0 - validation)] {
        trained.metrics.insert(format!("validation/{name}"), value);
    }
    trained
}

/// What comes of a run whose loss stopped being finite.
pub(super) fn diverged() -> Trained {
    Trained { metrics: [("diverged".to_string(), 1.0)].into(), ..Trained::default() }
}

/// A cost: so many samples a second in training, and twice as many in inference.
pub(super) fn cost(speed: f64, parameters: f64) -> Trained {
    let metrics = [
        ("parameters", parameters),
        ("train_samples_per_s", speed),
        ("inference_samples_per_s", 2.0 * speed),
        ("peak_memory_mib", 2048.0),
        ("build_ms", 12.5),
    ];
    Trained { metrics: metrics.map(|(name, value)| (name.to_string(), value)).into(), ..Trained::default() }
}

/// Every model that a target asks for in all its rounds, and what is said to have come of it.
pub(super) fn models(settings: &impl Training, result: impl Fn(&VolumeRun) -> Trained) -> Frame {
    let mut frame = Frame::default();
    loop {
        let mut missing = settings.wanted(&frame);
        missing.retain(|run| frame.find(run).is_none());
        if missing.is_empty() {
            return frame;
        }
        for run in missing {
            frame.insert(&run, result(&run));
        }
    }
}
