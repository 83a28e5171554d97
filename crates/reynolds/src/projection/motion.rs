//! How a group element permutes the weights between two fields.

use super::KernelSpace;
use crate::group::Element;
use crate::rep::{Rep, SignedPermutation};
use crate::scalar::Scalar;

/// A(g) on kernels `[out, in, points]` between two fields that g permutes with signs.
pub(crate) struct Motion {
    out: SignedPermutation,
    into: SignedPermutation,
    /// Where each grid point goes.
    pub(crate) points: Vec<u32>,
}

impl Motion {
    /// On the grid of `space`; `None` if a field is not permuted, which then holds for every element.
    pub(crate) fn new<F: Scalar>(space: &KernelSpace<F>, out: &Rep<F>, into: &Rep<F>, g: &Element) -> Option<Self> {
        let points = space.grid().map_or_else(|| vec![0], |grid| grid.permutation(g));
        Some(Self { out: out.signed_permutation(g)?, into: into.signed_permutation(g)?, points })
    }

    /// For each pair of channels o, i its number o·|in| + i, the number of the pair it goes to, and whether its sign changes.
    pub(crate) fn pairs(&self) -> impl Iterator<Item = (usize, usize, bool)> {
        let (outs, ins) = (self.out.image.len(), self.into.image.len());
        let pairs = (0..outs).flat_map(move |o| (0..ins).map(move |i| (o, i)));
        pairs.map(move |(o, i)| {
            let (to, opposite) = self.pair(o, i);
            (o * ins + i, to, opposite)
        })
    }

    /// Where a weight goes, and whether its sign changes.
    pub(crate) fn image(&self, weight: usize) -> (usize, bool) {
        let (points, ins) = (self.points.len(), self.into.image.len());
        let (pair, point) = (weight / points, weight % points);
        let (to, opposite) = self.pair(pair / ins, pair % ins);
        (to * points + self.points[point] as usize, opposite)
    }

    fn pair(&self, o: usize, i: usize) -> (usize, bool) {
        let to = self.out.image[o] as usize * self.into.image.len() + self.into.image[i] as usize;
        (to, self.out.negative[o] != self.into.negative[i])
    }
}
