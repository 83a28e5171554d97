//! The settings of the experiment "ct", and which of them go together. The settings of the five modes are in modes.rs.

pub use crate::ct::data::Source as CtSource;
use crate::ct::networks::MarNetConfig;
use reynolds_torch::parametrisation::Parametrisation;
use reynolds_torch::sample_penalty::SamplePenaltyConfig;
use reynolds_train::config::{RunConfig, Settings, at_least_zero, within};
use reynolds_train::error::{Error, Result};
use serde::{Deserialize, Serialize};

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct CtDataConfig {
    /// `phantom` (generated bodies) or `slices` (real slices from files).
    pub source: CtSource,
    /// Folder of the pairs; "" = `$REYNOLDS_DATA/ct-pairs` (or `data/ct-pairs`), or a folder in there that is named by these settings.
    pub folder: String,
    /// Folder of the slices and metal shapes, for the source "slices"; "" = `$REYNOLDS_DATA/ct`.
    pub slices: String,
    /// The test series, for the source "slices"; "" = the one of median length.
    pub test_series: String,
    /// Pixels along a side of an image.
    pub side: usize,
    /// Number of training pairs.
    pub train: usize,
    /// Number of validation pairs.
    pub validation: usize,
    /// Number of test pairs.
    pub test: usize,
    /// Random seed of bodies, implants and noise.
    pub set_seed: u64,
    /// Images of a minibatch.
    pub batch: usize,
    /// Pixels along a side of training patches.
    pub patch: usize,
    /// Minibatches an epoch; 0 = one pass over the pairs.
    pub steps: usize,
    /// Mirror half of the patches left to right, and half of them top to bottom.
    pub flips: bool,
}

impl Default for CtDataConfig {
    fn default() -> Self {
        Self {
            source: CtSource::Phantom,
            folder: String::new(),
            slices: String::new(),
            test_series: String::new(),
            side: 256,
            train: 480,
            validation: 48,
            test: 60,
            set_seed: 0,
            batch: 12,
            patch: 256,
            steps: 500,
            flips: true,
        }
    }
}

/// `projected`, `[data]`, `[model]` and `[sample]`.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct CtSettings {
    /// Test with P(W) in place of every regularised kernel W.
    pub projected: bool,
    pub data: CtDataConfig,
    pub model: MarNetConfig,
    /// `[sample]`: the sample-based penalty; none at weight 0.
    pub sample: SamplePenaltyConfig,
}

impl Settings for CtSettings {
    fn validate(&self) -> Result<()> {
        let data = &self.data;
        for (key, value, least, most) in [
            ("data.side", data.side, 16, 1024),
            ("data.patch", data.patch, 16, data.side),
            ("data.batch", data.batch, 1, 4096),
            ("data.train", data.train, 1, 1_000_000),
            ("data.validation", data.validation, 1, 1_000_000),
            ("data.test", data.test, 1, 1_000_000),
            ("data.steps", data.steps, 0, 1_000_000),
        ] {
            within(key, value, least..=most)?;
        }
        if i64::try_from(data.set_seed).is_err() {
            return Err(Error::config("data.set_seed", "at most 2⁶³ − 1, which TOML can hold", data.set_seed));
        }
        for (key, value) in [("data.slices", &data.slices), ("data.test_series", &data.test_series)] {
            if data.source == CtSource::Phantom && !value.is_empty() {
                return Err(Error::config(key, "\"\" (phantoms need none)", format!("\"{value}\"")));
            }
        }
        at_least_zero("sample.weight", self.sample.weight)?;
        if self.sample.squared && self.sample.weight == 0.0 {
            return Err(Error::config("sample.squared", "false (sample.weight is 0)", true));
        }
        Ok(())
    }
}

/// Refuses settings that contradict each other.
pub(crate) fn check_together(config: &RunConfig<CtSettings>) -> Result<()> {
    let kind = config.train.parametrisation.kind;
    if config.settings.projected && kind != Parametrisation::Free {
        return Err(Error::config("projected", "false (test-time projection is of free weights)", true));
    }
    if kind == Parametrisation::Constrained && config.penalty.lambda_perp > 0.0 {
        let expected = "0 (constrained weights have no part off the symmetry)";
        return Err(Error::config("penalty.lambda_perp", expected, config.penalty.lambda_perp));
    }
    Ok(())
}
