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
mod tiles;
mod turned;

use std::sync::Arc;

use irrep_rows::IrrepRows;
use turned::Turned;

use super::{Dimensions, Energies, KernelSpace, Projector};
use crate::error::{Error, Result};
use crate::irrep::Irrep;
use crate::rep::{Decomposition, Representation, decompose};
use crate::scalar::{Scalar, Weight};

/// A projector held as blocks of irreps.
#[derive(Debug, Clone)]
pub struct Blocks<F: Scalar = f64> {
    len: usize,
    rank: usize,
    mask: IsotypicMask,
    form: Form<F>,
}

/// The isotypic mask M: M\[o, i\] = 1 iff the output channel o and the input channel i belong to equivalent irreps.
///
/// Where all irreps are one-dimensional, as for the harmonics of SO(2), P(W) = M ⊙ W.
/// Paper: section 4.1, and "masking" in `fig:irreps_projection_sketch`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IsotypicMask {
    /// The number of the irrep of each channel.
    rows: Vec<u32>,
    columns: Vec<u32>,
}

impl IsotypicMask {
    /// Whether output channel `o` and input channel `i` may be coupled.
    pub fn allows(&self, o: usize, i: usize) -> bool {
        self.rows[o] == self.columns[i]
    }

    /// Row-major `[out, in]`.
    pub fn to_vec(&self) -> Vec<bool> {
        let columns = &self.columns;
        self.rows.iter().flat_map(|row| columns.iter().map(move |column| row == column)).collect()
    }
}

#[derive(Debug, Clone)]
enum Form<F: Scalar> {
    /// Every channel group is an irrep in its canonical basis.
    Irreps(IrrepRows<F>),
    /// Some are not: turn, project, turn back, field pair by field pair.
    Turned(Turned<F>),
}

impl<F: Scalar> Blocks<F> {
    /// The projector of dense maps between any two representations of one group.
    ///
    /// # Errors
    /// [`Error::NoAction`] for kernels on a grid of more than one point; whatever [`decompose`] may fail with.
    pub fn derive(space: &KernelSpace<F>) -> Result<Self> {
        if space.points() != 1 {
            return Err(Error::no_action(
                space.group().name(),
                "the block form",
                "blocks are for dense maps; kernels on a grid take orbits, chain or basis",
            ));
        }
        let (domain, codomain) = (decompose(space.domain())?, decompose(space.codomain())?);
        let irreps = Isotypic::new(&domain, &codomain);
        let (rank, mask) = (irreps.rank(), irreps.mask());
        let turned = domain.pieces.iter().chain(&codomain.pieces).any(|piece| piece.basis.is_some());
        let form = if turned {
            Form::Turned(Turned { domain, codomain })
        } else {
            Form::Irreps(IrrepRows::new(irreps, domain.dim()))
        };
        Ok(Self { len: space.len(), rank, mask, form })
    }

    /// Whether channels are turned into irreps first.
    pub fn is_turned(&self) -> bool {
        matches!(self.form, Form::Turned(_))
    }

    /// The mask M in the basis of irreps, `[out, in]`.
    pub fn mask(&self) -> &IsotypicMask {
        &self.mask
    }
}

/// The irreps of both sides, each once, and for every copy which of them it is, with its first channel.
struct Isotypic<F: Scalar> {
    kinds: Vec<Arc<Irrep<F>>>,
    inputs: Vec<(usize, usize)>,
    outputs: Vec<(usize, usize)>,
}

impl<F: Scalar> Isotypic<F> {
    fn new(domain: &Decomposition<F>, codomain: &Decomposition<F>) -> Self {
        let mut kinds: Vec<Arc<Irrep<F>>> = Vec::new();
        let mut numbered = |parts: &Decomposition<F>| -> Vec<(usize, usize)> {
            let number = |(irrep, at): (&Arc<Irrep<F>>, usize)| {
                let known = kinds.iter().position(|known| known.label() == irrep.label());
                let number = known.unwrap_or_else(|| {
                    kinds.push(irrep.clone());
                    kinds.len() - 1
                });
                (number, at)
            };
            parts.irreps().map(number).collect()
        };
        let (inputs, outputs) = (numbered(domain), numbered(codomain));
        Self { kinds, inputs, outputs }
    }

    /// Σ_σ m′_σ m_σ dim End_G(σ).
    fn rank(&self) -> usize {
        let count = |copies: &[(usize, usize)], kind: usize| copies.iter().filter(|copy| copy.0 == kind).count();
        let end = |kind: usize| self.kinds[kind].endomorphism_type().dim();
        (0..self.kinds.len()).map(|k| count(&self.inputs, k) * count(&self.outputs, k) * end(k)).sum()
    }

    fn mask(&self) -> IsotypicMask {
        let channels = |copies: &[(usize, usize)]| {
            copies.iter().flat_map(|&(kind, _)| std::iter::repeat_n(kind as u32, self.kinds[kind].dim())).collect()
        };
        IsotypicMask { rows: channels(&self.outputs), columns: channels(&self.inputs) }
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
        match &self.form {
            Form::Irreps(rows) => rows.parts().collect(),
            Form::Turned(_) => vec![self.len],
        }
    }
}

impl<F: Scalar, T: Weight<Field = F>> Projector<T> for Blocks<F> {
    fn apply(&self, weights: &[T], out: &mut [T]) -> Energies {
        match &self.form {
            Form::Irreps(rows) => rows.apply(weights, out),
            Form::Turned(turned) => turned.apply(weights, out),
        }
    }

    fn apply_part(&self, part: usize, weights: &[T], out: &mut [T]) -> Energies {
        match &self.form {
            Form::Irreps(rows) => rows.apply_part(part, weights, out),
            Form::Turned(turned) => turned.apply(weights, out),
        }
    }
}
