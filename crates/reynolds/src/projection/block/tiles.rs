//! The block form tile by tile: E from the commutants of the irreps.

use std::collections::HashMap;

use faer::Mat;

use super::super::tiling::{Builder, Tiling, once};
use super::irrep_rows::IrrepRows;
use super::turned::Turned;
use super::{Blocks, Form};
use crate::error::Result;
use crate::irrep::Irrep;
use crate::rep::{Piece, Representation};
use crate::scalar::Scalar;

impl<F: Scalar> Blocks<F> {
    /// This projector on real numbers.
    pub(in crate::projection) fn tiling(&self) -> Result<Tiling> {
        match &self.form {
            Form::Irreps(rows) => rows.tiling(self.len),
            Form::Turned(turned) => turned.tiling(),
        }
    }
}

impl<F: Scalar> IrrepRows<F> {
    fn tiling(&self, len: usize) -> Result<Tiling> {
        let mut builder = Builder::over::<F>((len / self.columns, self.columns, 1));
        let (mut coupled, mut masked) = (HashMap::new(), HashMap::new());
        let mut row = 0;
        for &number in &self.copies {
            let kind = &self.kinds[number];
            let d = kind.irrep.dim();
            for &column in &kind.partners {
                let tile = once(&mut coupled, number, || builder.basis(d, d, &commutant(&kind.irrep)))?;
                builder.place(tile, row, column);
            }
            for range in &kind.masked {
                let zero = || builder.basis(d, range.len(), &Mat::<F>::zeros(d * range.len(), 0));
                let tile = once(&mut masked, (d, range.len()), zero)?;
                builder.place(tile, row, range.start);
            }
            row += d;
        }
        Ok(builder.build())
    }
}

/// The orthonormal basis of End_G, `[d·d, 1 | 2 | 4]`.
fn commutant<F: Scalar>(irrep: &Irrep<F>) -> Mat<F> {
    let (d, basis) = (irrep.dim(), irrep.commutant());
    let share = F::from_real(1.0 / (d as f64).sqrt());
    Mat::from_fn(d * d, basis.len(), |at, k| basis[k][(at / d, at % d)] * share)
}

impl<F: Scalar> Turned<F> {
    fn tiling(&self) -> Result<Tiling> {
        let mut builder = Builder::over::<F>((self.codomain.dim(), self.domain.dim(), 1));
        for output in &self.codomain.pieces {
            for input in &self.domain.pieces {
                let kind = builder.basis(output.dim, input.dim, &turned_basis(output, input))?;
                for row in output.offsets() {
                    input.offsets().for_each(|column| builder.place(kind, row, column));
                }
            }
        }
        Ok(builder.build())
    }
}

/// Q′_a E_k Q_b* for every pair of equal irreps a, b and every E_k of their commutant, down the columns.
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
