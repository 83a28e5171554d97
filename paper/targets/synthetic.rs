//! For tests of targets: results without training, and the committed results.

use std::path::Path;

use serde_json::{Value, json};

use super::{
    Budget, Frame, Jobs, Outcome, OutputFolder, Point, PointSession, Reproduction, Request, Session, Target, Trained,
    find,
};
use reynolds_torch::tch::Device;
use reynolds_train::config::{self, Assignment, Settings};
use reynolds_train::error::Result;
use reynolds_train::interrupt::Interrupt;
use reynolds_train::progress::Silent;

fn assignments(given: &[(&str, &str)]) -> Vec<Assignment> {
    given.iter().map(|(key, value)| Assignment::new(key, value)).collect()
}

/// Settings with these values in place of theirs.
pub(crate) fn given<S: Settings>(settings: S, given: &[(&str, &str)]) -> S {
    loaded(settings, given).unwrap()
}

/// As [`given()`]; the error if they are refused.
pub(crate) fn loaded<S: Settings>(settings: S, given: &[(&str, &str)]) -> Result<S> {
    config::load(&settings, None, &assignments(given))
}

/// A quick reproduction with these settings.
pub(crate) fn request(folder: OutputFolder, given: &[(&str, &str)]) -> Request {
    Request { budget: Budget::Quick, assignments: assignments(given), folder, jobs: Jobs::Number(2), launcher: None }
}

/// Reproduces a target on the processor.
pub(crate) fn reproduced(target: &str, request: &Request) -> Result<Outcome> {
    let session = Session { device: Device::Cpu, interrupt: Interrupt::new(), observer: &mut Silent };
    find(target)?.reproduce(request, session)
}

pub(crate) fn finished(target: &str, request: &Request) -> Reproduction {
    match reproduced(target, request).unwrap() {
        Outcome::Finished(reproduction) => *reproduction,
        Outcome::Interrupted { .. } => panic!("nobody interrupts a test"),
    }
}

/// A run with these metrics.
pub(crate) fn trained<N: Into<String>>(metrics: impl IntoIterator<Item = (N, f64)>) -> Trained {
    let metrics = metrics.into_iter().map(|(name, value)| (name.into(), value)).collect();
    Trained { metrics, ..Trained::default() }
}

/// Trains a point in a temporary folder.
pub(crate) fn train_point(point: &dyn Point) -> Result<Option<Trained>> {
    let folder = tempfile::tempdir().unwrap();
    point.train(&PointSession { device: Device::Cpu, interrupt: &Interrupt::new(), folder: folder.path(), probe: None })
}

pub(crate) fn with_arrays<const N: usize>(mut trained: Trained, arrays: [(&str, Vec<f32>); N]) -> Trained {
    trained.arrays.extend(arrays.map(|(name, values)| (name.to_string(), values)));
    trained
}

pub(crate) fn diverged() -> Trained {
    trained([("diverged", 1.0)])
}

/// Every point that `wanted` asks for, in all its rounds, with these results.
pub(crate) fn models<P: Point>(wanted: impl Fn(&Frame) -> Vec<P>, result: impl Fn(&P) -> Trained) -> Frame {
    let mut frame = Frame::default();
    loop {
        let mut missing = wanted(&frame);
        missing.retain(|point| frame.find(point).is_none());
        if missing.is_empty() {
            return frame;
        }
        for point in missing {
            frame.insert(&point, result(&point));
        }
    }
}

/// Whether `here` has every key and value of `there`, but for keys that are `forgotten` here.
fn has(here: &Value, there: &Value, forgotten: &[&str]) -> bool {
    match (here, there) {
        (Value::Object(here), Value::Object(there)) => there.iter().all(|(key, value)| {
            here.get(key).map_or(forgotten.contains(&key.as_str()), |here| has(here, value, forgotten))
        }),
        _ => here == there,
    }
}

/// Asks a target for points until there are no more. Each must be among those of the committed results with the same settings, but for keys
/// that are `forgotten` today; the committed numbers, and these arrays for figures, must give the committed table byte for byte.
pub(crate) fn agrees_with_committed<T: Target>(
    target: &T,
    budget: Budget,
    assignments: &[(&str, &str)],
    folder: &str,
    forgotten: &[&str],
    arrays: &[(&str, Vec<f32>)],
) {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../results").join(folder);
    let settings = given(target.settings(budget), assignments);
    let read = |file: &str| std::fs::read_to_string(folder.join(file)).unwrap();
    let results: Value = serde_json::from_str(&read("results.json")).unwrap();
    let models = results["models"].as_array().unwrap();
    let mut frame = Frame::default();
    let mut missing = target.points(&settings).unwrap();
    while !missing.is_empty() {
        for point in missing {
            let found = models.iter().find(|model| model["id"] == point.id());
            let found = found.unwrap_or_else(|| panic!("{}: no {}", folder.display(), point.id()));
            let (ours, theirs) = (point.settings(), &found["config"]);
            assert!(has(&ours, theirs, forgotten), "{}: {ours}\n{theirs}", folder.display());
            let mut trained: Trained = serde_json::from_value(json!({ "metrics": found["metrics"] })).unwrap();
            trained.arrays = arrays.iter().map(|(name, values)| (name.to_string(), values.clone())).collect();
            frame.insert(point.as_ref(), trained);
        }
        missing = target.more(&settings, &frame).unwrap();
        missing.retain(|point| frame.find(point.as_ref()).is_none());
    }
    assert_eq!(frame.len(), models.len(), "{}", folder.display());
    assert_eq!(target.findings(&settings, &frame).unwrap().csv, read("table.csv"), "{}", folder.display());
}
