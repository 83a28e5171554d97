//! A point of a table: a model to be trained, or a cost to be measured, and what came of it.

use std::collections::BTreeMap;
use std::path::Path;

use reynolds_torch::tch::Device;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::sample::Sample;
use reynolds_train::config::{self, RunConfig, Settings};
use reynolds_train::error::Result;
use reynolds_train::interrupt::Interrupt;
use reynolds_train::metrics::nullable;
use reynolds_train::point_journal::PointJournal;
use reynolds_train::task::Metrics;

/// Where a point is trained.
#[derive(Debug, Clone, Copy)]
pub struct PointSession<'a> {
    /// Where tensors live.
    pub device: Device,
    /// Cancellation flag.
    pub interrupt: &'a Interrupt,
    /// Where a point that is stopped leaves its checkpoint, and goes on from it.
    pub folder: &'a Path,
}

impl PointSession<'_> {
    /// The journal of a training with these complete settings.
    pub fn journal<S: Settings>(&self, run: &RunConfig<S>) -> PointJournal {
        PointJournal::new(self.folder.into(), config::text(run), self.interrupt.clone())
    }
}

/// One model that a target wants trained, or one cost that it wants measured.
pub trait Point: Send + Sync {
    /// A name that no other point of the target has, and a folder can have.
    fn id(&self) -> String;

    /// The complete settings of its run. What was kept of a point is used again only where they are the same.
    fn settings(&self) -> Value;

    /// Trains or measures it, on this thread. `None` if it was interrupted.
    fn train(&self, session: &PointSession<'_>) -> Result<Option<Trained>>;

    /// Whether it wants the machine to itself, as a measurement does: such points come one at a time, after the others.
    fn alone(&self) -> bool {
        false
    }

    /// Whether what was kept of it, with the same settings, holds all that is asked for now.
    fn suffices(&self, trained: &Trained) -> bool {
        let _ = trained;
        true
    }
}

/// What came of a point. Numbers that are not finite are kept as such.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Trained {
    /// "train/…", "test/…" and whatever else a single number says.
    #[serde(with = "nullable")]
    pub metrics: Metrics,
    /// Curves and fields by name.
    #[serde(with = "arrays", default)]
    pub arrays: BTreeMap<String, Vec<f32>>,
    /// What could not be done, with the reason: "batch12" did not fit.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub failures: BTreeMap<String, String>,
}

impl Trained {
    /// A metric; not a number if there is none of that name.
    pub fn metric(&self, name: &str) -> f64 {
        self.metrics.get(name).copied().unwrap_or(f64::NAN)
    }

    /// An array; empty if there is none of that name.
    pub fn array(&self, name: &str) -> &[f32] {
        self.arrays.get(name).map_or(&[], Vec::as_slice)
    }
}

/// A point with its settings and what came of it.
#[derive(Debug, Clone, PartialEq)]
pub struct Entry {
    pub id: String,
    pub settings: Value,
    pub trained: Trained,
}

/// The points of a target by [`Point::id`], with what came of them.
#[derive(Debug, Clone, Default)]
pub struct Frame(BTreeMap<String, Entry>);

impl Frame {
    /// Points, each with what came of it.
    pub fn new<P: Point>(points: impl IntoIterator<Item = (P, Trained)>) -> Self {
        let mut all = Self::default();
        for (point, trained) in points {
            all.insert(&point, trained);
        }
        all
    }

    pub fn insert(&mut self, point: &dyn Point, trained: Trained) {
        let (id, settings) = (point.id(), point.settings());
        self.0.insert(id.clone(), Entry { id, settings, trained });
    }

    pub fn iter(&self) -> impl Iterator<Item = &Entry> {
        self.0.values()
    }

    pub fn len(&self) -> usize {
        self.0.len()
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub fn find(&self, point: &dyn Point) -> Option<&Trained> {
        self.0.get(&point.id()).map(|entry| &entry.trained)
    }

    /// What came of a point.
    ///
    /// # Panics
    /// If it is not among them: a target asks for what it listed.
    pub fn get(&self, point: &dyn Point) -> &Trained {
        self.find(point).unwrap_or_else(|| panic!("no point {}", point.id()))
    }

    /// A metric of these points, as a rule the seeds of one model.
    ///
    /// # Panics
    /// As [`Frame::get`].
    pub fn sample<P: Point>(&self, points: impl IntoIterator<Item = P>, metric: &str) -> Sample {
        Sample::new(points.into_iter().map(|point| self.get(&point).metric(metric)).collect())
    }
}

mod arrays {
    //! Arrays in which what is not finite, which JSON cannot hold, is null.
    use serde::{Deserialize, Deserializer, Serialize, Serializer};
    use std::collections::BTreeMap;

    type Arrays<T> = BTreeMap<String, Vec<T>>;

    pub(crate) fn serialize<S: Serializer>(arrays: &Arrays<f32>, serializer: S) -> Result<S::Ok, S::Error> {
        let finite = |value: &f32| Some(*value).filter(|value| value.is_finite());
        let all = arrays.iter().map(|(name, values)| (name, values.iter().map(finite).collect()));
        all.collect::<BTreeMap<&String, Vec<Option<f32>>>>().serialize(serializer)
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Arrays<f32>, D::Error> {
        let arrays = Arrays::<Option<f32>>::deserialize(deserializer)?;
        let number = |value: Option<f32>| value.unwrap_or(f32::NAN);
        Ok(arrays.into_iter().map(|(name, values)| (name, values.into_iter().map(number).collect())).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_came_of_a_point_reads_back_whatever_its_numbers() {
        let trained = Trained {
            metrics: Metrics::from([("a".into(), 0.1), ("b".into(), f64::INFINITY)]),
            arrays: BTreeMap::from([("curve".into(), vec![0.3, f32::NAN])]),
            failures: BTreeMap::from([("batch12".into(), "no room".into())]),
        };
        let text = serde_json::to_string(&trained).unwrap();
        let back: Trained = serde_json::from_str(&text).unwrap();
        assert_eq!((back.metric("a"), back.array("curve")[0]), (0.1, 0.3));
        assert!(back.metric("b").is_nan() && back.array("curve")[1].is_nan());
        assert!(back.metric("c").is_nan() && back.array("none").is_empty());
        assert_eq!(back.failures, trained.failures);
        let plain: Trained = serde_json::from_str(r#"{"metrics":{"a":1.0}}"#).unwrap();
        assert!(plain.arrays.is_empty() && plain.failures.is_empty());
    }
}
