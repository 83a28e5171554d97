//! The Reynolds operator: derived once in double precision, lowered to a flat form, executed on slices.
//!
//! ```text
//! P(T) = ∫_G π′(g)* T π(g) dλ(g)
//! ```
//!
//! [`HaarProjector`] is that formula, term by term: the specification. [`derive()`] picks the fast form for a [`KernelSpace`]:
//!
//! | form | when | cost of P |
//! |---|---|---|
//! | [`Orbits`] | signed-permutation actions | one pass over the weights, whatever \|G\| is |
//! | [`Blocks`] | irrep-typed channels, or any pair of representations after a change of basis | one pass |
//! | [`Basis`] | band-limited steerable kernels | two thin products |
//! | [`Chain`] | any other finite group | Σ\|Tᵢ\| actions instead of \|G\| |
//!
//! Paper: `eqn:projection_operator`, `lem:reynolds-decomp`.

mod basis;
mod block;
mod chain;
mod fields;
mod haar;
mod kernel_space;
mod lowered;
mod motion;
mod orbit;
pub(crate) mod processor;
mod tiling;

use std::fmt::Debug;
use std::ops::Add;

pub use basis::{Basis, IrrepPair};
pub use block::Blocks;
pub use chain::Chain;
pub(crate) use fields::Fields;
pub use haar::HaarProjector;
pub use kernel_space::KernelSpace;
pub use lowered::{Lowered, derive};
pub(crate) use motion::Motion;
pub use orbit::Orbits;
pub use tiling::{SignedOrbits, Tile, TileKind, TileProjector, Tiling};

use crate::error::{Error, Result, all_finite};
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

impl Add for Energies {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        Self { equivariant: self.equivariant + other.equivariant, perp: self.perp + other.perp }
    }
}

/// The sizes of a projector, which are the same for weights of every type.
pub trait Dimensions: Debug + Send + Sync {
    /// Number of weights it acts on.
    fn len(&self) -> usize;

    /// Whether it acts on no weight.
    fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// dim Hom_G, the trace of P.
    fn rank(&self) -> usize;

    /// Number of weights of each part that P acts on independently: the rows of each output field, or the whole layer.
    fn parts(&self) -> Vec<usize> {
        vec![self.len()]
    }
}

/// The orthogonal projector onto the equivariant maps, on flat row-major weights `[out, in, k…]`.
pub trait Projector<T: Weight>: Dimensions {
    /// `out ← P(weights)`, returning both energies from the same pass. Checks nothing; [`Projector::project_into`] does.
    fn apply(&self, weights: &[T], out: &mut [T]) -> Energies;

    /// [`Projector::apply`] on one of the [`Dimensions::parts`]; if there are several, on this thread alone, for executors with their own
    /// threads.
    fn apply_part(&self, part: usize, weights: &[T], out: &mut [T]) -> Energies {
        let _ = part;
        self.apply(weights, out)
    }

    /// `out ← P(weights)`, with both energies.
    ///
    /// # Errors
    /// [`Error::OutOfRange`] if squares of the weights over- or underflow double precision.
    fn project_into(&self, weights: &[T], out: &mut [T]) -> Result<Energies> {
        let n = self.len();
        if n == 0 || weights.len() != n {
            return Err(Error::shape("weights", format!("{} weights", n.max(1)), weights.len()));
        }
        if out.len() != n {
            return Err(Error::shape("output", format!("{n} weights"), out.len()));
        }
        processor::clear_upper_registers();
        let energies = self.apply(weights, out);
        if (SMALLEST_ENERGY..=f64::MAX).contains(&energies.total()) {
            return Ok(energies);
        }
        rescue(weights, out)
    }

    /// P(W).
    fn project(&self, weights: &[T]) -> Result<Vec<T>> {
        let mut out = vec![T::default(); weights.len()];
        self.project_into(weights, &mut out)?;
        Ok(out)
    }

    /// W − P(W).
    fn perp(&self, weights: &[T]) -> Result<Vec<T>> {
        let mut out = self.project(weights)?;
        for (p, &w) in out.iter_mut().zip(weights) {
            *p = w - *p;
        }
        Ok(out)
    }

    /// ‖P(W)‖² and ‖W − P(W)‖².
    fn energies(&self, weights: &[T]) -> Result<Energies> {
        let mut out = vec![T::default(); weights.len()];
        self.project_into(weights, &mut out)
    }
}

/// Energies below this may have lost terms that underflow in single precision.
const SMALLEST_ENERGY: f64 = 1e-25;

/// Sums the energies again in double precision where they came out infinite, NaN or tiny; an error if that does not help.
fn rescue<T: Weight>(weights: &[T], out: &[T]) -> Result<Energies> {
    all_finite(weights)?;
    let energies = energies_of(weights, out);
    let lost = energies.total() < f64::MIN_POSITIVE / f64::EPSILON && weights.iter().any(|&w| w != T::default());
    if lost || !energies.total().is_finite() {
        let largest = weights.iter().map(|w| w.to_c64().norm()).fold(0.0, f64::max);
        return Err(Error::range(
            "magnitude of the weights",
            "squares within double precision",
            format!("{largest:e}"),
        ));
    }
    Ok(energies)
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
