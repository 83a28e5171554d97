//! Blocks behind a change of basis: P(W) = Q′ · blocks(Q′* W Q) · Q*, field pair by field pair.

use faer::Mat;
use rayon::prelude::*;

use super::super::Energies;
use super::project_block;
use crate::rep::{Decomposition, Piece, Representation};
use crate::scalar::{Over, Scalar};

/// From this many weights on the work is shared between threads.
const PARALLEL: usize = 1 << 14;

/// Two decompositions, domain and codomain.
#[derive(Debug, Clone)]
pub(super) struct Turned<F: Scalar> {
    pub(super) domain: Decomposition<F>,
    pub(super) codomain: Decomposition<F>,
}

impl<F: Scalar> Turned<F> {
    pub(super) fn new(domain: Decomposition<F>, codomain: Decomposition<F>) -> Self {
        Self { domain, codomain }
    }

    pub(super) fn apply<T: Over<F>>(&self, mut weights: &[T], mut out: &mut [T]) -> Energies {
        let columns: usize = self.domain.pieces.iter().map(|piece| piece.copies * piece.dim).sum();
        let parallel = weights.len() >= PARALLEL;
        let mut jobs = Vec::new();
        for piece in &self.codomain.pieces {
            for _ in 0..piece.copies {
                let (part, rest) = weights.split_at(piece.dim * columns);
                let (into, left) = out.split_at_mut(piece.dim * columns);
                jobs.push((piece, part, into));
                (weights, out) = (rest, left);
            }
        }
        let apply = |(piece, part, into): (&Piece<F>, &[T], &mut [T])| self.rows(piece, part, into, columns);
        let energies: Vec<Energies> =
            if parallel { jobs.into_par_iter().map(apply).collect() } else { jobs.into_iter().map(apply).collect() };
        energies.into_iter().fold(Energies::default(), |sum, part| sum + part)
    }

    /// The rows of one output field.
    fn rows<T: Over<F>>(&self, output: &Piece<F>, weights: &[T], out: &mut [T], columns: usize) -> Energies {
        let mut energies = Energies::default();
        for input in &self.domain.pieces {
            for copy in 0..input.copies {
                let start = input.offset + copy * input.dim;
                let at = |r: usize, c: usize| r * columns + start + c;
                let tile = Mat::from_fn(output.dim, input.dim, |r, c| weights[at(r, c)].lift());
                let (projected, part) = project_tile(output, input, &tile);
                energies = energies + part;
                for r in 0..output.dim {
                    for c in 0..input.dim {
                        out[at(r, c)] = T::lower(projected[(r, c)]);
                    }
                }
            }
        }
        energies
    }
}

fn project_tile<F: Scalar>(output: &Piece<F>, input: &Piece<F>, tile: &Mat<F>) -> (Mat<F>, Energies) {
    let mut turned = tile.clone();
    if let Some(basis) = &output.basis {
        turned = basis.adjoint() * turned;
    }
    if let Some(basis) = &input.basis {
        turned = turned * basis;
    }
    let mut kept = Mat::<F>::zeros(output.dim, input.dim);
    let mut energies = Energies::default();
    for (a, row) in &output.irreps {
        for (b, column) in &input.irreps {
            let mut block: Vec<F> = Vec::with_capacity(a.dim() * b.dim());
            for r in 0..a.dim() {
                block.extend((0..b.dim()).map(|c| turned[(row + r, column + c)]));
            }
            if a.label() != b.label() {
                energies.perp += block.iter().map(|w| w.abs_sq()).sum::<f64>();
                continue;
            }
            energies = energies + project_block(a, &mut block, b.dim());
            for r in 0..a.dim() {
                for c in 0..b.dim() {
                    kept[(row + r, column + c)] = block[r * b.dim() + c];
                }
            }
        }
    }
    if let Some(basis) = &output.basis {
        kept = basis * kept;
    }
    if let Some(basis) = &input.basis {
        kept = kept * basis.adjoint();
    }
    (kept, energies)
}
