//! Blocks of channels in the basis of irreps: masked row by row.

use std::sync::Arc;

use faer::Mat;

use super::super::fields::by_rows;
use super::super::{Energies, processor};
use super::Isotypic;
use crate::irrep::Irrep;
use crate::rep::Representation;
use crate::scalar::{Scalar, Weight};

/// From this many weights on the work is shared between threads.
const PARALLEL: usize = 1 << 18;

/// Output irreps in channel order, and for each irrep the input channels it may be coupled to.
#[derive(Debug, Clone)]
pub(super) struct IrrepRows<F: Scalar> {
    columns: usize,
    /// Number of the irrep of each output copy.
    copies: Vec<usize>,
    kinds: Vec<Kind<F>>,
}

#[derive(Debug, Clone)]
struct Kind<F: Scalar> {
    dim: usize,
    /// First channels of its copies in the input.
    partners: Vec<usize>,
    /// E_k as (row, column, value).
    terms: Vec<Vec<(usize, usize, F)>>,
    /// Ranges of input channels that belong to other irreps.
    masked: Vec<std::ops::Range<usize>>,
}

impl<F: Scalar> IrrepRows<F> {
    pub(super) fn new(irreps: &Isotypic<F>, columns: usize) -> Self {
        let kind = |(number, irrep): (usize, &Arc<Irrep<F>>)| {
            let partners: Vec<usize> =
                irreps.inputs.iter().filter(|copy| copy.0 == number).map(|&(_, at)| at).collect();
            let masked = gaps(&partners, irrep.dim(), columns);
            Kind { dim: irrep.dim(), terms: terms(irrep), partners, masked }
        };
        let kinds = irreps.kinds.iter().enumerate().map(kind).collect();
        Self { columns, copies: irreps.outputs.iter().map(|&(number, _)| number).collect(), kinds }
    }

    pub(super) fn apply<T: Weight<Field = F>>(&self, weights: &[T], out: &mut [T]) -> Energies {
        let rows = self.copies.iter().map(|&copy| &self.kinds[copy]).zip(self.parts());
        let apply = |_: &mut (), kind: &Kind<F>, from: &[T], to: &mut [T]| kind.apply(from, to, self.columns);
        by_rows(rows, weights.len() >= PARALLEL, (weights, out), || (), apply)
    }

    /// Weights of each output copy.
    pub(super) fn parts(&self) -> impl Iterator<Item = usize> + '_ {
        self.copies.iter().map(|&copy| self.kinds[copy].dim * self.columns)
    }

    /// The rows of one output copy.
    pub(super) fn apply_part<T: Weight<Field = F>>(&self, part: usize, weights: &[T], out: &mut [T]) -> Energies {
        self.kinds[self.copies[part]].apply(weights, out, self.columns)
    }
}

/// The columns outside the blocks.
fn gaps(starts: &[usize], len: usize, columns: usize) -> Vec<std::ops::Range<usize>> {
    let ends = starts.iter().map(|start| start + len);
    let from = std::iter::once(0).chain(ends);
    let to = starts.iter().copied().chain(std::iter::once(columns));
    from.zip(to).map(|(a, b)| a..b).filter(|range| !range.is_empty()).collect()
}

/// The basis E_k of End_G(σ) by the entries that are not zero: one for each channel if σ is of real type.
fn terms<F: Scalar>(irrep: &Irrep<F>) -> Vec<Vec<(usize, usize, F)>> {
    let entries = |basis: &Mat<F>| {
        let all = (0..basis.nrows()).flat_map(|r| (0..basis.ncols()).map(move |c| (r, c, basis[(r, c)])));
        all.filter(|(_, _, value)| *value != F::ZERO).collect()
    };
    irrep.commutant().iter().map(entries).collect()
}

impl<F: Scalar> Kind<F> {
    /// The rows of one output copy, `[d, columns]`.
    fn apply<T: Weight<Field = F>>(&self, weights: &[T], out: &mut [T], columns: usize) -> Energies {
        processor::clear_upper_registers(); // of this thread
        if self.dim == 1 { self.keep(weights, out) } else { self.couple(weights, out, columns) }
    }

    /// A one-dimensional irrep: all that is not masked stays.
    fn keep<T: Weight<Field = F>>(&self, weights: &[T], out: &mut [T]) -> Energies {
        out.copy_from_slice(weights);
        let mut perp = 0.0;
        for range in &self.masked {
            perp += squares::<F, T>(&weights[range.clone()]);
            out[range.clone()].fill(T::default());
        }
        Energies { equivariant: squares::<F, T>(out), perp }
    }

    /// First W − P(W) is written, whose energy is then summed in whole rows whatever the blocks are; then P(W) over it.
    fn couple<T: Weight<Field = F>>(&self, weights: &[T], out: &mut [T], columns: usize) -> Energies {
        let d = self.dim;
        let share = F::from_real(1.0 / d as f64);
        let mut coefficients = Vec::with_capacity(self.partners.len() * self.terms.len());
        let mut equivariant = 0.0;
        for &start in &self.partners {
            for term in &self.terms {
                let mut overlap = F::ZERO;
                for &(r, c, value) in term {
                    overlap += value.conjugate() * weights[r * columns + start + c].lift();
                }
                let coefficient = overlap * share;
                equivariant += coefficient.abs_sq() * d as f64;
                coefficients.push(coefficient);
            }
        }
        out.copy_from_slice(weights);
        self.add(&coefficients, out, columns, -F::ONE);
        let perp = squares::<F, T>(out);
        out.fill(T::default());
        self.add(&coefficients, out, columns, F::ONE);
        Energies { equivariant, perp }
    }

    /// `out ← out + sign · P(W)` from the coefficients of P(W), block by block.
    fn add<T: Weight<Field = F>>(&self, coefficients: &[F], out: &mut [T], columns: usize, sign: F) {
        for (&start, coefficients) in self.partners.iter().zip(coefficients.chunks_exact(self.terms.len())) {
            for (term, &coefficient) in self.terms.iter().zip(coefficients) {
                let coefficient = sign * coefficient;
                for &(r, c, value) in term {
                    let at = &mut out[r * columns + start + c];
                    *at = T::lower(at.lift() + coefficient * value);
                }
            }
        }
    }
}

/// Σ |w|², in lanes: one running sum would wait for itself at every weight.
fn squares<F: Scalar, T: Weight<Field = F>>(weights: &[T]) -> f64 {
    const LANES: usize = 8;
    let mut sums = [0.0; LANES];
    let chunks = weights.chunks_exact(LANES);
    let rest: f64 = chunks.remainder().iter().map(|w| w.lift().abs_sq()).sum();
    for chunk in chunks {
        for (sum, w) in sums.iter_mut().zip(chunk) {
            *sum += w.lift().abs_sq();
        }
    }
    sums.iter().sum::<f64>() + rest
}
