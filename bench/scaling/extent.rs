//! How much is measured.

use std::ops::RangeInclusive;

use reynolds_torch::tch::Device;
use serde::Serialize;

use super::ways::Effort;
use crate::Turns;

/// Seconds that are spent on one way at one size.
const LONG: f64 = 1.0;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Extent {
    Whole,
    Quick,
    /// For tests: its numbers mean nothing.
    Tiny,
}

/// Sizes of everything that is measured.
#[derive(Debug, Clone)]
pub(super) struct Sizes {
    /// Copies of the regular field of C4 on both sides of a dense map, and of a 5×5 kernel.
    pub(super) dense_copies: Vec<usize>,
    pub(super) kernel_copies: Vec<usize>,
    /// Copies of l ≤ 2 of SO(3) on both sides of a dense map.
    pub(super) irrep_copies: Vec<usize>,
    /// Channels of the maps between fields of growing groups, and the orders: |C_n| and |D_n/2|, n of S_n.
    pub(super) channels: usize,
    pub(super) orders: Vec<usize>,
    pub(super) letters: Vec<usize>,
    /// Sides of kernels of C4 in the plane, of O in space, of band-limited ones of SO(3).
    pub(super) planar_sides: Vec<usize>,
    pub(super) cubic_sides: Vec<usize>,
    pub(super) band_sides: Vec<usize>,
    /// Approximate number of weights of all of these kernels.
    pub(super) kernel_weights: usize,
    /// L of dense maps and of band-limited kernels.
    pub(super) dense_limits: Vec<usize>,
    pub(super) kernel_limits: Vec<usize>,
    /// Numbers of regularised convolutions, of 32,400 weights each.
    pub(super) layers: Vec<usize>,
}

impl Extent {
    /// What belongs to this extent of what belongs to the whole, the quick and the tiny one.
    fn of<T>(self, [whole, quick, tiny]: [T; 3]) -> T {
        match self {
            Self::Whole => whole,
            Self::Quick => quick,
            Self::Tiny => tiny,
        }
    }

    pub(super) fn sizes(self, device: Option<Device>) -> Sizes {
        let odd = |to: usize| -> Vec<usize> { (3..=to).step_by(2).collect() };
        let powers = |of: RangeInclusive<u32>| -> Vec<usize> { of.map(|power| 1 << power).collect() };
        let upto = |most: usize| -> Vec<usize> { (0..=most).collect() };
        let more = if device.is_some_and(|device| device.is_cuda()) { 2 } else { 0 };
        let layers = [3, 10, 31, 100, 309, 1000, 3087];
        Sizes {
            dense_copies: powers(self.of([2..=10, 2..=8, 0..=2])),
            kernel_copies: powers(self.of([0..=7, 0..=5, 0..=1])),
            irrep_copies: self.of([vec![2, 4, 7, 14, 28, 57, 114, 228, 455], vec![2, 7, 28, 57, 114], vec![1, 2, 3]]),
            channels: self.of([256, 128, 16]),
            orders: powers(self.of([1..=8, 1..=7, 1..=3])),
            letters: self.of([vec![2, 3, 4, 5, 6, 7, 8, 16], vec![2, 3, 4, 5, 8], vec![2, 3, 4]]),
            planar_sides: odd(self.of([15, 11, 5])),
            cubic_sides: odd(self.of([9, 7, 3])),
            band_sides: odd(self.of([9, 7, 5])),
            kernel_weights: self.of([1_700_000, 400_000, 15_000]),
            dense_limits: upto(self.of([6, 4, 2])),
            kernel_limits: upto(self.of([4, 2, 1])),
            layers: self.of([&layers[..5 + more], &layers[..3 + more], &[1, 2]]).to_vec(),
        }
    }

    pub(super) fn effort(self) -> Effort {
        let (count, least, longest) = self.of([(15, 0.06, 2.0), (5, 0.02, 0.1), (1, 0.0, 0.1)]);
        Effort { turns: Turns { count, least, most: LONG }, longest }
    }
}
