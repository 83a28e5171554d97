//! Pieces of metal: a shape, where it lies, how large it is and how it is turned; and how much of each pixel they fill.

use std::f64::consts::{PI, TAU};

use super::masks::Mask;
use reynolds::random::Random;
use serde::{Deserialize, Serialize};

const POINTS: usize = 4;

/// The silhouette of a piece of metal, within the unit circle.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Shape {
    /// The head of a hip: a disk.
    Ball,
    /// Threaded shaft and head.
    Screw,
    /// A bar with round ends.
    Rod,
    /// Dental: a rounded block with a notch.
    Filling,
    /// A spiral of wire.
    Coil,
    /// A blob with an outline from this random seed.
    Blob(u64),
    /// A shape of a file of masks.
    Mask { number: usize, checksum: u32 },
}

#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Implant {
    pub shape: Shape,
    /// (x, y) from the centre of the slice, x to the right and y down.
    pub centre_mm: [f64; 2],
    /// Diameter of the circle around it.
    pub extent_mm: f64,
    /// In radians.
    pub turn: f64,
}

/// The share of each pixel that implants fill, `[side, side]`.
pub(super) fn coverage(implants: &[Implant], masks: &[Mask], side: usize, pixel_mm: f64) -> Vec<f32> {
    let outlines: Vec<Outline<'_>> = implants.iter().map(|implant| Outline::new(implant, masks)).collect();
    let mut coverage = vec![0.0; side * side];
    let half = side as f64 / 2.0;
    for outline in &outlines {
        let [rows, columns] = [1, 0].map(|axis| {
            let place = |sign: f64| (outline.centre[axis] + sign * outline.radius) / pixel_mm + half + sign;
            place(-1.0).clamp(0.0, side as f64) as usize..place(1.0).clamp(0.0, side as f64) as usize
        });
        for y in rows {
            for x in columns.clone() {
                // Where circles overlap all implants are asked, and a pixel filled before is filled with the same again.
                let mut inside = 0;
                for point in 0..POINTS * POINTS {
                    let offset =
                        |pixel: usize, n: usize| (pixel as f64 + (n as f64 + 0.5) / POINTS as f64 - half) * pixel_mm;
                    let (px, py) = (offset(x, point % POINTS), offset(y, point / POINTS));
                    inside += usize::from(outlines.iter().any(|outline| outline.contains(px, py)));
                }
                coverage[y * side + x] = inside as f32 / (POINTS * POINTS) as f32;
            }
        }
    }
    coverage
}

struct Outline<'a> {
    shape: Shape,
    centre: [f64; 2],
    radius: f64,
    cosine: f64,
    sine: f64,
    mask: Option<&'a Mask>,
    /// Radii of a blob.
    blob: Vec<f64>,
}

const DIRECTIONS: usize = 256;

