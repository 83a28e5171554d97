//! A solid as grey values of voxels.
//!
//! ```text
//! share of a voxel within ≈ clamp(½ − distance of its centre / its edge, 0, 1)          grey = 0.2 + 0.6 · share + noise
//! ```
//!
//! Voxel (i, j, k) lies ((i, j, k) − (side − 1)/2) voxels from the centre of the volume, whose half edge is the unit of the solid's own frame.
//! A quarter turn of the solid is one of the voxels, to the bit.

use std::f64::consts::TAU;

use super::draw::Drawn;
use super::matrix::back;
use super::solid::Solid;
use reynolds::random::Random;

/// Grey of the space about a solid, and what a solid adds to it.
const GREY: [f64; 2] = [0.2, 0.6];

/// Fills `voxels`, `[side, side, side]`.
pub(super) fn render(drawn: &Drawn, solid: &Solid, noise: f64, side: usize, voxels: &mut [u8]) {
    let half = side as f64 / 2.0;
    let (middle, scale) = ((side as f64 - 1.0) / 2.0, 1.0 / (half * drawn.size));
    // Voxels further out are empty.
    let reach = (solid.reach + scale).powi(2);
    let mut noises = Normal { random: drawn.random.clone(), second: None };
    for (number, voxel) in voxels.iter_mut().enumerate() {
        let place = [number / (side * side), number / side % side, number % side];
        let from = std::array::from_fn(|axis| (place[axis] as f64 - middle - drawn.shift[axis]) * scale);
        let share = if from.iter().map(|part| part * part).sum::<f64>() > reach {
            0.0
        } else {
            (0.5 - solid.distance(back(&drawn.matrix, from)) / scale).clamp(0.0, 1.0)
        };
        let grey = GREY[0] + GREY[1] * share + if noise > 0.0 { noise * noises.next() } else { 0.0 };
        *voxel = (255.0 * grey).round().clamp(0.0, 255.0) as u8;
    }
}

/// Box–Muller with both numbers of each pair, unlike [`Random::normal`].
struct Normal {
    random: Random,
    second: Option<f64>,
}

impl Normal {
    fn next(&mut self) -> f64 {
        if let Some(second) = self.second.take() {
            return second;
        }
        // 1 − u lies in (0, 1]: its logarithm is finite.
        let radius = (-2.0 * (1.0 - self.random.uniform()).ln()).sqrt();
        let (sine, cosine) = (TAU * self.random.uniform()).sin_cos();
        self.second = Some(radius * sine);
        radius * cosine
    }
}

#[cfg(test)]
mod tests {
    use super::super::class::{CLASSES, REFLECTION_PAIRS, ROTATION_PAIRS, pose};
    use super::super::matrix::tests::determinant;
    use super::super::matrix::{IDENTITY, Matrix, product};
    use super::*;

    const SIDE: usize = 28;

    /// A class in its pose, without noise, in the middle.
    fn still(label: usize, matrix: &Matrix) -> Vec<u8> {
        let (kind, own) = pose(label);
        let drawn =
            Drawn { label, matrix: product(matrix, &own), shift: [0.0; 3], size: 1.0, random: Random::at(0, &[]) };
        let mut voxels = vec![0; SIDE.pow(3)];
        render(&drawn, &Solid::new(kind), 0.0, SIDE, &mut voxels);
        voxels
    }

    /// The 48 signed permutations of the axes.
    fn grid_elements() -> Vec<Matrix> {
        let orders = [[0, 1, 2], [0, 2, 1], [1, 0, 2], [1, 2, 0], [2, 0, 1], [2, 1, 0]];
        let signed = |order: [usize; 3], signs: usize| -> Matrix {
            std::array::from_fn(|i| {
                let mut row = [0.0; 3];
                row[order[i]] = if signs >> i & 1 == 1 { -1.0 } else { 1.0 };
                row
            })
        };
        orders.iter().flat_map(|&order| (0..8).map(move |signs| signed(order, signs))).collect()
    }

