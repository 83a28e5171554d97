//! The chain form tile by tile: E from averages of random tiles.

use std::collections::HashMap;

use faer::{Col, Mat};

use super::super::tiling::{Builder, Tiling, numbers_per_weight, once};
use super::Chain;
use crate::error::{Error, Result};
use crate::random::Random;
use crate::scalar::Scalar;

/// What is left of a sample after the kernels already found: at most this if they span the image, hardly ever below it otherwise.
const NOTHING: f64 = 1e-9;

impl<F: Scalar> Chain<F> {
    /// This projector on real numbers.
    pub(in crate::projection) fn tiling(&self) -> Result<Tiling> {
        let mut builder = Builder::over::<F>((self.len / self.columns / self.points, self.columns, self.points));
        let (inputs, outputs) = (&self.domain, &self.codomain);
        let mut kinds = HashMap::new();
        for &(out, row) in &outputs.placed {
            for &(into, column) in &inputs.placed {
                let make = || builder.basis(outputs.dim(out), inputs.dim(into), &self.tile_basis(out, into));
                let kind = once(&mut kinds, (out, into), make)?;
                builder.place(kind, row, column);
            }
        }
        let tiling = builder.build();
        let (found, expected) = (tiling.rank(), self.rank * numbers_per_weight::<F>());
        if found != expected {
            let reason = format!("tiles of rank {found}, expected {expected}");
            return Err(Error::numerical("tiling of a chain", reason));
        }
        Ok(tiling)
    }

    /// An orthonormal basis of the image of P on one kind of tile: averages of random tiles, each made orthogonal to those before it,
    /// until one brings nothing new.
    fn tile_basis(&self, out: usize, into: usize) -> Mat<F> {
        let n = self.codomain.dim(out) * self.domain.dim(into) * self.points;
        let mut random = Random::at(0, &[out as u64, into as u64]);
        let mut found: Vec<Col<F>> = Vec::new();
        while found.len() < n {
            let mut tile: Vec<F> = random.matrix::<F>(n, 1).col(0).iter().copied().collect();
            let length = tile.iter().map(|w| w.abs_sq()).sum::<f64>().sqrt();
            self.average(&mut tile, out, into);
            let mut rest = Col::from_fn(n, |i| tile[i]);
            // Twice is enough.
            for _ in 0..2 {
                for kernel in &found {
                    let overlap = kernel.adjoint() * &rest;
                    rest -= Col::from_fn(n, |i| kernel[i] * overlap);
                }
            }
            let left = rest.norm_l2();
            if left <= NOTHING * length {
                break;
            }
            found.push(Col::from_fn(n, |i| rest[i] * F::from_real(1.0 / left)));
        }
        Mat::from_fn(n, found.len(), |i, k| found[k][i])
    }
}
