//! Blocks whose channels already are irreps: masked row by row.

use std::sync::Arc;

use rayon::prelude::*;

use super::super::{Energies, processor};
use super::project_block;
use crate::irrep::Irrep;
use crate::rep::{Decomposition, Representation};
use crate::scalar::{Over, Scalar};

/// From this many weights on the work is shared between threads.
const PARALLEL: usize = 1 << 18;

/// Output irreps in channel order, and for each irrep the input channels it may be coupled to.
#[derive(Debug, Clone)]
pub(super) struct IrrepRows<F: Scalar> {
    pub(super) columns: usize,
    /// Number of the irrep of each output copy.
    pub(super) copies: Vec<usize>,
    pub(super) kinds: Vec<Kind<F>>,
}

#[derive(Debug, Clone)]
pub(super) struct Kind<F: Scalar> {
    pub(super) irrep: Arc<Irrep<F>>,
    /// First channels of its copies in the input.
    pub(super) partners: Vec<usize>,
    /// Ranges of input channels that belong to other irreps.
    pub(super) masked: Vec<std::ops::Range<usize>>,
}

impl<F: Scalar> IrrepRows<F> {
    pub(super) fn new(domain: &Decomposition<F>, codomain: &Decomposition<F>, labels: &[String]) -> Self {
        let columns = domain.irreps().map(|(irrep, _)| irrep.dim()).sum();
        let number = |irrep: &Irrep<F>| {
            let label = irrep.label();
            labels.iter().position(|known| *known == label).expect("every irrep was numbered")
        };
        let first = |wanted: usize| {
            let all = codomain.irreps().chain(domain.irreps());
            let found = all.map(|(irrep, _)| irrep).find(|irrep| number(irrep) == wanted);
            found.expect("every number stands for an irrep").clone()
        };
        let inputs: Vec<(usize, usize)> = domain.irreps().map(|(irrep, at)| (number(irrep), at)).collect();
        let kind = |wanted: usize| {
            let irrep = first(wanted);
            let partners: Vec<usize> = inputs.iter().filter(|(n, _)| *n == wanted).map(|&(_, at)| at).collect();
            let masked = gaps(&partners, irrep.dim(), columns);
            Kind { irrep, partners, masked }
        };
        let kinds = (0..labels.len()).map(kind).collect();
        Self { columns, copies: codomain.irreps().map(|(irrep, _)| number(irrep)).collect(), kinds }
    }

    pub(super) fn apply<T: Over<F>>(&self, mut weights: &[T], mut out: &mut [T]) -> Energies {
        let parallel = weights.len() >= PARALLEL;
        let mut jobs = Vec::with_capacity(self.copies.len());
        for &copy in &self.copies {
            let size = self.kinds[copy].irrep.dim() * self.columns;
            let (part, rest) = weights.split_at(size);
            let (into, left) = out.split_at_mut(size);
            jobs.push((&self.kinds[copy], part, into));
            (weights, out) = (rest, left);
        }
        let apply = |(kind, part, into): (&Kind<F>, &[T], &mut [T])| kind.apply(part, into, self.columns);
        let energies: Vec<Energies> =
            if parallel { jobs.into_par_iter().map(apply).collect() } else { jobs.into_iter().map(apply).collect() };
        energies.into_iter().fold(Energies::default(), |sum, part| sum + part)
    }
}

/// What the blocks leave free of 0..columns.
fn gaps(starts: &[usize], len: usize, columns: usize) -> Vec<std::ops::Range<usize>> {
    let ends = starts.iter().map(|start| start + len);
    let from = std::iter::once(0).chain(ends);
    let to = starts.iter().copied().chain(std::iter::once(columns));
    from.zip(to).map(|(a, b)| a..b).filter(|range| !range.is_empty()).collect()
}

impl<F: Scalar> Kind<F> {
    /// The rows of one output copy, `[d, columns]`.
    fn apply<T: Over<F>>(&self, weights: &[T], out: &mut [T], columns: usize) -> Energies {
        processor::clear_upper_registers(); // of this thread
        let d = self.irrep.dim();
        let mut energies = Energies::default();
        for row in 0..d {
            for range in &self.masked {
                let (a, b) = (row * columns + range.start, row * columns + range.end);
                energies.perp += weights[a..b].iter().map(|w| w.lift().abs_sq()).sum::<f64>();
                out[a..b].fill(T::default());
            }
        }
        let mut block = vec![F::ZERO; d * d];
        for &start in &self.partners {
            if d == 1 {
                out[start] = weights[start];
                energies.equivariant += weights[start].lift().abs_sq();
                continue;
            }
            for r in 0..d {
                for c in 0..d {
                    block[r * d + c] = weights[r * columns + start + c].lift();
                }
            }
            energies = energies + project_block(&self.irrep, &mut block, d);
            for r in 0..d {
                for c in 0..d {
                    out[r * columns + start + c] = T::lower(block[r * d + c]);
                }
            }
        }
        energies
    }
}
