//! The block form: dense maps between sums of irreps, in one pass.
//!
//! ```text
//! W = (W_ab),  a, b copies of irreps σ_a, σ_b:      P(W)_ab = 0                                  σ_a ≠ σ_b
//!                                                   P(W)_ab = Σ_k (⟨E_k, W_ab⟩ / d) E_k           σ_a = σ_b
//! ```
//!
//! with E_k the basis of End_G(σ): one term for real type, two for complex, four for quaternionic. The trace alone, which the paper
//! prints, is the first term; it is not enough for C₃ or Q₈ over the reals. A representation that is no sum of irreps is first turned
//! into one by its orthogonal change of basis.
//!
//! Paper: `thm:equiv_decomp_informal`, `fig:irreps_projection_sketch`.
//!
//! ```
//! use reynolds::projection::{Blocks, Dimensions, KernelSpace};
//! use reynolds::{group, irreps::Irreps};
//! // The paper's mask: harmonics m = −1, 0, 1 of SO(2), complex weights.
//! let so2 = group::parse("SO2")?;
//! let harmonics = "1x(-1..1)".parse::<Irreps>()?.complex_rep(&so2)?;
//! let projector = Blocks::derive(&KernelSpace::dense(&harmonics, &harmonics)?)?;
//! assert_eq!(projector.rank(), 3);
//! # Ok::<(), reynolds::Error>(())
//! ```

mod irrep_rows;
mod turned;

use std::sync::Arc;

use irrep_rows::IrrepRows;
use turned::Turned;

use super::tiling::Tiling;
use super::{Dimensions, Energies, Fields, KernelSpace, Projector};
use crate::error::{Error, Result};
use crate::irrep::Irrep;
use crate::rep::{Decomposition, Representation, decompose};
use crate::scalar::{Scalar, Weight};

/// A projector held as blocks of irreps.
#[derive(Debug, Clone)]
pub struct Blocks<F: Scalar = f64> {
    len: usize,
    rank: usize,
    irreps: Isotypic<F>,
    rows: IrrepRows<F>,
    turned: Turned<F>,
    /// Whether a field is not in the basis of irreps.
    is_turned: bool,
}

impl<F: Scalar> Blocks<F> {
    /// The projector of dense maps between any two representations of one group.
    ///
    /// # Errors
    /// [`Error::NoAction`] for kernels on a grid of more than one point; the errors of [`decompose`].
    pub fn derive(space: &KernelSpace<F>) -> Result<Self> {
        if space.points() != 1 {
            return Err(Error::no_action(
                space.group().name(),
                "the block form",
                "blocks are for dense maps; kernels on a grid take orbits, chain or basis",
            ));
        }
        let parts = [decompose(space.domain())?, decompose(space.codomain())?];
        let irreps = Isotypic::new(&parts);
        let is_turned = parts.iter().flat_map(|side| &side.pieces).any(|piece| piece.basis.is_some());
        let rows = IrrepRows::new(&irreps, parts[0].dim());
        let turned = Turned::new([Fields::of(space.domain()), Fields::of(space.codomain())], parts);
        Ok(Self { len: space.len(), rank: irreps.rank(), irreps, rows, turned, is_turned })
    }

    /// Whether the weights are turned into the basis of irreps first.
    pub fn is_turned(&self) -> bool {
        self.is_turned
    }

    /// The isotypic mask M, row-major `[out, in]`, in the basis of irreps: whether the irreps of two channels are equivalent. Where all
    /// irreps are one-dimensional, as for the harmonics of SO(2), P(W) = M ⊙ W.
    ///
    /// Paper: section 4.1, and "masking" in `fig:irreps_projection_sketch`.
    pub fn mask(&self) -> Vec<bool> {
        let channels = |copies: &[(usize, usize)]| -> Vec<usize> {
            let dim = |kind: usize| self.irreps.kinds[kind].dim();
            copies.iter().flat_map(|&(kind, _)| std::iter::repeat_n(kind, dim(kind))).collect()
        };
        let (rows, columns) = (channels(&self.irreps.outputs), channels(&self.irreps.inputs));
        rows.iter().flat_map(|row| columns.iter().map(move |column| row == column)).collect()
    }

    /// This projector tile by tile.
    pub(super) fn tiling(&self) -> Result<Tiling> {
        self.turned.tiling()
    }
}

/// The irreps of both sides, each once; for every copy its irrep and its first channel.
#[derive(Debug, Clone)]
struct Isotypic<F: Scalar> {
    kinds: Vec<Arc<Irrep<F>>>,
    inputs: Vec<(usize, usize)>,
    outputs: Vec<(usize, usize)>,
}

impl<F: Scalar> Isotypic<F> {
    fn new(parts: &[Decomposition<F>; 2]) -> Self {
        let mut kinds: Vec<Arc<Irrep<F>>> = Vec::new();
        let mut number = |irrep: &Arc<Irrep<F>>| {
            let known = kinds.iter().position(|known| known.label() == irrep.label());
            known.unwrap_or_else(|| {
                kinds.push(irrep.clone());
                kinds.len() - 1
            })
        };
        let [inputs, outputs] =
            parts.each_ref().map(|side| side.irreps().map(|(irrep, at)| (number(irrep), at)).collect());
        Self { kinds, inputs, outputs }
    }

    /// Σ_σ m′_σ m_σ dim End_G(σ).
    fn rank(&self) -> usize {
        let count = |copies: &[(usize, usize)], kind: usize| copies.iter().filter(|copy| copy.0 == kind).count();
        let end = |kind: usize| self.kinds[kind].endomorphism_type().dim();
        (0..self.kinds.len()).map(|k| count(&self.inputs, k) * count(&self.outputs, k) * end(k)).sum()
    }
}

impl<F: Scalar> Dimensions for Blocks<F> {
    fn len(&self) -> usize {
        self.len
    }

    fn rank(&self) -> usize {
        self.rank
    }

    fn parts(&self) -> Vec<usize> {
        if self.is_turned { vec![self.len] } else { self.rows.parts().collect() }
    }
}

impl<F: Scalar, T: Weight<Field = F>> Projector<T> for Blocks<F> {
    fn apply(&self, weights: &[T], out: &mut [T]) -> Energies {
        match self.is_turned {
            true => self.turned.apply(&self.rows, weights, out),
            false => self.rows.apply(weights, out),
        }
    }

    fn apply_part(&self, part: usize, weights: &[T], out: &mut [T]) -> Energies {
        match self.is_turned {
            true => self.apply(weights, out),
            false => self.rows.apply_part(part, weights, out),
        }
    }
}
