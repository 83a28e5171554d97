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
mod mask;
mod tiles;
mod turned;

pub use mask::IsotypicMask;

use irrep_rows::IrrepRows;
use turned::Turned;

use super::{Dimensions, Energies, KernelSpace, Projector};
use crate::error::{Error, Result};
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
            return Err(Error::NoAction {
                group: space.group().name(),
                target: "the block form".into(),
                reason: "blocks are for dense maps; kernels on a grid take orbits, chain or basis".into(),
            });
        }
        let (domain, codomain) = (decompose(space.domain())?, decompose(space.codomain())?);
        let mut labels = Vec::new();
        let columns = numbers(&domain, &mut labels);
        let rows = numbers(&codomain, &mut labels);
        let turned = domain.pieces.iter().chain(&codomain.pieces).any(|piece| piece.basis.is_some());
        let rank = rank(&domain, &codomain);
        let form = if turned {
            Form::Turned(Turned { domain, codomain })
        } else {
            Form::Irreps(IrrepRows::new(&domain, &codomain, &labels))
        };
        Ok(Self { len: space.len(), rank, mask: IsotypicMask::new(rows, columns), form })
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

/// The number of the irrep behind each channel; new labels are appended.
fn numbers<F: Scalar>(parts: &Decomposition<F>, labels: &mut Vec<String>) -> Vec<u32> {
    let mut numbers = Vec::new();
    for (irrep, _) in parts.irreps() {
        let label = irrep.label();
        let number = labels.iter().position(|known| *known == label).unwrap_or_else(|| {
            labels.push(label);
            labels.len() - 1
        });
        numbers.extend(std::iter::repeat_n(number as u32, irrep.dim()));
    }
    numbers
}

/// Σ_σ m′_σ m_σ dim End_G(σ).
fn rank<F: Scalar>(domain: &Decomposition<F>, codomain: &Decomposition<F>) -> usize {
    let count =
        |parts: &Decomposition<F>, label: &str| parts.irreps().filter(|(irrep, _)| irrep.label() == label).count();
    let mut seen: Vec<String> = Vec::new();
    let mut rank = 0;
    for (irrep, _) in domain.irreps() {
        let label = irrep.label();
        if !seen.contains(&label) {
            rank += count(domain, &label) * count(codomain, &label) * irrep.endomorphism_type().dim();
            seen.push(label);
        }
    }
    rank
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
