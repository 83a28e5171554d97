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
    data: Vec<F>,
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

    /// The folded D itself.
    pub(super) fn data(&self) -> &[F] {
        &self.data
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
            matmul(
                MatMut::from_column_major_slice_mut(&mut turned, m, copies * n),
                Accum::Replace,
                left,
                MatRef::from_column_major_slice(&data[range.clone()], m, copies * n),
                F::ONE,
                Par::Seq,
            );
            matmul(
                MatMut::from_column_major_slice_mut(&mut out[range], m * copies, n),
                Accum::Replace,
                MatRef::from_column_major_slice(&turned, m * copies, n),
                right,
                F::ONE,
                Par::Seq,
            );
        }
        out
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::Random;
    use crate::{group, rep};

    #[test]
    fn folding_keeps_every_correlation() {
        // Three copies of the plane and two scalars: nine copies of 2×2 blocks fold to four, six of 2×1 to two.
        let c5 = group::parse("C5").unwrap();
        let field = rep::sum(&c5, &[(3, rep::point(&c5).unwrap()), (2, rep::trivial(&c5))]).unwrap();
        let space = KernelSpace::dense(&field, &field).unwrap();
        let mut random = Random::new(2);
        let map: Vec<f64> = (0..space.len()).map(|_| random.normal()).collect();
        let folded = Folded::new(&space, &map);
        assert_eq!(folded.data().len(), 4 * 4 + 2 * 2 + 2 * 2 + 1);
        for g in group::elements(c5.as_ref()).unwrap() {
            let inner = |a: &[f64], b: &[f64]| -> f64 { a.iter().zip(b).map(|(x, y)| x * y).sum() };
            let expected = inner(&space.act(&g, &map), &map);
            let moved = folded.apply(&folded.motion(&g), folded.data());
            assert!((inner(&moved, folded.data()) - expected).abs() < 1e-12);
        }
    }
}
