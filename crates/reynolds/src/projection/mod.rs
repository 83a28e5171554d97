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
        in_range(self, weights, out)
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

/// P(W) and its energies where sums over- or underflowed: of the weights times a power of two, which changes no digit.
fn in_range<T: Weight, P: Projector<T> + ?Sized>(projector: &P, weights: &[T], out: &mut [T]) -> Result<Energies> {
    all_finite(weights)?;
    let largest = weights.iter().map(|w| w.to_c64().norm()).fold(0.0, f64::max);
    let scale = 2_f64.powi(largest.max(f64::MIN_POSITIVE).log2().clamp(-1000.0, 1000.0) as i32);
    let scaled: Vec<T> = weights.iter().map(|w| T::from_c64(w.to_c64() / scale)).collect();
    let found = projector.apply(&scaled, out);
    out.iter_mut().for_each(|p| *p = T::from_c64(p.to_c64() * scale));
    let energies = Energies { equivariant: found.equivariant * scale * scale, perp: found.perp * scale * scale };
    let lost = energies.total() < f64::MIN_POSITIVE / f64::EPSILON && largest > 0.0;
    if lost || !energies.total().is_finite() {
        let expected = "squares within double precision";
        return Err(Error::range("magnitude of the weights", expected, format!("{largest:e}")));
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
