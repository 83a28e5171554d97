//! P of band-limited kernels as it runs: a few products for each output field, in the precision of the weights.
//!
//! ```text
//! w ──Hᵀ──▶ coordinates ──Q′ᵀ──▶ rows of output irreps ──E Eᵀ, all copies of an input at once──▶ ──Q′──▶ ──H──▶ P(w)
//! ```
//!
//! The change of basis Q of a small input field is multiplied into E beforehand; of a large one it is a step of its own.

use faer::linalg::matmul::matmul;
use faer::{Accum, Mat, MatMut, MatRef, Par};

use super::super::{Energies, processor};
use super::tiles::coupling;
use super::{Channels, Field};
use crate::rep::Representation;
use crate::scalar::{Real, Rounded, Weight};
use crate::steerable::{Band, KernelBasis};

/// Channels of an input field up to which its change of basis is multiplied into the kernels.
const FOLDED: usize = 8;

/// Matrices as they are multiplied with.
#[derive(Debug, Clone)]
pub(super) struct Passes {
    functions: Factor,
    /// Channels of the whole input.
    width: usize,
    /// Of output fields.
    changes: Vec<Factor>,
    /// Input fields whose change of basis is a step of its own.
    turned: Vec<Turned>,
    inputs: Vec<Input>,
    /// Channels of each kind of output irrep.
    heights: Vec<usize>,
}

/// A matrix and its transpose.
#[derive(Debug, Clone)]
struct Factor {
    matrix: Rounded,
    transpose: Rounded,
}

#[derive(Debug, Clone)]
struct Turned {
    offset: usize,
    change: Factor,
}

/// Equal inputs, each an irrep or a whole field.
#[derive(Debug, Clone)]
struct Input {
    dim: usize,
    /// First channel of each copy.
    copies: Vec<usize>,
    /// E `[d_out·dim·functions, rank]` for each kind of output irrep.
    kernels: Vec<Factor>,
}

/// Memory that is used from field to field: to ask for it at every product takes as long as a small product.
#[derive(Debug, Default)]
pub(super) struct Scratch<R> {
    coordinates: Vec<R>,
    turned: Vec<R>,
    blocks: Vec<R>,
    coefficients: Vec<R>,
}

impl Passes {
    pub(super) fn new(band: &Band, codomain: &Channels, domain: &Channels, kernels: &[Vec<KernelBasis>]) -> Self {
        let functions = band.functions.ncols();
        let folded = |field: &Field| field.change.is_some() && field.dim <= FOLDED;
        let mut inputs: Vec<Input> = Vec::new();
        let mut seen: Vec<&Field> = Vec::new();
        for field in domain.fields.iter().filter(|field| folded(field)) {
            let known = seen.iter().position(|other| other.change == field.change && other.irreps == field.irreps);
            match known {
                Some(known) => inputs[known].copies.push(field.offset),
                None => {
                    // To one output irrep, in the field's own channels.
                    let kernel = |kind: usize| {
                        let dim = codomain.kinds[kind].dim();
                        let irrep = Field { offset: 0, dim, change: None, irreps: vec![(kind, 0)] };
                        let columns = |a: usize, b: usize| &kernels[a][b].columns;
                        Factor::from(coupling((codomain, &irrep), (domain, field), functions, columns))
                    };
                    let kernels = (0..kernels.len()).map(kernel).collect();
                    inputs.push(Input { dim: field.dim, copies: vec![field.offset], kernels });
                    seen.push(field);
                }
            }
        }
        for (kind, irrep) in domain.kinds.iter().enumerate() {
            let fields = domain.fields.iter().filter(|field| !folded(field));
            let places =
                fields.flat_map(|field| field.irreps.iter().map(move |&(other, at)| (other, field.offset + at)));
            let copies: Vec<usize> = places.filter(|&(other, _)| other == kind).map(|(_, at)| at).collect();
            if !copies.is_empty() {
                let kernels = kernels.iter().map(|row| Factor::from(row[kind].columns.clone())).collect();
                inputs.push(Input { dim: irrep.dim(), copies, kernels });
            }
        }
        let turned = domain.fields.iter().filter(|field| !folded(field)).filter_map(|field| {
            let change = Factor::from(domain.changes[field.change?].clone());
            Some(Turned { offset: field.offset, change })
        });
        Self {
            functions: Factor::from(band.functions.clone()),
            width: domain.dim,
            changes: codomain.changes.iter().cloned().map(Factor::from).collect(),
            turned: turned.collect(),
            inputs,
            heights: codomain.kinds.iter().map(|irrep| irrep.dim()).collect(),
        }
    }

