//! Which network, and its sizes.

use super::network::VolumeNet;
use super::*;
use crate::network::within;
use reynolds_torch::error::Error;
use serde::{Deserialize, Serialize};

/// The largest degree of a likelihood: the Haar rule then has 16,250 nodes on O(3).
const MAX_DEGREE: usize = 6;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Architecture {
    /// Dense convolutions with the channels of the SCNN.
    Cnn,
    /// Steerable convolutions, gated: equivariant by construction.
    Scnn,
    /// The sum of both in every block: equivariant part and residual.
    Rpp,
    /// Steerable convolutions with a learned likelihood over the group.
    Pscnn,
    /// Dense convolutions on a third of the channels, regularised towards the group by the projection penalty.
    #[default]
    Ours,
}

/// What follows the convolutions of [`Architecture::Ours`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Nonlinearity {
    /// ELU of every channel: equivariant on scalars alone.
    #[default]
    Pointwise,
    /// Every irrep times the sigmoid of a scalar of its own, an additional channel: equivariant.
    Gated,
}

/// The prior of [`Architecture::Rpp`]: `equivariant`·Σ‖steerable branches‖² + `dense`·Σ‖dense branches‖², over all parameters of the blocks:
/// kernels, biases, normalisations and gates; the head is free.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct RppConfig {
    /// For `architecture=rpp`: weight of Σ‖·‖² over the steerable branches.
    pub equivariant: f64,
    /// For `architecture=rpp`: weight of Σ‖·‖² over the dense branches.
    pub dense: f64,
}

impl Default for RppConfig {
    fn default() -> Self {
        Self { equivariant: 1e-5, dense: 1e-3 }
    }
}

/// The likelihoods of [`Architecture::Pscnn`] and the weights of their prior.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct LikelihoodConfig {
    /// For `architecture=pscnn`: degree of the logarithm of a likelihood.
    pub degree: usize,
    /// Degree up to which a likelihood enters kernels.
    pub kernel_degree: usize,
    /// Weight of Σ (largest logit − logit at the identity).
    pub alignment: f64,
    /// Weight of the divergence of each likelihood from the one before it.
    pub divergence: f64,
    /// Weight of the divergence from the uniform one.
    pub uniform: f64,
}

impl Default for LikelihoodConfig {
    fn default() -> Self {
        Self { degree: 2, kernel_degree: 4, alignment: 5.0, divergence: 1.0, uniform: 1.0 }
    }
}

#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct VolumeNetConfig {
    /// `cnn`, `scnn` (steerable), `rpp`, `pscnn` (partial symmetry) or `ours`.
    pub architecture: Architecture,
    /// `so3` or `o3`: the group, and with it the channels.
    pub group: Symmetry,
    /// c, fields of the first layer; 0 = 2 for `ours`, 6 for the others.
    pub width: usize,
    /// For `architecture=ours`: `pointwise` or `gated`.
    pub nonlinearity: Nonlinearity,
    /// `channels` or `planes`: what is innermost in memory (for steerable kernels on CUDA alone).
    pub layout: Layout,
    pub rpp: RppConfig,
    pub likelihood: LikelihoodConfig,
}

impl VolumeNetConfig {
    pub fn width(&self) -> usize {
        match (self.width, self.architecture) {
            (0, Architecture::Ours) => 2,
            (0, _) => 6,
            (width, _) => width,
        }
    }

    /// The same sizes for this network and group; settings of other networks are as by default.
    pub fn of(&self, architecture: Architecture, group: Symmetry) -> Self {
        let mut config = Self { architecture, group, width: self.width, layout: self.layout, ..Self::default() };
        match architecture {
            Architecture::Ours => config.nonlinearity = self.nonlinearity,
            Architecture::Rpp => config.rpp = self.rpp,
            Architecture::Pscnn => config.likelihood = self.likelihood,
            Architecture::Cnn | Architecture::Scnn => {}
        }
        config
    }

    /// The channels before block `number` (0, 1, 2), after its first convolution and after it.
    pub(super) fn fields(&self, number: usize) -> [Fields; 3] {
        let all = Fields::of_network(self.group, self.width());
        std::array::from_fn(|at| all[2 * number + at])
    }

