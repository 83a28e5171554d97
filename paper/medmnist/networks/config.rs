//! Which network, and its sizes.

use reynolds::random::Random;
use serde::{Deserialize, Serialize};

use super::network::VolumeNet;
use super::{Fields, Layout, Network, Symmetry};
use reynolds_torch::error::{Error, Result};
use reynolds_torch::parameters::Builder;

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
    /// Dense convolutions on a third of the channels, held against the group by the projection penalty.
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
    /// Every irrep times the sigmoid of a scalar of its own, which more channels are made for: equivariant.
    Gated,
}

/// The prior of [`Architecture::Rpp`]: `equivariant`·Σ‖steerable branches‖² + `dense`·Σ‖dense branches‖², over all parameters of the blocks:
/// kernels, biases, normalisations and gates; the head is free.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct RppConfig {
    /// Of the steerable branches, from 0.
    pub equivariant: f64,
    /// Of the dense ones, from 0.
    pub dense: f64,
}

impl Default for RppConfig {
    fn default() -> Self {
        Self { equivariant: 1e-5, dense: 1e-3 }
    }
}

/// The likelihoods of [`Architecture::Pscnn`] and what is asked of them.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct LikelihoodConfig {
    /// Degree of the function whose exponential a likelihood is.
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
    /// "cnn", "scnn", "rpp", "pscnn" or "ours".
    pub architecture: Architecture,
    /// "so3" or "o3": the group, and with it the channels.
    pub group: Symmetry,
    /// c, fields of the first layer; 0: 2 for ours, 6 for the others.
    pub width: usize,
    /// Of ours: "pointwise" or "gated".
    pub nonlinearity: Nonlinearity,
    /// "channels" or "planes": which are innermost in memory (those of steerable kernels on CUDA alone).
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

    /// The same sizes for this network and group; what acts on other networks alone is as by default.
    pub fn of(&self, architecture: Architecture, group: Symmetry) -> Self {
        let usual = Self::default();
        let (mut nonlinearity, mut rpp, mut likelihood) = (usual.nonlinearity, usual.rpp, usual.likelihood);
        match architecture {
            Architecture::Ours => nonlinearity = self.nonlinearity,
            Architecture::Rpp => rpp = self.rpp,
            Architecture::Pscnn => likelihood = self.likelihood,
            Architecture::Cnn | Architecture::Scnn => {}
        }
        Self { architecture, group, nonlinearity, rpp, likelihood, width: self.width, layout: self.layout }
    }

    /// The channels before block `number` (0, 1, 2), after its first convolution and after it.
    pub(super) fn fields(&self, number: usize) -> [Fields; 3] {
        let all = Fields::of_network(self.group, self.width());
        std::array::from_fn(|at| all[2 * number + at])
    }

    /// Sees that sizes and weights are in range, and that nothing is asked for that the network does not have.
    pub fn validate(&self) -> Result<()> {
        in_range("width", self.width(), 1, 64)?;
        let Self { rpp, likelihood, .. } = self;
        in_range("likelihood.degree", likelihood.degree, 0, MAX_DEGREE)?;
        in_range("likelihood.kernel_degree", likelihood.kernel_degree, 0, MAX_DEGREE)?;
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
        for (own, usual) in self.of_single_networks().into_iter().zip(Self::default().of_single_networks()) {
            let (architecture, name, what, value) = own;
            if architecture != self.architecture && value != usual.3 {
                let expected = format!("{} for networks other than {name}", usual.3);
                return Err(Error::setting(what, expected, value));
            }
        }
        Ok(())
    }

    /// The settings that act on one network alone: which, what it is called, the key, the value.
    fn of_single_networks(&self) -> [(Architecture, &'static str, &'static str, String); 8] {
        let ours = |what, value| (Architecture::Ours, "ours", what, value);
        let rpp = |what, value: f64| (Architecture::Rpp, "RPP", what, value.to_string());
        let pscnn = |what, value| (Architecture::Pscnn, "the P-SCNN", what, value);
        let Self { rpp: branches, likelihood, .. } = self;
        [
            ours("nonlinearity", format!("\"{:?}\"", self.nonlinearity).to_lowercase()),
            rpp("rpp.equivariant", branches.equivariant),
            rpp("rpp.dense", branches.dense),
            pscnn("likelihood.degree", likelihood.degree.to_string()),
            pscnn("likelihood.kernel_degree", likelihood.kernel_degree.to_string()),
            pscnn("likelihood.alignment", likelihood.alignment.to_string()),
            pscnn("likelihood.divergence", likelihood.divergence.to_string()),
            pscnn("likelihood.uniform", likelihood.uniform.to_string()),
        ]
    }

    /// Adds the parameters of a network for so many classes to `builder`.
    pub fn build(&self, classes: usize, builder: &mut Builder, random: &mut Random) -> Result<Box<dyn Network>> {
        self.validate()?;
        in_range("classes", classes, 2, 1000)?;
        Ok(Box::new(VolumeNet::new(self, classes, builder, random)?))
    }
}