    /// P on the rows of one output field, `[field, in, points]`; a complex weight is projected like two real ones.
    pub(super) fn apply<T: Weight>(
        &self,
        field: &Field,
        weights: &[T],
        out: &mut [T],
        scratch: &mut Scratch<T::Real>,
    ) -> Energies {
        let equivariant = match (T::as_real(weights), T::as_real_mut(out)) {
            (Some(weights), Some(out)) => self.project(field, weights, out, scratch),
            _ => {
                let mut projected = [vec![T::Real::default(); weights.len()], vec![T::Real::default(); weights.len()]];
                let mut energy = 0.0;
                for (part, projected) in projected.iter_mut().enumerate() {
                    let weights: Vec<T::Real> = weights.iter().map(|w| w.real_parts()[part]).collect();
                    energy += self.project(field, &weights, projected, scratch);
                }
                for ((o, &re), &im) in out.iter_mut().zip(&projected[0]).zip(&projected[1]) {
                    *o = T::from_real_parts([re, im]);
                }
                energy
            }
        };
        Energies { equivariant, perp: difference(weights, out) }
    }

    /// P on the rows of one output field; returns ‖P(w)‖².
    fn project<R: Real>(&self, field: &Field, weights: &[R], out: &mut [R], scratch: &mut Scratch<R>) -> f64 {
        let (h, transpose) = (R::matrix(&self.functions.matrix), R::matrix(&self.functions.transpose));
        let (points, functions) = (h.nrows(), h.ncols());
        let rows = field.dim * self.width;
        let seen = MatRef::from_column_major_slice(weights, points, rows);
        multiply(matrix_in(&mut scratch.coordinates, functions, rows), transpose, seen);
        self.change_basis(field, functions, false, scratch);
        let energy = self.couple(field, functions, scratch);
        self.change_basis(field, functions, true, scratch);
        let kept = MatRef::from_column_major_slice(&scratch.coordinates[..functions * rows], functions, rows);
        multiply(MatMut::from_column_major_slice_mut(out, points, rows), h, kept);
        processor::clear_upper_registers();
        energy
    }

    /// w ← Q′ᵀ w Q, or back, on coordinates `[field, in, functions]`.
    fn change_basis<R: Real>(&self, field: &Field, functions: usize, back: bool, scratch: &mut Scratch<R>) {
        let width = functions * self.width;
        let Scratch { coordinates, turned, .. } = scratch;
        for Turned { offset, change } in &self.turned {
            let dim = R::matrix(&change.matrix).nrows();
            for row in coordinates[..field.dim * width].chunks_exact_mut(width) {
                let block = &mut row[functions * offset..functions * (offset + dim)];
                times(block, functions, change, back, turned);
                block.copy_from_slice(&turned[..functions * dim]);
            }
        }
        if let Some(index) = field.change {
            times(&coordinates[..field.dim * width], width, &self.changes[index], back, turned);
            std::mem::swap(coordinates, turned);
        }
    }

    /// Replaces every block by its projection E Eᵀ; returns the sum of squared coefficients.
    fn couple<R: Real>(&self, field: &Field, functions: usize, scratch: &mut Scratch<R>) -> f64 {
        let width = functions * self.width;
        let mut energy = 0.0;
        let Scratch { coordinates, blocks, coefficients, .. } = scratch;
        for &(kind, start) in &field.irreps {
            let height = self.heights[kind];
            let rows = &mut coordinates[width * start..width * (start + height)];
            for input in &self.inputs {
                let (run, count) = (functions * input.dim, input.copies.len());
                let places = input.copies.iter().flat_map(|at| (0..height).map(move |o| width * o + functions * at));
                blocks.clear();
                places.clone().for_each(|at| blocks.extend_from_slice(&rows[at..at + run]));
                let Factor { matrix, transpose } = &input.kernels[kind];
                let (matrix, transpose) = (R::matrix(matrix), R::matrix(transpose));
                let seen = MatRef::from_column_major_slice(blocks, run * height, count);
                multiply(matrix_in(coefficients, matrix.ncols(), count), transpose, seen);
                let coefficients = &coefficients[..matrix.ncols() * count];
                energy += coefficients.iter().map(|a| a.to_f64() * a.to_f64()).sum::<f64>();
                let kept = MatMut::from_column_major_slice_mut(blocks, run * height, count);
                multiply(kept, matrix, MatRef::from_column_major_slice(coefficients, matrix.ncols(), count));
                for (at, block) in places.zip(blocks.chunks_exact(run)) {
                    rows[at..at + run].copy_from_slice(block);
                }
            }
        }
        energy
    }
}