    /// The volume moved by an element: voxel g·p of the new one is voxel p of the old one.
    fn moved(voxels: &[u8], element: &Matrix) -> Vec<u8> {
        let last = SIDE as f64 - 1.0;
        let mut out = vec![0; voxels.len()];
        for (number, voxel) in voxels.iter().enumerate() {
            let p = [number / (SIDE * SIDE), number / SIDE % SIDE, number % SIDE].map(|n| 2.0 * n as f64 - last);
            let place = element.map(|row| ((row[0] * p[0] + row[1] * p[1] + row[2] * p[2] + last) / 2.0) as usize);
            out[(place[0] * SIDE + place[1]) * SIDE + place[2]] = *voxel;
        }
        out
    }

    /// The share of the solid's grey that differs at the closest of the elements that `takes` selects.
    fn closest(one: &[u8], other: &[u8], takes: impl Fn(&Matrix) -> bool) -> f64 {
        let empty = u64::from((255.0 * GREY[0]).round() as u8);
        let mass: u64 = one.iter().map(|&voxel| u64::from(voxel) - empty).sum();
        let differs = |moved: Vec<u8>| -> u64 { moved.iter().zip(other).map(|(a, b)| u64::from(a.abs_diff(*b))).sum() };
        let least = grid_elements().iter().filter(|element| takes(element)).map(|g| differs(moved(one, g))).min();
        least.unwrap() as f64 / mass as f64
    }

    #[test]
    fn a_solid_moved_by_a_grid_element_is_its_volume_moved_to_the_bit() {
        for element in grid_elements() {
            assert_eq!(still(0, &element), moved(&still(0, &IDENTITY), &element));
            assert_eq!(still(6, &element), moved(&still(6, &IDENTITY), &element));
        }
    }

    #[test]
    fn rotation_pairs_are_turned_copies_and_reflection_pairs_mirror_images_alone() {
        let proper = |g: &Matrix| determinant(g) > 0.0;
        for (pairs, is_turned, apart) in [(ROTATION_PAIRS, true, 0.15), (REFLECTION_PAIRS, false, 0.25)] {
            for [one, other] in pairs {
                let (one, other) = (still(one, &IDENTITY), still(other, &IDENTITY));
                assert_eq!(closest(&one, &other, |g| proper(g) == is_turned), 0.0);
                assert!(closest(&one, &other, |g| proper(g) != is_turned) > apart);
                assert!(!is_turned || closest(&one, &other, |g| *g == IDENTITY) > 0.5);
            }
        }
    }

    #[test]
    fn different_solids_differ_however_they_are_moved() {
        for one in (0..CLASSES.len()).step_by(2) {
            for other in (0..one).step_by(2) {
                let nearest = closest(&still(one, &IDENTITY), &still(other, &IDENTITY), |_| true);
                assert!(nearest > 0.5, "{one} {other} {nearest}");
            }
        }
    }

    #[test]
    fn edges_are_smooth_and_the_grey_of_a_volume_is_that_of_its_solid() {
        // A voxel is (2/28)³ of the frame; the teapot's volume there is counted in the tests of solids.
        let voxels = still(2, &IDENTITY);
        let sum: f64 = voxels.iter().map(|&voxel| f64::from(voxel) / 255.0 - GREY[0]).sum();
        let volume = sum / GREY[1] * (2.0 / SIDE as f64).powi(3);
        assert!((0.19..0.23).contains(&volume), "{volume}");
        assert!(voxels.iter().filter(|&&voxel| voxel > 60 && voxel < 190).count() > 200);
        assert_eq!((voxels.iter().min(), voxels.iter().max()), (Some(&51), Some(&204)));
    }

    #[test]
    fn noise_has_its_mean_and_deviation() {
        let mut noises = Normal { random: Random::at(5, &[]), second: None };
        let values: Vec<f64> = (0..20_000).map(|_| noises.next()).collect();
        let [mean, square, fourth] =
            [1, 2, 4].map(|power| values.iter().map(|value| value.powi(power)).sum::<f64>() / 20_000.0);
        let near = mean.abs() < 0.03 && (square - 1.0).abs() < 0.04 && (fourth - 3.0).abs() < 0.3;
        assert!(near, "{mean} {square} {fourth}");
    }
}
