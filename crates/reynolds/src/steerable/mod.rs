//! Steerable kernels: harmonics, their couplings, radial shells, and the kernel bases they make.
//!
//! A kernel K: ℝᵈ → Hom(V, V′) is steerable, and the convolution with it equivariant, iff
//!
//! ```text
//! K(gx) = π′(g) K(x) π(g)*      for all g ∈ G,
//! K(x) = Σ_r φ_r(|x|) Σ_m C_m Y_Jm(x/|x|),      D^out(g) C_m D^in(g)ᵀ = Σ_m′ C_m′ D^J(g)[m′, m]
//! ```
//!
//! with harmonics Y_J, radial shells φ_r and coupling tensors C. A grid carries no action of SO(2) or SO(3), so sampled on a grid this is
//! a definition: the band-limited steerable kernels.
//!
//! ```
//! use reynolds::steerable::{spherical_harmonics, wigner_d};
//! let half_turn = [[-1.0, 0.0, 0.0], [0.0, -1.0, 0.0], [0.0, 0.0, 1.0]];
//! let (y, d) = (spherical_harmonics(1, [0.6, 0.0, 0.8]), wigner_d(1, &half_turn));
//! assert!((d[(2, 2)] * y[2] - spherical_harmonics(1, [-0.6, 0.0, 0.8])[2]).abs() < 1e-15);
//! ```

mod band;
mod circular;
mod clebsch_gordan;
mod invariants;
mod kernel_basis;
mod ring_kernels;
mod shells;
mod spherical;
mod wigner;

pub use band::{Band, BandDegree};
pub use circular::{circular_action, circular_harmonics};
pub use clebsch_gordan::{Coupling, clebsch_gordan};
pub use invariants::invariants;
pub use kernel_basis::KernelBasis;
pub use ring_kernels::{SphericalIrrep, ring_kernels};
pub use shells::{Ring, RingsConfig, Shells};
pub use spherical::{spherical_harmonics, spherical_harmonics_all};
pub use wigner::{wigner_d, wigner_d_all};