    /// Checks that sizes and weights are in range, and that settings of other networks are as by default.
    pub fn validate(&self) -> Result<()> {
        within("width", self.width(), 1..=64)?;
        let Self { rpp, likelihood, .. } = self;
        within("likelihood.degree", likelihood.degree, 0..=MAX_DEGREE)?;
        within("likelihood.kernel_degree", likelihood.kernel_degree, 0..=MAX_DEGREE)?;
        let weights = [
            ("rpp.equivariant", rpp.equivariant),
            ("rpp.dense", rpp.dense),
            ("likelihood.alignment", likelihood.alignment),
            ("likelihood.divergence", likelihood.divergence),
            ("likelihood.uniform", likelihood.uniform),
        ];
        if let Some((what, weight)) = weights.into_iter().find(|(_, weight)| !(weight.is_finite() && *weight >= 0.0)) {
            return Err(Error::setting(what, "a number from 0", weight));
        }
        let settings = self.of_single_networks().into_iter().zip(Self::default().of_single_networks());
        for ((architecture, name, key, value), (.., usual)) in settings {
            if architecture != self.architecture && value != usual {
                return Err(Error::setting(key, format!("{usual} for networks other than {name}"), value));
            }
        }
        Ok(())
    }

    /// The settings of a single network: its name, the key, the value.
    fn of_single_networks(&self) -> [(Architecture, &'static str, &'static str, String); 8] {
        let rpp = |key, value: f64| (Architecture::Rpp, "RPP", key, value.to_string());
        let pscnn = |key, value| (Architecture::Pscnn, "the P-SCNN", key, value);
        let Self { rpp: branches, likelihood, .. } = self;
        let nonlinearity = format!("\"{:?}\"", self.nonlinearity).to_lowercase();
        [
            (Architecture::Ours, "ours", "nonlinearity", nonlinearity),
            rpp("rpp.equivariant", branches.equivariant),
            rpp("rpp.dense", branches.dense),
            pscnn("likelihood.degree", likelihood.degree.to_string()),
            pscnn("likelihood.kernel_degree", likelihood.kernel_degree.to_string()),
            pscnn("likelihood.alignment", likelihood.alignment.to_string()),
            pscnn("likelihood.divergence", likelihood.divergence.to_string()),
            pscnn("likelihood.uniform", likelihood.uniform.to_string()),
        ]
    }

    pub fn build(&self, classes: usize, builder: &mut Builder, random: &mut Random) -> Result<Box<dyn Network>> {
        self.validate()?;
        within("classes", classes, 2..=1000)?;
        Ok(Box::new(VolumeNet::new(self, classes, builder, random)?))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The error of settings in TOML, empty if there is none.
    fn error(text: &str) -> String {
        let config: VolumeNetConfig = toml::from_str(text).unwrap();
        config.validate().err().map_or(String::new(), |error| error.to_string())
    }

    #[test]
    fn settings_of_other_networks_are_refused_by_name() {
        for (own, setting, expected) in [
            (
                "ours",
                "nonlinearity = 'gated'",
                "nonlinearity: expected \"pointwise\" for networks other than ours, found \"gated\"",
            ),
            ("rpp", "rpp.dense = 0.5", "rpp.dense: expected 0.001 for networks other than RPP, found 0.5"),
            (
                "pscnn",
                "likelihood.degree = 3",
                "likelihood.degree: expected 2 for networks other than the P-SCNN, found 3",
            ),
            (
                "pscnn",
                "likelihood.uniform = 0.0",
                "likelihood.uniform: expected 1 for networks other than the P-SCNN, found 0",
            ),
        ] {
            for architecture in ["cnn", "scnn", "rpp", "pscnn", "ours"] {
                let expected = if architecture == own { "" } else { expected };
                assert_eq!(error(&format!("architecture = '{architecture}'\n{setting}")), expected);
            }
        }
    }

    #[test]
    fn sizes_and_weights_out_of_range_are_refused_by_name() {
        for (text, expected) in [
            ("width = 65", "width: expected from 1 to 64, found 65"),
            ("likelihood.degree = 7", "likelihood.degree: expected from 0 to 6, found 7"),
            ("likelihood.kernel_degree = 40", "likelihood.kernel_degree: expected from 0 to 6, found 40"),
            ("likelihood.alignment = -1.0", "likelihood.alignment: expected a number from 0, found -1"),
            ("likelihood.uniform = nan", "likelihood.uniform: expected a number from 0, found NaN"),
            ("rpp.equivariant = -1.0", "rpp.equivariant: expected a number from 0, found -1"),
            ("rpp.dense = inf", "rpp.dense: expected a number from 0, found inf"),
        ] {
            assert_eq!(error(text), expected);
        }
        let mut builder = reynolds_torch::Parameters::builder();
        let built = VolumeNetConfig::default().build(1, &mut builder, &mut Random::new(0));
        assert_eq!(built.err().unwrap().to_string(), "classes: expected from 2 to 1000, found 1");
    }
}