impl From<Mat<f64>> for Factor {
    fn from(matrix: Mat<f64>) -> Self {
        Self { transpose: matrix.transpose().to_owned().into(), matrix: matrix.into() }
    }
}

/// Weights after which a sum leaves their precision.
const SUMMED: usize = 1 << 10;
/// Sums side by side: one running sum would wait for itself at every weight.
const LANES: usize = 16;

/// ‖w − p‖².
fn difference<T: Weight>(weights: &[T], projected: &[T]) -> f64 {
    let parts = weights.chunks(SUMMED).zip(projected.chunks(SUMMED));
    let sum = |(weights, projected): (&[T], &[T])| {
        let mut sums = [T::Real::default(); LANES];
        let (whole, projected_whole) = (weights.chunks_exact(LANES), projected.chunks_exact(LANES));
        let rest = whole.remainder().iter().zip(projected_whole.remainder());
        let rest: f64 = rest.map(|(&w, &p)| (w - p).energy().to_f64()).sum();
        for (weights, projected) in whole.zip(projected_whole) {
            for ((sum, &w), &p) in sums.iter_mut().zip(weights).zip(projected) {
                *sum += (w - p).energy();
            }
        }
        rest + sums.iter().map(|sum| sum.to_f64()).sum::<f64>()
    };
    parts.map(sum).sum()
}

/// `to ← a b`, on this thread.
fn multiply<R: Real>(to: MatMut<'_, R>, a: MatRef<'_, R>, b: MatRef<'_, R>) {
    matmul(to, Accum::Replace, a, b, R::from_bool(true), Par::Seq);
}

/// Room for a column-major matrix, whatever is in it.
fn matrix_in<R: Real>(memory: &mut Vec<R>, rows: usize, columns: usize) -> MatMut<'_, R> {
    let len = rows * columns;
    if memory.len() < len {
        memory.resize(len, R::default());
    }
    MatMut::from_column_major_slice_mut(&mut memory[..len], rows, columns)
}

/// `to ← block · Q`, or `· Qᵀ` on the way back; `block` is column-major `[rows, dim Q]`.
fn times<R: Real>(block: &[R], rows: usize, change: &Factor, back: bool, to: &mut Vec<R>) {
    let q = R::matrix(if back { &change.transpose } else { &change.matrix });
    multiply(matrix_in(to, rows, q.nrows()), MatRef::from_column_major_slice(block, rows, q.nrows()), q);
}

#[cfg(test)]
mod tests {
    use faer::c32;

    use crate::group;
    use crate::projection::{Basis, Dimensions, Projector};
    use crate::random::Random;
    use crate::rep;
    use crate::steerable::RingsConfig;

    #[test]
    fn every_precision_and_part_is_projected_alike() {
        // C₄ is multiplied into the kernels, the 24 channels of O are turned by themselves, SO(2) needs no change of basis.
        for (name, fields, dims) in [("C4", "2 regular", 2), ("O", "1 regular", 3), ("SO2", "2x(0..2)", 2)] {
            let group = group::parse(name).unwrap();
            let fields = rep::parse_fields(&group, fields).unwrap();
            let basis = Basis::derive(&fields, &fields, 3, dims, &RingsConfig::default()).unwrap();
            let mut random = Random::new(7);
            let single: Vec<f32> = (0..basis.len()).map(|_| random.normal() as f32).collect();
            let double: Vec<f64> = single.iter().map(|&w| f64::from(w)).collect();
            let complex: Vec<c32> = single.iter().map(|&w| c32::new(w, -2.0 * w)).collect();
            let expected = basis.project(&double).unwrap();
            let projected = basis.project(&single).unwrap();
            let parts = basis.project(&complex).unwrap();
            for ((e, p), z) in expected.iter().zip(projected).zip(parts) {
                let far = |value: f32| (f64::from(value) - e).abs() > 64.0 * f64::from(f32::EPSILON);
                assert!(!far(p) && !far(z.re) && !far(z.im / -2.0), "{name}: {e} {p} {z:?}");
            }
            let (single, double) = (basis.energies(&single).unwrap(), basis.energies(&double).unwrap());
            assert!((single.equivariant / double.equivariant - 1.0).abs() < 1e-5, "{name}");
            assert!((single.perp / double.perp - 1.0).abs() < 1e-5, "{name}");
        }
    }
}