fn in_range(what: &str, value: usize, least: usize, most: usize) -> Result<()> {
    match (least..=most).contains(&value) {
        true => Ok(()),
        false => Err(Error::setting(what, format!("from {least} to {most}"), value)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settings_of_networks_that_are_not_in_use_are_refused_by_name() {
        use Architecture::{Cnn, Ours, Pscnn, Rpp, Scnn};
        let refused = |change: &dyn Fn(&mut VolumeNetConfig), having: Architecture, expected: &str| {
            for architecture in [Cnn, Scnn, Rpp, Pscnn, Ours] {
                let mut config = VolumeNetConfig { architecture, ..VolumeNetConfig::default() };
                assert!(config.validate().is_ok(), "{architecture:?}");
                change(&mut config);
                let found = config.validate().map_err(|error| error.to_string());
                let expected = if architecture == having { Ok(()) } else { Err(expected.to_string()) };
                assert_eq!(found, expected, "{architecture:?}");
            }
        };
        let gated = "nonlinearity: expected \"pointwise\" for networks other than ours, found \"gated\"";
        refused(&|config| config.nonlinearity = Nonlinearity::Gated, Ours, gated);
        let dense = "rpp.dense: expected 0.001 for networks other than RPP, found 0.5";
        refused(&|config| config.rpp.dense = 0.5, Rpp, dense);
        let degree = "likelihood.degree: expected 2 for networks other than the P-SCNN, found 3";
        refused(&|config| config.likelihood.degree = 3, Pscnn, degree);
        let uniform = "likelihood.uniform: expected 1 for networks other than the P-SCNN, found 0";
        refused(&|config| config.likelihood.uniform = 0.0, Pscnn, uniform);
    }

    #[test]
    fn sizes_and_weights_out_of_range_are_refused_by_name() {
        let refused = |architecture, change: &dyn Fn(&mut VolumeNetConfig)| {
            let mut config = VolumeNetConfig { architecture, ..VolumeNetConfig::default() };
            change(&mut config);
            config.validate().unwrap_err().to_string()
        };
        use Architecture::{Cnn, Pscnn, Rpp};
        assert_eq!(refused(Cnn, &|config| config.width = 65), "width: expected from 1 to 64, found 65");
        let message = refused(Pscnn, &|config| config.likelihood.degree = 7);
        assert_eq!(message, "likelihood.degree: expected from 0 to 6, found 7");
        let message = refused(Pscnn, &|config| config.likelihood.kernel_degree = 40);
        assert_eq!(message, "likelihood.kernel_degree: expected from 0 to 6, found 40");
        let message = refused(Pscnn, &|config| config.likelihood.alignment = -1.0);
        assert_eq!(message, "likelihood.alignment: expected a number from 0, found -1");
        assert!(refused(Pscnn, &|config| config.likelihood.uniform = f64::NAN).starts_with("likelihood.uniform"));
        let message = refused(Rpp, &|config| config.rpp.equivariant = -1.0);
        assert_eq!(message, "rpp.equivariant: expected a number from 0, found -1");
        let message = refused(Rpp, &|config| config.rpp.dense = f64::INFINITY);
        assert_eq!(message, "rpp.dense: expected a number from 0, found inf");
        let built =
            VolumeNetConfig::default().build(1, &mut reynolds_torch::Parameters::builder(), &mut Random::new(0));
        assert_eq!(built.err().unwrap().to_string(), "classes: expected from 2 to 1000, found 1");
    }
}
