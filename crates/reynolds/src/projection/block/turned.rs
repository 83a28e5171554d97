//! Blocks behind a change of basis: P(W) = Q′ · blocks(Q′* W Q) · Q*, field pair by field pair.

use faer::Mat;

use super::super::Energies;
use super::super::fields::by_rows;
use crate::rep::{Decomposition, Piece, Representation};
use crate::scalar::{Scalar, Weight};

/// From this many weights on the work is shared between threads.
const PARALLEL: usize = 1 << 14;

/// Two decompositions, domain and codomain.
#[derive(Debug, Clone)]
pub(super) struct Turned<F: Scalar> {
    pub(super) domain: Decomposition<F>,
    pub(super) codomain: Decomposition<F>,
}

impl<F: Scalar> Turned<F> {
    pub(super) fn apply<T: Weight<Field = F>>(&self, weights: &[T], out: &mut [T]) -> Energies {
        let columns = self.domain.dim();
        let fields = self.codomain.pieces.iter().flat_map(|piece| std::iter::repeat_n(piece, piece.copies));
        let rows = fields.map(|piece| (piece, piece.dim * columns));
        let apply = |_: &mut (), piece: &Piece<F>, from: &[T], to: &mut [T]| self.rows(piece, from, to, columns);
        by_rows(rows, weights.len() >= PARALLEL, (weights, out), || (), apply)
    }

    /// The rows of one output field.
    fn rows<T: Weight<Field = F>>(&self, output: &Piece<F>, weights: &[T], out: &mut [T], columns: usize) -> Energies {
        let mut energies = Energies::default();
        for input in &self.domain.pieces {
            for start in input.offsets() {
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
            let block = turned.submatrix(*row, *column, a.dim(), b.dim());
            let mut kept = kept.submatrix_mut(*row, *column, a.dim(), b.dim());
            let places = || (0..a.dim()).flat_map(|r| (0..b.dim()).map(move |c| (r, c)));
            for basis in a.commutant().iter().filter(|_| a.label() == b.label()) {
                let mut overlap = F::ZERO;
                places().for_each(|at| overlap += basis[at].conjugate() * block[at]);
                let coefficient = overlap * F::from_real(1.0 / a.dim() as f64);
                places().for_each(|at| kept[at] += coefficient * basis[at]);
            }
            for at in places() {
                energies.equivariant += kept[at].abs_sq();
                energies.perp += (block[at] - kept[at]).abs_sq();
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
