//! Blocks behind a change of basis: P(W) = Q′ · blocks(Q′* W Q) · Q*.

use faer::{Mat, MatRef};

use super::super::Energies;
use super::super::fields::{Fields, by_rows};
use super::super::tiling::{Builder, Tiling, numbers_per_weight};
use super::irrep_rows::IrrepRows;
use crate::error::Result;
use crate::rep::{Decomposition, Piece, Representation};
use crate::scalar::{Scalar, Weight};

/// From this many weights on the work is shared between threads.
const PARALLEL: usize = 1 << 14;

/// The fields of both sides and how they decompose.
#[derive(Debug, Clone)]
pub(super) struct Turned<F: Scalar> {
    domain: Side<F>,
    codomain: Side<F>,
}

#[derive(Debug, Clone)]
struct Side<F: Scalar> {
    channels: usize,
    kinds: Vec<Piece<F>>,
    /// For each field: its kind and its first channel.
    placed: Vec<(usize, usize)>,
}

impl<F: Scalar> Side<F> {
    fn new(fields: Fields<F>, parts: Decomposition<F>) -> Self {
        Self { channels: parts.dim(), kinds: fields.pieces(parts), placed: fields.placed }
    }
}

impl<F: Scalar> Turned<F> {
    /// From the fields of domain and codomain and their decompositions.
    pub(super) fn new(fields: [Fields<F>; 2], [domain, codomain]: [Decomposition<F>; 2]) -> Self {
        let [inputs, outputs] = fields;
        Self { domain: Side::new(inputs, domain), codomain: Side::new(outputs, codomain) }
    }

    pub(super) fn apply<T: Weight<Field = F>>(&self, irreps: &IrrepRows<F>, weights: &[T], out: &mut [T]) -> Energies {
        let mut copies = 0;
        let rows = self.codomain.placed.iter().map(|&(kind, _)| {
            let piece = &self.codomain.kinds[kind];
            let first = copies;
            copies += piece.irreps.len();
            ((piece, first), piece.dim * self.domain.channels)
        });
        let apply = |_: &mut (), (piece, first): (&Piece<F>, usize), from: &[T], to: &mut [T]| {
            self.rows(irreps, piece, first, from, to)
        };
        by_rows(rows, weights.len() >= PARALLEL, (weights, out), || (), apply)
    }

    /// The rows of one output field, whose first irrep has this number.
    fn rows<T: Weight<Field = F>>(
        &self,
        irreps: &IrrepRows<F>,
        output: &Piece<F>,
        first: usize,
        weights: &[T],
        out: &mut [T],
    ) -> Energies {
        let columns = self.domain.channels;
        let turned = self.turn(output, weights.iter().map(|w| w.lift()).collect(), false);
        let mut kept = vec![F::ZERO; turned.len()];
        let mut energies = Energies::default();
        for (number, (irrep, at)) in output.irreps.iter().enumerate() {
            let range = at * columns..(at + irrep.dim()) * columns;
            energies = energies + irreps.apply_part(first + number, &turned[range.clone()], &mut kept[range]);
        }
        out.iter_mut().zip(self.turn(output, kept, true)).for_each(|(to, w)| *to = T::lower(w));
        energies
    }

    /// Q′* w Q of the rows `[dim, columns]` of one output field, or back.
    fn turn(&self, output: &Piece<F>, rows: Vec<F>, back: bool) -> Vec<F> {
        let rows = MatRef::from_row_major_slice(&rows, output.dim, self.domain.channels);
        let mut turned = match &output.basis {
            Some(q) if back => q * rows,
            Some(q) => q.adjoint() * rows,
            None => rows.to_owned(),
        };
        for &(kind, start) in &self.domain.placed {
            let Piece { dim, basis: Some(q), .. } = &self.domain.kinds[kind] else { continue };
            let field = turned.subcols(start, *dim);
            let field = if back { field * q.adjoint() } else { field * q };
            turned.subcols_mut(start, *dim).copy_from(&field);
        }
        turned.row_iter().flat_map(|row| row.iter().copied()).collect()
    }

    /// This projector tile by tile.
    pub(super) fn tiling(&self) -> Result<Tiling> {
        let (outputs, inputs) = (&self.codomain, &self.domain);
        let basis = |out: usize, into: usize| turned_basis(&outputs.kinds[out], &inputs.kinds[into]);
        Builder::new((outputs.channels, inputs.channels, 1), numbers_per_weight::<F>()).pairs(
            &outputs.placed,
            &inputs.placed,
            |out| outputs.kinds[out].dim,
            basis,
        )
    }
}

/// An orthonormal basis of the equivariant maps between two fields, down the columns: Q′_a E_k Q_b* for every pair of equal irreps a, b
/// and every E_k of their commutant.
fn turned_basis<F: Scalar>(output: &Piece<F>, input: &Piece<F>) -> Mat<F> {
    let columns_of = |piece: &Piece<F>, start: usize, d: usize| match &piece.basis {
        Some(basis) => basis.subcols(start, d).to_owned(),
        None => Mat::from_fn(piece.dim, d, |r, c| if r == start + c { F::ONE } else { F::ZERO }),
    };
    let mut kernels: Vec<Mat<F>> = Vec::new();
    for (a, row) in &output.irreps {
        for (b, column) in input.irreps.iter().filter(|(b, _)| a.label() == b.label()) {
            let d = b.dim();
            let (left, right) = (columns_of(output, *row, d), columns_of(input, *column, d));
            kernels.extend(a.commutant().iter().map(|basis| &left * basis * right.adjoint()));
        }
    }
    let lengths: Vec<F> = kernels.iter().map(|kernel| F::from_real(1.0 / kernel.norm_l2())).collect();
    let n = output.dim * input.dim;
    Mat::from_fn(n, kernels.len(), |at, k| kernels[k][(at / input.dim, at % input.dim)] * lengths[k])
}
