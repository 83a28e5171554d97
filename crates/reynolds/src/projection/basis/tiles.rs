//! The basis form tile by tile: the sampled kernels of every irrep pair of two fields, turned into the fields' own channels.

use std::collections::HashMap;

use faer::Mat;

use super::super::tiling::{Builder, Tiling};
use super::{Basis, Channels, Field};
use crate::error::Result;
use crate::rep::Representation;

impl Basis {
    /// This projector on weights of `numbers` real numbers each.
    pub(in crate::projection) fn tiling(&self, numbers: usize) -> Result<Tiling> {
        let points = self.band.functions().nrows();
        let mut builder = Builder::new((self.codomain.dim, self.domain.dim, points), numbers);
        let sample =
            |row: &Vec<crate::steerable::KernelBasis>| row.iter().map(|kernel| kernel.sampled(&self.band)).collect();
        let sampled: Vec<Vec<Mat<f64>>> = self.kernels.iter().map(sample).collect();
        let mut kinds = HashMap::new();
        for output in &self.codomain.fields {
            for input in &self.domain.fields {
                // Fields are equal if their channels are made of equal irreps in the same way.
                let pair = (output.change, &output.irreps, input.change, &input.irreps);
                let kind = match kinds.get(&pair) {
                    Some(&kind) => kind,
                    None => {
                        let basis = self.tile_basis(&sampled, output, input, points);
                        builder.basis(output.dim, input.dim, &basis)?
                    }
                };
                kinds.insert(pair, kind);
                builder.place(kind, output.offset, input.offset);
            }
        }
        Ok(builder.build())
    }

    /// E `[d_out·d_in·points, rank]` of two fields.
    fn tile_basis(&self, sampled: &[Vec<Mat<f64>>], output: &Field, input: &Field, points: usize) -> Mat<f64> {
        let pairs = output.irreps.iter().flat_map(|a| input.irreps.iter().map(move |b| (a, b)));
        let rank = pairs.clone().map(|((a, _), (b, _))| sampled[*a][*b].ncols()).sum();
        let mut basis = Mat::zeros(output.dim * input.dim * points, rank);
        let mut first = 0;
        for (&(a, row), &(b, column)) in pairs {
            let kernels = &sampled[a][b];
            let (height, width) = (self.codomain.kinds[a].dim(), self.domain.kinds[b].dim());
            for (o, r) in (0..output.dim).flat_map(|o| (0..height).map(move |r| (o, r))) {
                let left = entry(&self.codomain, output, o, row + r);
                for (i, c) in (0..input.dim).flat_map(|i| (0..width).map(move |c| (i, c))) {
                    let factor = left * entry(&self.domain, input, i, column + c);
                    if factor == 0.0 {
                        continue;
                    }
                    let from = kernels.subrows((r * width + c) * points, points);
                    let mut to = basis.submatrix_mut((o * input.dim + i) * points, first, points, kernels.ncols());
                    to += from * faer::Scale(factor);
                }
            }
            first += kernels.ncols();
        }
        basis
    }
}

/// Q[channel, coordinate] of a field's change of basis.
fn entry(channels: &Channels, field: &Field, channel: usize, coordinate: usize) -> f64 {
    match field.change {
        Some(index) => channels.changes[index][(channel, coordinate)],
        None => f64::from(u8::from(channel == coordinate)),
    }
}
