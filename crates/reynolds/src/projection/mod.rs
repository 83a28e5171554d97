//! The Reynolds operator: derived once in double precision, lowered to a flat form, executed on slices.
//!
//! ```text
//! P(T) = ∫_G π′(g)* T π(g) dλ(g)
//! ```
//!
//! [`HaarProjector`] is that formula, term by term: the specification. `derive` picks the fast form for a [`KernelSpace`]:
//!
//! | form | when | cost of P |
//! |---|---|---|
//! | `Orbits` | signed-permutation actions | one pass over the weights, whatever \|G\| is |
//! | `Blocks` | irrep-typed channels, or any pair of representations after a change of basis | one pass |
//! | `Basis` | band-limited steerable kernels | two thin products |
//! | `Chain` | any other finite group | Σ\|Tᵢ\| actions instead of \|G\| |
//!
//! Paper: `eqn:projection_operator`, `lem:reynolds-decomp`.

mod haar;
mod kernel_space;

use std::fmt::Debug;

pub use haar::HaarProjector;
pub use kernel_space::KernelSpace;

use crate::error::{Error, Result};
use crate::scalar::{Real, Weight};

/// The two squared norms of an orthogonal decomposition W = P(W) + (W − P(W)).
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Energies {
    /// ‖P(W)‖².
    pub equivariant: f64,
    /// ‖W − P(W)‖².
    pub perp: f64,
}

impl Energies {
    /// ‖W‖², by Pythagoras.
    pub fn total(self) -> f64 {
        self.equivariant + self.perp
    }

    /// ‖P(W)‖² / ‖W‖², or 1 for W = 0, which is equivariant.
    pub fn ratio(self) -> f64 {
        if self.total() == 0.0 { 1.0 } else { self.equivariant / self.total() }
    }
}

/// The orthogonal projector onto the equivariant maps, on flat row-major weights `[out, in, k…]`.
pub trait Projector<T: Weight>: Debug + Send + Sync {
    /// Number of weights it acts on.
    fn len(&self) -> usize;

    /// Whether it acts on no weight.
    fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// dim Hom_G, the trace of P.
    fn rank(&self) -> usize;

    /// `out ← P(weights)`, returning both energies from the same pass. Lengths are right and weights are finite: the
    /// checked way in is [`Projector::project_into`].
    fn apply(&self, weights: &[T], out: &mut [T]) -> Energies;

    /// `out ← P(weights)`, with both energies.
    ///
    /// # Errors
    /// [`Error::Shape`] if a length is wrong or zero; [`Error::NotFinite`] if a weight is NaN or infinite.
    fn project_into(&self, weights: &[T], out: &mut [T]) -> Result<Energies> {
        let n = self.len();
        if n == 0 || weights.len() != n {
            return Err(Error::shape("weights", format!("{} weights", n.max(1)), weights.len()));
        }
        if out.len() != n {
            return Err(Error::shape("output", format!("{n} weights"), out.len()));
        }
        let energies = self.apply(weights, out);
        if energies.total().is_finite() {
            return Ok(energies);
        }
        if let Some(index) = weights.iter().position(|w| !w.is_finite_weight()) {
            return Err(Error::NotFinite { index, value: format!("{:?}", weights[index]) });
        }
        // Finite weights whose squares overflow: sum again in double precision.
        Ok(energies_of(weights, out))
    }

    /// P(W).
    ///
    /// # Errors
    /// As [`Projector::project_into`].
    fn project(&self, weights: &[T]) -> Result<Vec<T>> {
        let mut out = vec![T::default(); weights.len()];
        self.project_into(weights, &mut out)?;
        Ok(out)
    }

    /// W − P(W).
    ///
    /// # Errors
    /// As [`Projector::project_into`].
    fn perp(&self, weights: &[T]) -> Result<Vec<T>> {
        let mut out = self.project(weights)?;
        for (p, &w) in out.iter_mut().zip(weights) {
            *p = w - *p;
        }
        Ok(out)
    }

    /// ‖P(W)‖² and ‖W − P(W)‖².
    ///
    /// # Errors
    /// As [`Projector::project_into`].
    fn energies(&self, weights: &[T]) -> Result<Energies> {
        let mut out = vec![T::default(); weights.len()];
        self.project_into(weights, &mut out)
    }
}

/// Both energies from W and P(W), entry by entry in double precision.
pub(crate) fn energies_of<T: Weight>(weights: &[T], projected: &[T]) -> Energies {
    let mut energies = Energies::default();
    for (&w, &p) in weights.iter().zip(projected) {
        energies.equivariant += p.to_c64().energy().to_f64();
        energies.perp += (w.to_c64() - p.to_c64()).energy();
    }
    energies
}
