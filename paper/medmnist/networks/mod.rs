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
mod config;
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
mod typed;

use reynolds::plan::SymmetryPlan;
use tch::Tensor;

pub use config::{Architecture, LikelihoodConfig, Nonlinearity, RppConfig, VolumeNetConfig};
pub use fields::{Fields, Symmetry};
use reynolds_torch::error::Result;
pub use reynolds_torch::layers::{Layout, Mode, Pass};
use reynolds_torch::parameters::Parameters;

/// The side of the volumes that networks see: odd, so that there is a voxel at the centre.
pub const SIDE: usize = 29;

/// A network that tells volumes apart.
pub trait Network: Send {
    /// What the passes of one kind need of the parameters alone, on the tape: kernels in layout and precision.
    ///
    /// # Errors
    /// [`reynolds_torch::Error::Torch`] if the device has no room.
    fn assemble(&self, parameters: &Parameters, pass: Pass) -> Result<Vec<Tensor>>;

    /// Logits `[N, classes]`, in the type of the parameters, of volumes `[N, 1, 29, 29, 29]`, with what [`Network::assemble`] made for the
    /// same `pass`.
    ///
    /// # Errors
    /// [`reynolds_torch::Error::Torch`] if the shapes do not fit or the device has no room.
    fn forward(&self, parameters: &Parameters, assembled: &[Tensor], volumes: &Tensor, pass: Pass) -> Result<Tensor>;

    /// What the network itself adds to the loss, a scalar on the tape: the prior of RPP, alignment and divergences of the P-SCNN.
    ///
    /// # Errors
    /// [`reynolds_torch::Error::Torch`] if the device has no room.
    fn prior(&self, parameters: &Parameters) -> Result<Option<Tensor>> {
        let _ = parameters;
        Ok(None)
    }

    /// What is regularised towards the group: kernels and biases of ours, nothing of the others.
    ///
    /// # Errors
    /// As [`SymmetryPlan::of_rules`].
    fn plan(&self) -> Result<Option<SymmetryPlan>> {
        Ok(None)
    }
}