impl<'a> Outline<'a> {
    fn new(implant: &Implant, masks: &'a [Mask]) -> Outline<'a> {
        let Implant { shape, centre_mm: centre, extent_mm, turn } = *implant;
        let (mask, blob) = match shape {
            Shape::Mask { number, .. } => (masks.get(number), Vec::new()),
            Shape::Blob(seed) => (None, radii(seed)),
            _ => (None, Vec::new()),
        };
        Outline { shape, centre, radius: extent_mm / 2.0, cosine: turn.cos(), sine: turn.sin(), mask, blob }
    }

    fn contains(&self, x: f64, y: f64) -> bool {
        let (x, y) = ((x - self.centre[0]) / self.radius, (y - self.centre[1]) / self.radius);
        if x * x + y * y > 1.0 {
            return false;
        }
        let (x, y) = (x * self.cosine + y * self.sine, y * self.cosine - x * self.sine);
        match self.shape {
            Shape::Ball => true,
            Shape::Screw => screw(x, y),
            Shape::Rod => (x.abs() - 0.7).max(0.0).hypot(y) <= 0.3,
            Shape::Filling => (x / 0.95).powi(4) + (y / 0.75).powi(4) <= 1.0 && !(x.abs() < 0.2 && y < -0.45),
            Shape::Coil => {
                let turns = x.hypot(y) * 3.0 - y.atan2(x) / TAU;
                turns.rem_euclid(1.0) < 0.6
            }
            Shape::Blob(_) => {
                let place = (y.atan2(x) + PI) / TAU * DIRECTIONS as f64;
                let (first, rest) = (place as usize, place.fract());
                let at = |n: usize| self.blob[n % DIRECTIONS];
                x.hypot(y) <= (1.0 - rest) * at(first) + rest * at(first + 1)
            }
            Shape::Mask { .. } => self.mask.is_some_and(|mask| mask.contains(x, y)),
        }
    }
}

/// Shaft along x with a thread of twelve turns, and a head.
fn screw(x: f64, y: f64) -> bool {
    let thread = ((x * 6.0).rem_euclid(1.0) - 0.5).abs();
    match x {
        x if x > 0.72 => y.abs() <= 0.24,
        x if x > -0.85 => y.abs() <= 0.085 + 0.09 * thread,
        x => y.abs() <= 0.085 * (x + 1.0) / 0.15,
    }
}

/// The outline of a blob: waves around a circle, weaker the shorter they are, scaled into the unit circle.
fn radii(seed: u64) -> Vec<f64> {
    let mut random = Random::at(seed, &[0x626c_6f62]);
    let waves: Vec<(f64, f64)> =
        (1..12).map(|k| (random.between(-0.5, 0.5) / f64::from(k).powf(1.3), random.between(0.0, TAU))).collect();
    let radius = |n: usize| {
        let angle = TAU * n as f64 / DIRECTIONS as f64;
        let wave = |(k, (height, phase)): (usize, &(f64, f64))| height * ((k + 2) as f64 * angle + phase).cos();
        (1.0 + waves.iter().enumerate().map(wave).sum::<f64>()).max(0.25)
    };
    let radii: Vec<f64> = (0..DIRECTIONS).map(radius).collect();
    let largest = radii.iter().fold(0.0, |most: f64, r| most.max(*r));
    radii.into_iter().map(|r| r / largest).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn area(shape: Shape, masks: &[Mask]) -> f64 {
        let implant = Implant { shape, centre_mm: [5.0, -3.0], extent_mm: 40.0, turn: 0.7 };
        coverage(&[implant], masks, 128, 0.5).iter().map(|&share| f64::from(share)).sum::<f64>() / 4.0
    }

    #[test]
    fn a_ball_fills_the_area_of_its_disk_at_its_place() {
        let disk = PI * 20.0 * 20.0;
        assert!((area(Shape::Ball, &[]) / disk - 1.0).abs() < 2e-3);
        let implant = Implant { shape: Shape::Ball, centre_mm: [10.0, -20.0], extent_mm: 8.0, turn: 0.0 };
        let filled = coverage(&[implant], &[], 64, 1.0);
        assert_eq!((filled[12 * 64 + 42], filled[12 * 64 + 47], filled[20 * 64 + 42]), (1.0, 0.0, 0.0));
    }

    #[test]
    fn every_shape_has_metal_and_lies_within_its_circle() {
        let square = Mask::new(4, vec![true; 16]).unwrap();
        let mask = Shape::Mask { number: 0, checksum: square.checksum() };
        for shape in [Shape::Screw, Shape::Rod, Shape::Filling, Shape::Coil, Shape::Blob(3), mask] {
            let share = area(shape, std::slice::from_ref(&square)) / (PI * 400.0);
            assert!((0.08..1.0).contains(&share), "{shape:?} {share}");
        }
    }

    #[test]
    fn metal_is_not_counted_twice_and_may_stick_out_of_the_image() {
        let ball = Implant { shape: Shape::Ball, centre_mm: [0.0, 0.0], extent_mm: 10.0, turn: 0.0 };
        assert_eq!(coverage(&[ball, ball], &[], 32, 1.0), coverage(&[ball], &[], 32, 1.0));
        let outside = Implant { centre_mm: [-500.0, 0.0], ..ball };
        assert!(coverage(&[outside], &[], 32, 1.0).iter().all(|&share| share == 0.0));
        let partly = Implant { centre_mm: [16.0, 16.0], ..ball };
        assert!(coverage(&[partly], &[], 32, 1.0).iter().sum::<f32>() > 15.0);
    }
}
