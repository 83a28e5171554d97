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
    /// The kinds of output fields.
    outputs: Vec<Output>,
    /// Changes of basis that are a step of their own, with the first channels of their input fields.
    turned: Vec<(Factor, Vec<usize>)>,
    inputs: Vec<Input>,
    /// Channels of each output irrep.
    heights: Vec<usize>,
}

/// A matrix and its transpose.
#[derive(Debug, Clone)]
struct Factor {
    matrix: Rounded,
    transpose: Rounded,
}

#[derive(Debug, Clone)]
struct Output {
    dim: usize,
    change: Option<Factor>,
    irreps: Vec<(usize, usize)>,
}

/// Equal inputs, each an irrep or a whole field.
#[derive(Debug, Clone)]
struct Input {
    dim: usize,
    /// First channel of each copy.
    copies: Vec<usize>,
    /// E `[d_out·dim·functions, rank]` for each output irrep.
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
        let (mut inputs, mut turned) = (Vec::new(), Vec::new());
        for (kind, field) in domain.kinds.iter().enumerate() {
            let starts = domain.placed.iter().filter(|placed| placed.0 == kind).map(|placed| placed.1).collect();
            if folded(field) {
                // To one output irrep, in the field's own channels.
                let kernel = |number: usize| {
                    let dim = codomain.irreps[number].dim();
                    let irrep = Field { dim, change: None, irreps: vec![(number, 0)] };
                    let columns = |a: usize, b: usize| &kernels[a][b].columns;
                    Factor::from(coupling((codomain, &irrep), (domain, field), functions, columns))
                };
                inputs.push(Input {
                    dim: field.dim,
                    copies: starts,
                    kernels: (0..kernels.len()).map(kernel).collect(),
                });
            } else if let Some(change) = &field.change {
                turned.push((Factor::from(change.clone()), starts));
            }
        }
        for (number, irrep) in domain.irreps.iter().enumerate() {
            let copies = domain.copies(number, |field| !folded(field));
            if !copies.is_empty() {
                let kernels = kernels.iter().map(|row| Factor::from(row[number].columns.clone())).collect();
                inputs.push(Input { dim: irrep.dim(), copies, kernels });
            }
        }
        let output = |field: &Field| Output {
            dim: field.dim,
            change: field.change.clone().map(Factor::from),
            irreps: field.irreps.clone(),
        };
        Self {
            functions: Factor::from(band.functions.clone()),
            width: domain.dim,
            outputs: codomain.kinds.iter().map(output).collect(),
            turned,
            inputs,
            heights: codomain.irreps.iter().map(|irrep| irrep.dim()).collect(),
        }
    }

    /// P on the rows of one output field, `[field, in, points]`; a complex weight is projected like two real ones.
    pub(super) fn apply<T: Weight>(
        &self,
        kind: usize,
        weights: &[T],
        out: &mut [T],
        scratch: &mut Scratch<T::Real>,
    ) -> Energies {
        let field = &self.outputs[kind];
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
    fn project<R: Real>(&self, field: &Output, weights: &[R], out: &mut [R], scratch: &mut Scratch<R>) -> f64 {
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
    fn change_basis<R: Real>(&self, field: &Output, functions: usize, back: bool, scratch: &mut Scratch<R>) {
        let width = functions * self.width;
        let Scratch { coordinates, turned, .. } = scratch;
        for (change, starts) in &self.turned {
            let dim = R::matrix(&change.matrix).nrows();
            for row in coordinates[..field.dim * width].chunks_exact_mut(width) {
                for start in starts {
                    let block = &mut row[functions * start..functions * (start + dim)];
                    times(block, functions, change, back, turned);
                    block.copy_from_slice(&turned[..functions * dim]);
                }
            }
        }
        if let Some(change) = &field.change {
            times(&coordinates[..field.dim * width], width, change, back, turned);
            std::mem::swap(coordinates, turned);
        }
    }

    /// Replaces every block by its projection E Eᵀ; returns the sum of squared coefficients.
    fn couple<R: Real>(&self, field: &Output, functions: usize, scratch: &mut Scratch<R>) -> f64 {
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
