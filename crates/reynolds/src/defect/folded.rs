//! A dense map cut into blocks by the kinds of its summands, with equal copies folded together.
//!
//! ```text
//! ⟨A(g)D, D⟩ = Σ over kinds (a, b) and copies c of ⟨π_a(g) D_c π_b(g)*, D_c⟩
//! ```
//!
//! Only Σ_c vec(D_c) vec(D_c)* enters, so more than d_a·d_b copies are replaced by the d_a·d_b rows of a triangular factor: a
//! thousand channels cost no more per group element than a few.

use faer::linalg::matmul::matmul;
use faer::{Accum, Mat, MatMut, MatRef, Par};

use crate::group::Element;
use crate::projection::{Fields, KernelSpace};
use crate::rep::Rep;
use crate::scalar::Scalar;

/// All copies of one pair of kinds: entry (i, j) of copy k lies at `start + i + m·(k + copies·j)`, m rows, n columns. So the same
/// numbers are a matrix `[m, copies·n]` and a matrix `[m·copies, n]`, which the two sides act on.
struct Block {
    row: usize,
    column: usize,
    copies: usize,
    start: usize,
}

/// The blocks of D.
pub(super) struct Folded<F: Scalar> {
    /// The kinds of each side.
    codomain: Vec<Rep<F>>,
    domain: Vec<Rep<F>>,
    blocks: Vec<Block>,
    /// The folded D itself.
    pub(super) data: Vec<F>,
}

/// π′(g) per kind of the codomain and π(g)* per kind of the domain.
pub(super) struct Motion<F: Scalar> {
    left: Vec<Mat<F>>,
    right: Vec<Mat<F>>,
}

impl<F: Scalar> Folded<F> {
    /// Folds a map of the length of `space`, which has one grid point.
    pub(super) fn new(space: &KernelSpace<F>, map: &[F]) -> Self {
        let (codomain, domain) = (Fields::of(space.codomain()), Fields::of(space.domain()));
        let columns = space.domain().dim();
        let (mut blocks, mut data) = (Vec::new(), Vec::new());
        for (row, a) in codomain.kinds.iter().enumerate() {
            for (column, b) in domain.kinds.iter().enumerate() {
                let (m, n) = (a.dim(), b.dim());
                let (outs, ins) = (codomain.starts(row), || domain.starts(column));
                let pairs: Vec<(usize, usize)> = outs.flat_map(|o| ins().map(move |i| (o, i))).collect();
                // One copy a row, entry (i, j) at column i·n + j.
                let mut stack = Mat::from_fn(pairs.len(), m * n, |k, at| {
                    map[(pairs[k].0 + at / n) * columns + pairs[k].1 + at % n]
                });
                if pairs.len() > m * n {
                    stack = stack.qr().thin_R().to_owned();
                }
                blocks.push(Block { row, column, copies: stack.nrows(), start: data.len() });
                for j in 0..n {
                    for k in 0..stack.nrows() {
                        data.extend((0..m).map(|i| stack[(k, i * n + j)]));
                    }
                }
            }
        }
        Self { codomain: codomain.kinds, domain: domain.kinds, blocks, data }
    }

    pub(super) fn motion(&self, g: &Element) -> Motion<F> {
        Motion {
            left: self.codomain.iter().map(|kind| kind.matrix(g)).collect(),
            right: self.domain.iter().map(|kind| kind.matrix(g).adjoint().to_owned()).collect(),
        }
    }

    /// A(g) on folded data.
    pub(super) fn apply(&self, motion: &Motion<F>, data: &[F]) -> Vec<F> {
        let mut out = vec![F::ZERO; data.len()];
        let mut turned = Vec::new();
        for block in &self.blocks {
            let (left, right) = (&motion.left[block.row], &motion.right[block.column]);
            let (m, n, copies) = (left.nrows(), right.nrows(), block.copies);
            let range = block.start..block.start + m * n * copies;
            turned.clear();
            turned.resize(range.len(), F::ZERO);
            let from = MatRef::from_column_major_slice(&data[range.clone()], m, copies * n);
            let to = MatMut::from_column_major_slice_mut(&mut turned, m, copies * n);
            matmul(to, Accum::Replace, left, from, F::ONE, Par::Seq);
            let from = MatRef::from_column_major_slice(&turned, m * copies, n);
            let to = MatMut::from_column_major_slice_mut(&mut out[range], m * copies, n);
            matmul(to, Accum::Replace, from, right, F::ONE, Par::Seq);
        }
        out
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{group, rep};

    #[test]
    fn more_copies_than_entries_are_folded() {
        // Three copies of the plane and two scalars: nine copies of 2×2 blocks fold to four, six of 2×1 to two, four of 1×1 to one.
        let field = rep::parse_fields(&group::parse("C5").unwrap(), "3 vector + 2 trivial").unwrap();
        let space = KernelSpace::dense(&field, &field).unwrap();
        assert_eq!(Folded::new(&space, &[1.0; 64]).data.len(), 4 * 4 + 2 * 2 + 2 * 2 + 1);
    }
}
