//! Networks that classify volumes, of the same blocks with different kernels.
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
//! | network | kernels | pools | beside |
//! |---|---|---|---|
//! | CNN, ours | dense: `dense`; of ours with gates `typed` | means | ours is regularised towards the group |
//! | SCNN | steerable: `scnn` | Gaussians, σ = 0.66 | |
//! | RPP | in every block both, added | Gaussians | prior α Σ‖steerable‖² + β Σ‖dense‖² |
//! | P-SCNN | conv1 steerable, conv2 and skip averaged over the group with a learned `likelihood`: `pscnn` | Gaussians | alignment and divergences of the likelihoods |
//!
//! The published 2.0 million parameters of ours are those of SO(3) at c = 2. With O(3) c = 1 has 0.8 and c = 2 has 3.3 million; c = 2, nearer
//! in ratio and with as many fields, is used.
//!
//! Paper: section "MedMNIST"; architectures of Veefkind and Cesa (P-SCNN) and of Finzi et al. (RPP).

mod config;
mod dense;
mod fields;
mod gated;
mod likelihood;
mod network;
mod pscnn;
mod scnn;
#[cfg(test)]
mod tests;
mod typed;

pub use crate::network::Network;
pub use config::{Architecture, LikelihoodConfig, Nonlinearity, RppConfig, VolumeNetConfig};
pub use fields::{Fields, Symmetry};
pub use reynolds_torch::layers::{Layout, Mode, Pass};

// What most files here need.
use reynolds::random::Random;
use reynolds::steerable::{Shells, SphericalIrrep};
use reynolds_torch::error::Result;
use reynolds_torch::layers::{BatchNorm, Constant, Conv3d, FieldPair, Kernels, Pool3d, Window};
use reynolds_torch::parameters::{Builder, Parameters};
use tch::{Kind, Tensor};

/// The side of the volumes that networks see: odd, so that there is a voxel at the centre.
pub const SIDE: usize = 29;
