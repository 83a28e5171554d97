//! The five modes of the CT experiment: what each changes in the settings of a run.
//!
//! | mode of the paper | settings | strength |
//! |---|---|---|
//! | plain | none | |
//! | sample-based | `sample.weight` above 0 | 1e-6 for ACDNet, 1e-8 for the others |
//! | test-time projection | `projected = true` | |
//! | residual pathway priors | `train.parametrisation.kind = "residual"` | λ_A = 0 on P(A), λ_B = 1e-4 on B |
//! | projection penalty | `penalty.lambda_perp` above 0 | λ_⊥ = 1 |
//!
//! Paper: section "CT-Scan Metal Artifact Reduction". It prints the weight 10^6 of the sample-based penalty; the code of its authors has
//! 1e-6 and 1e-8. The paper gives no priors of RPP: those here are ours, on the residual B alone, as in the public code of RPP for smoke
//! (Wang et al.).

use super::networks::Architecture;
use super::settings::CtSettings;
use crate::targets::Named;
use reynolds_torch::parametrisation::{Parametrisation, ParametrisationConfig};
use reynolds_torch::sample_penalty::SamplePenaltyConfig;
use reynolds_train::config::{PenaltySettings, RunConfig};
use serde::{Deserialize, Serialize};

/// The priors of RPP.
const RPP: ParametrisationConfig =
    ParametrisationConfig { kind: Parametrisation::Residual, lambda_equivariant: 0.0, lambda_residual: 1e-4 };

/// The weight of the sample-based penalty, as the code of its authors has it.
pub(crate) fn sample_weight(network: Architecture) -> f64 {
    match network {
        Architecture::Acdnet => 1e-6,
        Architecture::Dicdnet | Architecture::Oscnet => 1e-8,
    }
}

/// How a network is regularised towards C4.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum CtMode {
    Plain,
    Sample,
    /// Not in training; tested with P(W).
    Projected,
    Rpp,
    Penalty,
}

impl Named for CtMode {
    /// In the order of the paper's table.
    const ALL: &'static [Self] = &[Self::Plain, Self::Sample, Self::Projected, Self::Rpp, Self::Penalty];

    fn name(self) -> String {
        NAMES[self as usize].0.into()
    }
}

/// As in settings, and as in the paper's table.
const NAMES: [(&str, &str); 5] = [
    ("plain", "plain"),
    ("sample", "+ sample-based"),
    ("projected", "+ test-time projection"),
    ("rpp", "+ RPP"),
    ("penalty", "+ projection penalty (ours)"),
];

impl CtMode {
    /// As in the paper's table.
    pub fn head(self) -> &'static str {
        NAMES[self as usize].1
    }

    /// Adds the mode with its published strength to the settings of a run.
    pub fn add_to(self, run: &mut RunConfig<CtSettings>) {
        match self {
            Self::Plain => {}
            Self::Sample => run.settings.sample.weight = sample_weight(run.settings.model.architecture),
            Self::Projected => run.settings.projected = true,
            Self::Rpp => run.train.parametrisation = RPP,
            Self::Penalty => run.penalty.lambda_perp = 1.0,
        }
    }

    /// Removes the settings of all other modes from a run.
    pub fn alone_in(self, run: &mut RunConfig<CtSettings>) {
        run.settings.projected = self == Self::Projected;
        if self != Self::Sample {
            run.settings.sample = SamplePenaltyConfig::default();
        }
        if self != Self::Rpp {
            run.train.parametrisation = ParametrisationConfig::default();
        }
        if self != Self::Penalty {
            run.penalty = PenaltySettings::default();
        }
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;
    use crate::ct::CtExperiment;
    use reynolds_train::config::{self, Settings};
    use reynolds_train::experiment::Experiment;

    fn with(mode: CtMode, network: Architecture) -> RunConfig<CtSettings> {
        let mut run = CtExperiment.defaults();
        run.settings.model.architecture = network;
        mode.add_to(&mut run);
        run
    }

    #[test]
    fn the_configs_are_the_defaults_with_a_mode() {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../configs");
        let plain = Architecture::ALL.map(|network| (network.name(), CtMode::Plain, network));
        let modes = [("sample", CtMode::Sample), ("rpp", CtMode::Rpp), ("penalty", CtMode::Penalty)];
        let modes = modes.into_iter().chain([("lambda-sweep", CtMode::Penalty)]);
        let modes = modes.map(|(file, mode)| (file.to_string(), mode, Architecture::Dicdnet));
        for (file, mode, network) in plain.into_iter().chain(modes) {
            let mut expected = with(mode, network);
            if mode == CtMode::Sample {
                // As many images an epoch.
                (expected.settings.data.batch, expected.settings.data.steps) = (4, 1500);
            }
            let file = folder.join(format!("ct-{file}.toml"));
            assert_eq!(config::load(&CtExperiment.defaults(), Some(&file), &[]).unwrap(), expected, "{file:?}");
        }
    }

    #[test]
    fn a_mode_alone_in_a_run_of_all_is_that_mode() {
        for network in [Architecture::Acdnet, Architecture::Oscnet] {
            let mut all = with(CtMode::Plain, network);
            CtMode::ALL.iter().for_each(|mode| mode.add_to(&mut all));
            for &mode in CtMode::ALL {
                let mut run = all.clone();
                mode.alone_in(&mut run);
                assert_eq!(run, with(mode, network), "{mode:?}");
                run.validate().unwrap();
                assert_eq!(serde_json::to_value(mode).unwrap(), mode.name());
            }
        }
        let weights = [Architecture::Acdnet, Architecture::Dicdnet].map(sample_weight);
        assert_eq!((weights, RPP.lambda_equivariant, RPP.lambda_residual), ([1e-6, 1e-8], 0.0, 1e-4));
    }
}
