//! Shapes of metal: a MATLAB file of `tumor_imgs` [n, S, S], column-major, grey; what is at least 128 is metal.

use std::fs::File;
use std::path::Path;

use crate::data::error::{Error, Result};
use matfile::{MatFile, NumericData};

const ARRAY: &str = "tumor_imgs";

/// A silhouette, by its centre of mass and its largest radius from there.
#[derive(Debug, Clone, PartialEq)]
pub struct Mask {
    side: usize,
    /// Row by row.
    inside: Vec<bool>,
    /// (x, y) in pixels.
    centre: [f64; 2],
    radius: f64,
}

impl Mask {
    /// `None` if all pixels `[side, side]` are outside.
    pub(super) fn new(side: usize, inside: Vec<bool>) -> Option<Mask> {
        let points = || inside.iter().enumerate().filter(|(_, inside)| **inside).map(|(at, _)| (at % side, at / side));
        let count = points().count();
        if count == 0 {
            return None;
        }
        let sum = points().fold([0, 0], |sum, (x, y)| [sum[0] + x, sum[1] + y]);
        let centre = sum.map(|sum| sum as f64 / count as f64 + 0.5);
        let distance = |(x, y): (usize, usize)| (x as f64 + 0.5 - centre[0]).hypot(y as f64 + 0.5 - centre[1]);
        let radius = points().map(distance).fold(0.0, f64::max) + 0.5;
        Some(Mask { side, inside, centre, radius })
    }

    /// Whether a point is metal; the centre is the origin, the largest radius 1.
    pub(super) fn contains(&self, x: f64, y: f64) -> bool {
        let place = |offset: f64, centre: f64| (centre + offset * self.radius).floor();
        let (x, y) = (place(x, self.centre[0]), place(y, self.centre[1]));
        let limit = self.side as f64;
        (0.0..limit).contains(&x) && (0.0..limit).contains(&y) && self.inside[y as usize * self.side + x as usize]
    }

    pub(super) fn checksum(&self) -> u32 {
        crc32fast::hash(&self.inside.iter().map(|&inside| u8::from(inside)).collect::<Vec<u8>>())
    }
}

pub fn read(path: impl AsRef<Path>) -> Result<Vec<Mask>> {
    let path = path.as_ref();
    let file = File::open(path).map_err(Error::io(path, "open"))?;
    let parsed = MatFile::parse(file).map_err(|error| match error {
        matfile::Error::IOError(source) => Error::io(path, "read")(source),
        error => Error::malformed(path, "a MATLAB file of level 5", error.to_string().to_lowercase()),
    })?;
    let wrong = |expected: &str, found: String| Error::tensor(path, ARRAY, expected, found);
    let array = parsed.find_by_name(ARRAY).ok_or_else(|| wrong("an array of this name", "none".into()))?;
    let grey = numbers(array.data());
    let grey = grey.ok_or_else(|| wrong("real numbers of at most 32 bits, or doubles", "others".into()))?;
    if let Some(value) = grey.iter().find(|value| !value.is_finite()) {
        return Err(wrong("finite numbers", value.to_string()));
    }
    let &[count, side, width] = array.size().as_slice() else {
        return Err(wrong("three indices: shape, row, column", format!("{:?}", array.size())));
    };
    let pixels = count.checked_mul(side).and_then(|product| product.checked_mul(width));
    if count == 0 || side != width || side < 2 || pixels != Some(grey.len()) {
        let found = format!("{:?} and {} numbers", array.size(), grey.len());
        return Err(wrong("at least one square shape, and as many numbers as the sizes say", found));
    }
    let mask = |number: usize| {
        // The first index runs fastest.
        let bright = |at: usize| grey[number + count * (at / side + side * (at % side))] >= 128.0;
        let mask = Mask::new(side, (0..side * side).map(bright).collect());
        mask.ok_or_else(|| wrong("shapes with pixels of at least 128", format!("none in shape {number}")))
    };
    (0..count).map(mask).collect()
}

/// MATLAB stores doubles that are small and whole as bytes.
fn numbers(data: &NumericData) -> Option<Vec<f64>> {
    fn wide<T: Copy + Into<f64>>(real: &[T]) -> Vec<f64> {
        real.iter().map(|&value| value.into()).collect()
    }
    match data {
        NumericData::Double { real, imag: None } => Some(real.clone()),
        NumericData::Single { real, imag: None } => Some(wide(real)),
        NumericData::Int8 { real, imag: None } => Some(wide(real)),
        NumericData::UInt8 { real, imag: None } => Some(wide(real)),
        NumericData::Int16 { real, imag: None } => Some(wide(real)),
        NumericData::UInt16 { real, imag: None } => Some(wide(real)),
        NumericData::Int32 { real, imag: None } => Some(wide(real)),
        NumericData::UInt32 { real, imag: None } => Some(wide(real)),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_silhouette_is_measured_from_its_centre_of_mass() {
        // A bar of 4 × 2 pixels in the corner of 8²: centre (2, 1), the farthest pixel centre at (1.5, 0.5).
        let inside = (0..64).map(|at| at % 8 < 4 && at / 8 < 2).collect();
        let mask = Mask::new(8, inside).unwrap();
        assert_eq!((mask.centre, mask.radius), ([2.0, 1.0], 1.5_f64.hypot(0.5) + 0.5));
        assert!(mask.contains(0.0, 0.0) && mask.contains(-0.9, 0.4) && mask.contains(0.9, -0.4));
        assert!(!mask.contains(0.0, 0.6) && !mask.contains(-1.1, 0.0) && !mask.contains(40.0, -40.0));
        assert_eq!(Mask::new(8, vec![false; 64]), None);
    }
}
