//! The equivariance defect: how far a map is from commuting with the group.
//!
//! ```text
//! Δ_g(T) = π′(g) T − T π(g),        ℰ(T) = sup_g ‖Δ_g(T)‖_F
//! ∫ ‖Δ_g(T)‖² dλ(g) = 2d²,          d = ‖T − P(T)‖_F
//! √2·d ≤ ℰ(T) ≤ 2d,                 √(2|G|/(|G|−1))·d ≤ ℰ(T) for finite G
//! ```
//!
//! The second line gives the lower bounds: a supremum is at least the mean, and on a finite group Δ_e = 0 leaves |G| − 1 terms
//! to carry it. The paper's `lem:proj-defect` prints the weaker d ≤ ℰ(T). All of it is for exact unitary actions and the
//! Frobenius norm of the kernel, which does **not** bound the operator norm of a convolution: see [`crate::certificate`].
//!
//! [`worst`] is exact up to rounding on groups that can be enumerated and a proven interval on the others, at most 1 % wide on
//! SO(2), O(2), SO(3) and O(3). Its ends are rounded outwards. [`empirical`] measures black-box maps on data.
//!
//! ```
//! use reynolds::defect;
//! use reynolds::projection::{KernelSpace, derive};
//! use reynolds::{group, rep};
//! let c4 = group::parse("C4")?;
//! let regular = rep::regular(&c4)?;
//! let space = KernelSpace::dense(&regular, &regular)?;
//! let mut t = vec![0.0_f64; 16];
//! t[0] = 1.0; // one entry of the diagonal: every turn but the identity moves it
//! let worst = defect::worst(&space, &derive(&space)?, &t)?;
//! assert!(worst.lower <= 2.0_f64.sqrt() && 2.0_f64.sqrt() <= worst.upper && worst.width() < 1e-9);
//! # Ok::<(), reynolds::Error>(())
//! ```

mod at;
mod correlation;
mod displacements;
mod empirical;
mod folded;
mod interval;
mod planar;
mod spatial;
mod worst;

pub use at::at;
pub use displacements::{Displacements, Profile};
pub use empirical::{Empirical, empirical};
pub(crate) use empirical::{apply, checked, distance};
pub use worst::{Bracket, squares, worst};
pub(crate) use worst::{rounding_of_projection, scaled_perp};
