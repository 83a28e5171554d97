//! A point of a table: a model to be trained or a cost to be measured, and its results.

use std::collections::BTreeMap;
use std::path::Path;
use std::time::Duration;

use reynolds_torch::tch::Device;
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::Value;

use super::sample::Sample;
use reynolds_train::config::{self, RunConfig, Settings};
use reynolds_train::environment::Environment;
use reynolds_train::error::Result;
use reynolds_train::interrupt::Interrupt;
use reynolds_train::metrics::nullable;
use reynolds_train::point_journal::PointJournal;
use reynolds_train::task::Metrics;

/// How a point is trained.
#[derive(Debug, Clone, Copy)]
pub struct PointSession<'a> {
    pub device: Device,
    pub interrupt: &'a Interrupt,
    /// Holds the checkpoint of a training that was stopped.
    pub folder: &'a Path,
    /// To train for this long only and measure [`PACE`].
    pub probe: Option<Duration>,
}

/// Metric of a probe: steps a second.
pub(crate) const PACE: &str = "steps_per_s";

impl PointSession<'_> {
    pub fn journal<S: Settings>(&self, run: &RunConfig<S>) -> PointJournal {
        PointJournal::new(self.folder.into(), config::text(run), self.interrupt.clone())
    }
}

/// A model that a target wants trained, or a cost that it wants measured.
pub trait Point: Send + Sync {
    /// Unique in the target, and the name of its folder.
    fn id(&self) -> String;

    /// The complete settings of its run; results are used again only where these are equal.
    fn settings(&self) -> Value;

    /// Trains or measures it on this thread; `None` if interrupted.
    fn train(&self, session: &PointSession<'_>) -> Result<Option<Trained>>;

    /// Whether it needs the machine to itself, as a measurement does: such points come one at a time, after the others.
    fn alone(&self) -> bool {
        false
    }

    /// Whether stored results of the same settings hold all that is asked for now.
    fn suffices(&self, trained: &Trained) -> bool {
        let _ = trained;
        true
    }
}

/// The results of a point. In JSON a number that is not finite is null, and NaN when it is read back.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Trained {
    #[serde(with = "nullable")]
    pub metrics: Metrics,
    /// Curves and fields by name.
    #[serde(deserialize_with = "arrays", default)]
    pub arrays: BTreeMap<String, Vec<f32>>,
    /// What could not be done, with the reason.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub failures: BTreeMap<String, String>,
}

impl Trained {
    /// NaN if there is no metric of that name.
    pub fn metric(&self, name: &str) -> f64 {
        self.metrics.get(name).copied().unwrap_or(f64::NAN)
    }

    /// Empty if there is no array of that name.
    pub fn array(&self, name: &str) -> &[f32] {
        self.arrays.get(name).map_or(&[], Vec::as_slice)
    }
}

/// The summary.json of a point.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Kept {
    #[serde(flatten)]
    pub(crate) trained: Trained,
    /// Where it was trained, if that was recorded.
    #[serde(default)]
    pub(crate) environment: Option<Environment>,
}

impl From<Trained> for Kept {
    fn from(trained: Trained) -> Self {
        Self { trained, environment: None }
    }
}

/// A point with its settings and results.
#[derive(Debug, Clone, PartialEq)]
pub struct Entry {
    pub id: String,
    pub settings: Value,
    pub trained: Trained,
    pub environment: Option<Environment>,
}

/// Points of a target with their results, by [`Point::id`].
#[derive(Debug, Clone, Default)]
pub struct Frame(BTreeMap<String, Entry>);

impl Frame {
    pub fn new<P: Point>(points: impl IntoIterator<Item = (P, Trained)>) -> Self {
        let mut all = Self::default();
        for (point, trained) in points {
            all.insert(&point, trained);
        }
        all
    }

    pub(crate) fn insert(&mut self, point: &dyn Point, kept: impl Into<Kept>) {
        let (id, settings, Kept { trained, environment }) = (point.id(), point.settings(), kept.into());
        self.0.insert(id.clone(), Entry { id, settings, trained, environment });
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

    /// # Panics
    /// If the point is not among them: a target asks for what it listed.
    pub fn get(&self, point: &dyn Point) -> &Trained {
        self.find(point).unwrap_or_else(|| panic!("no point {}", point.id()))
    }

    /// A metric of these points, usually the seeds of one model; panics as [`Frame::get`].
    pub fn sample<P: Point>(&self, points: impl IntoIterator<Item = P>, metric: &str) -> Sample {
        Sample::new(points.into_iter().map(|point| self.get(&point).metric(metric)).collect())
    }
}

/// Arrays with null for what is not finite.
fn arrays<'de, D: Deserializer<'de>>(deserializer: D) -> Result<BTreeMap<String, Vec<f32>>, D::Error> {
    let arrays = BTreeMap::<String, Vec<Option<f32>>>::deserialize(deserializer)?;
    let numbers = |values: Vec<Option<f32>>| values.into_iter().map(|value| value.unwrap_or(f32::NAN)).collect();
    Ok(arrays.into_iter().map(|(name, values)| (name, numbers(values))).collect())
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
