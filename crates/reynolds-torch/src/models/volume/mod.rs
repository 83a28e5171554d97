//! Networks that tell classes of volumes apart, one architecture a file.
//!
//! ```text
//! 29³ ─ R1: conv7 → conv5, skip conv7 ─ pool ─ R2: conv3 → pool → conv3, skip pool → conv3 ─ R3: conv3 → pool → conv1, skip conv3 ─ head
//! 29     27       27                    13      7       3      3              5    3             3       1      1            1
//! ```
//!
//! Channels are fields of SO(3) or O(3): see [`Fields`]; the SCNN's go by irrep, component, copy ([`Fields::by_components`]). Multiplicities with width c are c, 2c in R1, 4c, 6c in R2, 6c, then 8c scalars in
//! R3; the degree L is 2 for the first convolution of R1 and R3 and 3 elsewhere (SO(3)), 2 everywhere (O(3)).
//!
//! | parameter | shape | what |
//! |---|---|---|
//! | `rB.conv1.weight`, `rB.conv2.weight`, `rB.skip.weight`, `.bias` | dense: `[out, in, k, k, k]`, `[out]` | block B = 1, 2, 3 |
//! | | steerable: `[n, fields out, fields in]`, `[1 + gates, fields]` | coefficients of the n kernels between two fields: by irrep of the output (gates last), irrep of the input, degree J, ring; biases of the trivial irrep and of the gates; none of `r3.conv2` |
//! | | partial, conv2 and skip of the P-SCNN: `[n, fields out, fields in]` | by number of repeats, repeat, irrep ψ, κ, then elements |
//! | `rB.norm1.weight`, `.bias`, …; running statistics beside | dense: `[channels]`; gated: `[fields]`, `[1 + gates, fields]` | normalisation after conv1, conv2 (none after `r3.conv2`) |
//! | `rB.gate1.bias`, `rB.gate2.bias` | `[gates, fields]`, one gate an irrep | what is taken off a gate before the sigmoid; the skips share the last of their block |
//! | `head.norm.weight`, `.bias`, `head.weight`, `head.bias` | `[8c]`, `[classes, 8c]`, `[classes]` | flatten, batch normalisation, ELU, linear |
//! | `dense.rB.…` | as above | the second branch of RPP's blocks |
//! | `likelihood.B` | `[coefficients]` | of the P-SCNN: one likelihood a block |
//!
//! Paper: section "MedMNIST"; architectures of Veefkind and Cesa (P-SCNN) and of Finzi et al. (RPP).

mod block;
mod dense;
mod fields;
mod gated;
mod likelihood;
mod ours;
mod partial_elements;
mod partial_kernels;
mod pscnn;
mod rpp;
mod scnn;
#[cfg(test)]
mod tests;

use reynolds::projection::Lowered;
use reynolds::random::Random;
use serde::{Deserialize, Serialize};
use tch::Tensor;

use crate::error::{Error, Result};
pub use crate::layers::{Layout, Mode, Pass};
use crate::parameters::{Builder, Parameters};
pub use fields::{Fields, Symmetry};

/// The side of the volumes that networks see: odd, so that there is a voxel at the centre.
pub const SIDE: usize = 29;

/// Which network.
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

/// Sizes of a network.
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
    /// "channels" or "planes": which are innermost in memory, on CUDA.
    pub layout: Layout,
    /// Of RPP.
    pub rpp: RppConfig,
    /// Of the P-SCNN.
    pub likelihood: LikelihoodConfig,
}

/// A kernel `[out, in, k, k, k]` or a bias `[out]` that is held against the group, and the projector on it.
#[derive(Debug, Clone)]
pub struct Held {
    /// Name of the parameter.
    pub name: String,
    /// P on it.
    pub projector: Lowered,
}

/// A network that tells volumes apart.
pub trait Network: Send {
    /// What the passes of one kind need of the parameters alone, on the tape: kernels in layout and precision.
    ///
    /// # Errors
    /// [`Error::Torch`] if the device has no room.
    fn assemble(&self, parameters: &Parameters, pass: Pass) -> Result<Vec<Tensor>>;

    /// Logits `[N, classes]`, in the type of the parameters, of volumes `[N, 1, 29, 29, 29]`, with what [`Network::assemble`] made for the
    /// same `pass`.
    ///
    /// # Errors
    /// [`Error::Torch`] if the shapes do not fit or the device has no room.
    fn forward(&self, parameters: &Parameters, assembled: &[Tensor], volumes: &Tensor, pass: Pass) -> Result<Tensor>;

    /// What the network itself adds to the loss, a scalar on the tape: the prior of RPP, alignment and divergences of the P-SCNN.
    ///
    /// # Errors
    /// [`Error::Torch`] if the device has no room.
    fn prior(&self, parameters: &Parameters) -> Result<Option<Tensor>> {
        let _ = parameters;
        Ok(None)
    }

    /// What is held against the group by a penalty: kernels and biases of ours, nothing of the others. Derived when asked for.
    ///
    /// # Errors
    /// [`Error::Reynolds`] if a projector cannot be derived.
    fn held(&self) -> Result<Vec<Held>> {
        Ok(Vec::new())
    }
}

impl VolumeNetConfig {
    /// c.
    pub fn width(&self) -> usize {
        match (self.width, self.architecture) {
            (0, Architecture::Ours) => 2,
            (0, _) => 6,
            (width, _) => width,
        }
    }

    /// Adds the parameters of a network for so many classes to `builder`.
    ///
    /// # Errors
    /// [`Error::Setting`] if a size or a weight is out of range, or gates are asked for of a network other than ours.
    pub fn build(&self, classes: usize, builder: &mut Builder, random: &mut Random) -> Result<Box<dyn Network>> {
        for (what, value, least, most) in [("width", self.width(), 1, 64), ("classes", classes, 2, 1000)] {
            if !(least..=most).contains(&value) {
                return Err(Error::setting(what, format!("from {least} to {most}"), value));
            }
        }
        for (what, value) in [("rpp.equivariant", self.rpp.equivariant), ("rpp.dense", self.rpp.dense)] {
            if !(value.is_finite() && value >= 0.0) {
                return Err(Error::setting(what, "a number from 0", value));
            }
        }
        if self.nonlinearity == Nonlinearity::Gated && self.architecture != Architecture::Ours {
            return Err(Error::setting("nonlinearity", "\"pointwise\" for networks other than ours", "\"gated\""));
        }
        match self.architecture {
            Architecture::Cnn => Ok(Box::new(dense::DenseNet::new(self, classes, builder, random)?)),
            Architecture::Rpp => Ok(Box::new(rpp::Rpp::new(self, classes, builder, random)?)),
            Architecture::Ours => Ok(Box::new(ours::Ours::new(self, classes, builder, random)?)),
            Architecture::Scnn => Ok(Box::new(scnn::Scnn::new(self, classes, builder, random)?)),
            Architecture::Pscnn => Ok(Box::new(pscnn::Pscnn::new(self, classes, builder, random)?)),
        }
    }
}
