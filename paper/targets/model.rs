//! A model of a reproduction, whatever experiment it is of, and what comes of it.

use std::collections::BTreeMap;

use reynolds_torch::tch::Device;
use serde::{Deserialize, Serialize};
use toml::Table;

use super::sample::Sample;
use reynolds_train::error::Result;
use reynolds_train::interrupt::Interrupt;
use reynolds_train::metrics::nullable;
use reynolds_train::task::Metrics;

/// One model that a target wants trained.
pub trait Model: Send + Sync {
    /// A name that no other model of a reproduction has, and a file can have.
    fn id(&self) -> String;

    /// The settings of the run that trains it, complete. What was kept of a model is used again only where they are the same.
    fn config(&self) -> Table;

    /// Trains it, on this thread. `None` if it was interrupted.
    ///
    /// # Errors
    /// As [`train`](reynolds_train::train::train), and if data are missing.
    fn train(&self, device: Device, interrupt: &Interrupt) -> Result<Option<Trained>>;

    /// Whether it wants the machine to itself, as a measurement does: such models come one at a time, after the others.
    fn alone(&self) -> bool {
        false
    }

    /// Whether what was kept of it, with the same settings, holds all that is asked for now.
    fn suffices(&self, trained: &Trained) -> bool {
        let _ = trained;
        true
    }
}

/// What comes of a model. Numbers that are not finite are kept as such.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Trained {
    /// "train/…", "test/…" and whatever else a single number says.
    #[serde(with = "nullable")]
    pub metrics: Metrics,
    /// Curves and fields by name.
    #[serde(with = "arrays", default)]
    pub arrays: BTreeMap<String, Vec<f32>>,
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

/// A model with the settings it was trained with.
#[derive(Debug, Clone, PartialEq)]
pub struct Entry {
    /// [`Model::id`].
    pub id: String,
    /// [`Model::config`].
    pub config: Table,
    /// What came of it.
    pub trained: Trained,
}

/// The models of a reproduction by [`Model::id`].
#[derive(Debug, Clone, Default)]
pub struct Models(BTreeMap<String, Entry>);

impl Models {
    /// These, each with what came of it.
    pub fn new<M: Model>(models: impl IntoIterator<Item = (M, Trained)>) -> Self {
        let mut all = Self::default();
        for (model, trained) in models {
            all.insert(&model, trained);
        }
        all
    }

    /// Adds what came of a model.
    pub fn insert(&mut self, model: &dyn Model, trained: Trained) {
        let (id, config) = (model.id(), model.config());
        self.0.insert(id.clone(), Entry { id, config, trained });
    }

    /// In the order of their names.
    pub fn iter(&self) -> impl Iterator<Item = &Entry> {
        self.0.values()
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// What came of a model, if it is among them.
    pub fn find(&self, model: &dyn Model) -> Option<&Trained> {
        self.0.get(&model.id()).map(|entry| &entry.trained)
    }

    /// What came of a model.
    ///
    /// # Panics
    /// If it is not among them: a target asks for what it listed.
    pub fn get(&self, model: &dyn Model) -> &Trained {
        self.find(model).unwrap_or_else(|| panic!("no model {}", model.id()))
    }

    /// A metric of these models, as a rule the seeds of one.
    ///
    /// # Panics
    /// As [`Models::get`].
    pub fn sample<M: Model>(&self, models: impl IntoIterator<Item = M>, metric: &str) -> Sample {
        Sample::new(models.into_iter().map(|model| self.get(&model).metric(metric)).collect())
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
    fn what_came_of_a_model_reads_back_whatever_its_numbers() {
        let trained = Trained {
            metrics: Metrics::from([("a".into(), 0.1), ("b".into(), f64::INFINITY)]),
            arrays: BTreeMap::from([("curve".into(), vec![0.3, f32::NAN])]),
        };
        let text = serde_json::to_string(&trained).unwrap();
        let back: Trained = serde_json::from_str(&text).unwrap();
        assert_eq!((back.metric("a"), back.array("curve")[0]), (0.1, 0.3));
        assert!(back.metric("b").is_nan() && back.array("curve")[1].is_nan());
        assert!(back.metric("c").is_nan() && back.array("none").is_empty());
        let old: Trained = serde_json::from_str(r#"{"metrics":{"a":1.0},"logits":[0.5]}"#).unwrap();
        assert!(old.arrays.is_empty());
    }
}
