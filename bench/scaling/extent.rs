//! How much is measured.

use reynolds_torch::tch::Device;
use serde::Serialize;

use super::ways::Effort;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Extent {
    Whole,
    Quick,
    /// So little that a test can wait for it; its numbers mean nothing.
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
    /// Weights that all of these kernels have, as nearly as fields allow.
    pub(super) kernel_weights: usize,
    /// L of dense maps and of band-limited kernels.
    pub(super) dense_limits: Vec<usize>,
    pub(super) kernel_limits: Vec<usize>,
    /// Convolutions of 32,400 weights that are held by a penalty.
    pub(super) layers: Vec<usize>,
}

impl Extent {
    pub(super) fn sizes(self, device: Option<Device>) -> Sizes {
        let odd = |from: usize, to: usize| (from..=to).step_by(2).collect();
        let doubled = |from: u32, to: u32| (from..=to).map(|power| 1 << power).collect();
        let gpu = device.is_some_and(|device| device.is_cuda());
        let layers = [1, 3, 10, 31, 100, 309, 1000, 3087];
        match self {
            Self::Whole => Sizes {
                dense_copies: doubled(2, 10),
                kernel_copies: doubled(0, 7),
                irrep_copies: vec![2, 4, 7, 14, 28, 57, 114, 228, 455],
                channels: 256,
                orders: doubled(1, 8),
                letters: vec![2, 3, 4, 5, 6, 7, 8, 16],
                planar_sides: odd(3, 15),
                cubic_sides: odd(3, 9),
                band_sides: odd(3, 9),
                kernel_weights: 1_700_000,
                dense_limits: (0..=6).collect(),
                kernel_limits: (0..=4).collect(),
                layers: layers[1..if gpu { 8 } else { 6 }].to_vec(),
            },
            Self::Quick => Sizes {
                dense_copies: doubled(2, 8),
                kernel_copies: doubled(0, 5),
                irrep_copies: vec![2, 7, 28, 57, 114],
                channels: 128,
                orders: doubled(1, 7),
                letters: vec![2, 3, 4, 5, 8],
                planar_sides: odd(3, 11),
                cubic_sides: odd(3, 7),
                band_sides: odd(3, 7),
                kernel_weights: 400_000,
                dense_limits: (0..=4).collect(),
                kernel_limits: (0..=2).collect(),
                layers: layers[1..if gpu { 6 } else { 4 }].to_vec(),
            },
            Self::Tiny => Sizes {
                dense_copies: vec![1, 2, 4],
                kernel_copies: vec![1, 2],
                irrep_copies: vec![1, 2, 3],
                channels: 16,
                orders: vec![2, 4, 8],
                letters: vec![2, 3, 4],
                planar_sides: vec![3, 5],
                cubic_sides: vec![3],
                band_sides: vec![3, 5],
                kernel_weights: 15_000,
                dense_limits: vec![0, 1, 2],
                kernel_limits: vec![0, 1],
                layers: vec![1, 2],
            },
        }
    }

    pub(super) fn effort(self) -> Effort {
        let (turns, least, longest) = match self {
            Self::Whole => (15, 0.06, 2.0),
            Self::Quick => (5, 0.02, 0.1),
            Self::Tiny => (1, 0.0, 0.1),
        };
        Effort { turns, least, longest }
    }
}
