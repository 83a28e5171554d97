//! Bodies that need no files: random anatomies of ellipses in five regions, with soft edges and a mild texture.
//!
//! Everything follows from region, seed and number. Lengths are millimetres from the centre of the slice, x to the right, y down: the
//! patient lies on the back, right side to the left, as on a monitor.

use super::anatomy;
use super::slice::Slice;
use reynolds::random::Random;
use serde::{Deserialize, Serialize};

const POINTS: usize = 3;

pub(super) const AIR: f64 = -1000.0;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Region {
    Abdomen,
    Thorax,
    Pelvis,
    Head,
    Jaw,
}

impl Region {
    /// Millimetres along a side of its slices, as the AAPM CT-MAR challenge reconstructs bodies and heads.
    pub fn field_mm(self) -> f64 {
        if matches!(self, Region::Head | Region::Jaw) { 220.16 } else { 400.0 }
    }
}

/// An ellipse, or one with fuller corners where the power is above 2, filled with one density.
#[derive(Debug, Clone, Copy)]
pub(super) struct Ellipse {
    pub(super) centre: [f64; 2],
    pub(super) radii: [f64; 2],
    pub(super) turn: f64,
    pub(super) power: f64,
    pub(super) hu: f64,
}

impl Ellipse {
    fn contains(&self, x: f64, y: f64, cosine: f64, sine: f64) -> bool {
        let (x, y) = (x - self.centre[0], y - self.centre[1]);
        let u = (x * cosine + y * sine) / self.radii[0];
        let v = (y * cosine - x * sine) / self.radii[1];
        match self.power {
            2.0 => u * u + v * v <= 1.0,
            power => u.abs() <= 1.0 && v.abs() <= 1.0 && u.abs().powf(power) + v.abs().powf(power) <= 1.0,
        }
    }
}

/// ```
/// use reynolds_paper::ct::data::{Region, phantom};
/// let slice = phantom(Region::Thorax, 0, 7, 64);
/// assert_eq!((slice.hu.len(), slice.hu[0]), (64 * 64, -1000.0));
/// assert_eq!(slice, phantom(Region::Thorax, 0, 7, 64));
/// ```
pub fn phantom(region: Region, seed: u64, number: u64, side: usize) -> Slice {
    let mut random = stream(region, seed, number);
    let ellipses = anatomy::draw(region, &mut random);
    let pixel_mm = region.field_mm() / side as f64;
    let fine = paint(&ellipses, side * POINTS, pixel_mm / POINTS as f64);
    let texture = Texture { seed: random.bits() };
    let pixel = |at: usize| {
        let (x, y) = (at % side, at / side);
        let fine = |n: usize| f64::from(fine[(y * POINTS + n / POINTS) * side * POINTS + x * POINTS + n % POINTS]);
        let mean = (0..POINTS * POINTS).map(fine).sum::<f64>() / (POINTS * POINTS) as f64;
        // Air has no texture; bone and lung have more than soft tissue.
        let strength = match mean {
            hu if hu < -950.0 => 0.0,
            hu if hu < -300.0 => 25.0,
            hu if hu > 150.0 => 40.0,
            _ => 7.0,
        };
        (mean + strength * texture.at(x as f64 * pixel_mm, y as f64 * pixel_mm)) as f32
    };
    let hu = (0..side * side).map(pixel).collect();
    Slice { name: format!("{region:?}/{number:05}").to_lowercase(), side, pixel_mm, hu }
}

pub(super) fn stream(region: Region, seed: u64, number: u64) -> Random {
    Random::at(seed, &[0x7068_616e, number, region as u64])
}

fn paint(ellipses: &[Ellipse], side: usize, pixel_mm: f64) -> Vec<f32> {
    let mut image = vec![AIR as f32; side * side];
    let half = side as f64 / 2.0;
    for ellipse in ellipses {
        let reach = ellipse.radii[0].hypot(ellipse.radii[1]);
        let reach = if ellipse.power == 2.0 { ellipse.radii[0].max(ellipse.radii[1]) } else { reach };
        let (sine, cosine) = ellipse.turn.sin_cos();
        let range = |centre: f64| {
            let place = |offset: f64| ((centre + offset) / pixel_mm + half).clamp(0.0, side as f64) as usize;
            place(-reach)..(place(reach) + 1).min(side)
        };
        for y in range(ellipse.centre[1]) {
            for x in range(ellipse.centre[0]) {
                let (px, py) = ((x as f64 + 0.5 - half) * pixel_mm, (y as f64 + 0.5 - half) * pixel_mm);
                if ellipse.contains(px, py, cosine, sine) {
                    image[y * side + x] = ellipse.hu as f32;
                }
            }
        }
    }
    image
}

/// Smooth noise of about unit strength: random numbers on grids of 9 and 4 mm, interpolated.
struct Texture {
    seed: u64,
}

impl Texture {
    fn at(&self, x: f64, y: f64) -> f64 {
        self.layer(0, x / 9.0, y / 9.0) + 0.8 * self.layer(1, x / 4.0, y / 4.0)
    }

    fn layer(&self, layer: u64, x: f64, y: f64) -> f64 {
        let (column, row) = (x.floor(), y.floor());
        let corner = |dx: f64, dy: f64| {
            let place = [layer, (column + dx) as u64, (row + dy) as u64];
            Random::at(self.seed, &place).between(-1.0, 1.0)
        };
        let smooth = |t: f64| t * t * (3.0 - 2.0 * t);
        let (u, v) = (smooth(x - column), smooth(y - row));
        let along = |dy: f64| (1.0 - u) * corner(0.0, dy) + u * corner(1.0, dy);
        (1.0 - v) * along(0.0) + v * along(1.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn share(slice: &Slice, low: f32, high: f32) -> f64 {
        slice.hu.iter().filter(|hu| (low..high).contains(hu)).count() as f64 / slice.hu.len() as f64
    }

    #[test]
    fn every_region_has_fat_or_skin_tissue_bone_and_air_around() {
        for region in [Region::Abdomen, Region::Thorax, Region::Pelvis, Region::Head, Region::Jaw] {
            for number in 0..4 {
                let slice = phantom(region, 1, number, 96);
                assert_eq!(slice.hu[0], -1000.0, "{region:?}: the corner is air");
                assert!(share(&slice, -30.0, 130.0) > 0.08, "{region:?} tissue");
                assert!(share(&slice, 200.0, 3000.0) > 0.004, "{region:?} bone");
                assert!(share(&slice, -140.0, -40.0) > 0.01, "{region:?} fat");
                assert!(slice.hu.iter().all(|hu| (-1100.0..3000.0).contains(hu)));
            }
        }
        assert!(share(&phantom(Region::Thorax, 1, 0, 96), -960.0, -650.0) > 0.1, "lungs");
    }

    #[test]
    fn a_finer_grid_shows_the_same_body() {
        let (fine, coarse) = (phantom(Region::Pelvis, 2, 3, 128), phantom(Region::Pelvis, 2, 3, 64));
        let mean = |slice: &Slice| slice.hu.iter().map(|&hu| f64::from(hu)).sum::<f64>() / slice.hu.len() as f64;
        assert!((mean(&fine) - mean(&coarse)).abs() < 4.0);
    }
}
