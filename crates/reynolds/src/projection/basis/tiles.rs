//! The basis form tile by tile: the kernels of every irrep pair of two fields, in the fields' own channels and the coordinates of scalar
//! functions.

use faer::Mat;
use faer::linalg::solvers::DenseSolveCore;

use super::super::tiling::{Builder, Tiling};
use super::{Basis, Channels, Field};
use crate::error::Result;
use crate::rep::Representation;
use crate::steerable::KernelBasis;

/// The largest condition, about, of sampled harmonics whose coordinates are used.
const MAX_CONDITION: f64 = 10.0;
/// Entries of a coupling below this, beside the largest, are rounding.
const ROUNDING: f64 = 1e-13;

impl Basis {
    /// This projector on weights of `numbers` real numbers each.
    pub(in crate::projection) fn tiling(&self, numbers: usize) -> Result<Tiling> {
        let (functions, couplings) = self.couplings();
        let count = functions.ncols();
        let mut builder = Builder::new((self.codomain.dim, self.domain.dim, count), numbers);
        // A kernel of one point is its own coordinate.
        if functions.nrows() > 1 {
            builder.compress(&functions);
        }
        let (outputs, inputs) = (&self.codomain, &self.domain);
        let basis = |out: usize, into: usize| {
            let fields = ((outputs, &outputs.kinds[out]), (inputs, &inputs.kinds[into]));
            coupling(fields.0, fields.1, count, |a, b| &couplings[a][b])
        };
        builder.pairs(&outputs.placed, &inputs.placed, |out| outputs.kinds[out].dim, basis)
    }

    /// F `[points, functions]` and the kernels of each irrep pair in its coordinates, `[d_out·d_in·functions, rank]`. The sampled harmonics if
    /// they are far enough from dependent: kernels of one degree and ring are then coupled to no other functions. Else orthonormal functions.
    fn couplings(&self) -> (Mat<f64>, Vec<Vec<Mat<f64>>>) {
        let (h, r) = (&self.band.functions, &self.band.coordinates);
        let inverse = (r.nrows() == r.ncols()).then(|| r.partial_piv_lu().inverse());
        let inverse = inverse.filter(|inverse| inverse.norm_l2() * r.norm_l2() <= MAX_CONDITION * r.ncols() as f64);
        let Some(inverse) = inverse else {
            let columns = |row: &Vec<KernelBasis>| row.iter().map(|kernel| kernel.columns.clone()).collect();
            return (h.clone(), self.kernels.iter().map(columns).collect());
        };
        let turned = |kernel: &KernelBasis| {
            let mut turned = Mat::zeros(kernel.columns.nrows(), kernel.columns.ncols());
            for first in (0..turned.nrows()).step_by(inverse.nrows()) {
                let part = &inverse * kernel.columns.subrows(first, inverse.nrows());
                turned.subrows_mut(first, inverse.nrows()).copy_from(&part);
            }
            let rounding = ROUNDING * turned.norm_max();
            let clean = |x: f64| if x.abs() <= rounding { 0.0 } else { x };
            Mat::from_fn(turned.nrows(), turned.ncols(), |i, j| clean(turned[(i, j)]))
        };
        (h * r, self.kernels.iter().map(|row| row.iter().map(turned).collect()).collect())
    }
}

/// The kernels from an input field to an output field, `[d_out·d_in·functions, rank]`, from those of each pair of their irreps.
pub(super) fn coupling<'a>(
    (codomain, output): (&Channels, &Field),
    (domain, input): (&Channels, &Field),
    functions: usize,
    kernels: impl Fn(usize, usize) -> &'a Mat<f64>,
) -> Mat<f64> {
    let pairs = output.irreps.iter().flat_map(|a| input.irreps.iter().map(move |b| (a, b)));
    let rank = pairs.clone().map(|((a, _), (b, _))| kernels(*a, *b).ncols()).sum();
    let mut basis = Mat::zeros(output.dim * input.dim * functions, rank);
    let mut first = 0;
    for (&(a, row), &(b, column)) in pairs {
        let kernels = kernels(a, b);
        let (height, width) = (codomain.irreps[a].dim(), domain.irreps[b].dim());
        for (o, r) in (0..output.dim).flat_map(|o| (0..height).map(move |r| (o, r))) {
            let left = entry(output, o, row + r);
            for (i, c) in (0..input.dim).flat_map(|i| (0..width).map(move |c| (i, c))) {
                let factor = left * entry(input, i, column + c);
                if factor == 0.0 {
                    continue;
                }
                let from = kernels.subrows((r * width + c) * functions, functions);
                let mut to = basis.submatrix_mut((o * input.dim + i) * functions, first, functions, kernels.ncols());
                to += from * faer::Scale(factor);
            }
        }
        first += kernels.ncols();
    }
    basis
}

/// Q[channel, coordinate] of a field's change of basis.
fn entry(field: &Field, channel: usize, coordinate: usize) -> f64 {
    field.change.as_ref().map_or(f64::from(u8::from(channel == coordinate)), |q| q[(channel, coordinate)])
}
