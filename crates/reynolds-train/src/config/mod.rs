//! The settings of a run: one TOML file, every key with a default, nothing else accepted.
//!
//! ```text
//! experiment = "so2"          defaults of the experiment
//! seed = 0                      ← config file
//! [data] [model]                ← --set key=value
//! [penalty] [train]             = RunConfig, written out complete as the run's config.toml
//! ```
//!
//! An unknown key is an error that names the nearest one. Every key is always written out: what can be turned off is off at 0, "" or "none".
//!
//! ```
//! use reynolds_train::config::{self, RunConfig, Settings};
//! use serde::{Deserialize, Serialize};
//! #[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
//! struct Data { points: usize }
//! #[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
//! struct Mine { data: Data }
//! impl Settings for Mine {}
//!
//! let defaults = RunConfig::new("mine", Mine { data: Data { points: 10 } });
//! let config = config::load(&defaults, None, &["penalty.lambda_perp=0.1".parse()?])?;
//! assert_eq!(config.penalty.lambda_perp, 0.1);
//! let error = config::load(&defaults, None, &["data.point=5".parse()?]).unwrap_err();
//! assert_eq!(error.to_string(), "--set: unknown key \"data.point\": did you mean \"data.points\"?");
//! # Ok::<(), reynolds_train::Error>(())
//! ```

mod load;
mod penalty;
mod set;
mod train;

use std::ops::RangeInclusive;

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

pub use load::{changed, first_difference, lines, load, parse, text};
pub use penalty::{PenaltySettings, PenaltyStep, TargetBy};
pub use set::Assignment;
pub use train::{EarlyStopping, Mode, Rule, Selection, TrainConfig, under};

use crate::error::{Error, Result};

/// Value of an optional number that is not set.
const NONE: &str = "none";

/// Settings of an experiment (usually a struct with the fields `data` and `model`, both structs), of a run or of a table.
///
/// Every field must be written out, also where it is not set (no bare `Option`): the defaults are the list of valid keys. A file with another value of the key `experiment` is refused.
pub trait Settings: Serialize + DeserializeOwned + Clone + PartialEq + std::fmt::Debug {
    /// Checks ranges; errors name the dotted key ("data.points") and the value.
    fn validate(&self) -> Result<()> {
        Ok(())
    }

    /// Old keys with their new names.
    fn renamed() -> &'static [(&'static str, &'static str)] {
        &[]
    }
}

/// All settings of a run of an experiment whose own are `S`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RunConfig<S> {
    /// Name of the experiment.
    pub experiment: String,
    /// Random seed.
    pub seed: u64,
    /// `[data]` and `[model]`.
    #[serde(flatten)]
    pub settings: S,
    /// `[penalty]`.
    pub penalty: PenaltySettings,
    /// `[train]`.
    pub train: TrainConfig,
}

impl<S: Settings> RunConfig<S> {
    /// Defaults of the loop and the penalty around an experiment's own.
    pub fn new(experiment: &str, settings: S) -> Self {
        Self {
            experiment: experiment.into(),
            seed: 0,
            settings,
            penalty: PenaltySettings::default(),
            train: TrainConfig::default(),
        }
    }
}

impl<S: Settings> Settings for RunConfig<S> {
    fn validate(&self) -> Result<()> {
        if i64::try_from(self.seed).is_err() {
            return Err(Error::config("seed", "at most 2⁶³ − 1, which TOML can hold", self.seed));
        }
        self.train.validate()?;
        self.penalty.validate()?;
        self.penalty.check_parametrisation(self.train.parametrisation.kind)?;
        self.settings.validate()
    }

    fn renamed() -> &'static [(&'static str, &'static str)] {
        S::renamed()
    }
}

/// A finite number, at least 0.
pub fn at_least_zero(key: &str, value: f64) -> Result<()> {
    if value.is_finite() && value >= 0.0 {
        return Ok(());
    }
    Err(Error::config(key, "a finite number, at least 0", value))
}

/// A finite number above 0.
pub fn above_zero(key: &str, value: f64) -> Result<()> {
    if value.is_finite() && value > 0.0 {
        return Ok(());
    }
    Err(Error::config(key, "a finite number above 0", value))
}

/// A whole number in a range.
pub fn within(key: &str, value: usize, range: RangeInclusive<usize>) -> Result<()> {
    if range.contains(&value) {
        return Ok(());
    }
    Err(Error::config(key, format!("from {} to {}", range.start(), range.end()), value))
}

/// A whole number, at least 1.
pub fn at_least_one(key: &str, value: usize) -> Result<()> {
    if value >= 1 {
        return Ok(());
    }
    Err(Error::config(key, "at least 1", value))
}

/// The most similar name, if one is similar enough.
pub(crate) fn nearest<'a>(names: impl Iterator<Item = &'a str>, likeness: impl Fn(&str) -> f64) -> Option<&'a str> {
    let best = names.max_by(|a, b| likeness(a).total_cmp(&likeness(b)))?;
    (likeness(best) >= 0.5).then_some(best)
}
