//! Stacks of slices of one patient: an .npz of `hu` i16 [n, S, S], `z_mm` f32 [n] and `pixel_mm` f32 [2].

use std::path::Path;

use super::resize::resize;
use super::slice::Slice;
use crate::data::error::{Error, Result};
use reynolds_checkpoint::{Checkpoint, Values};

/// Hounsfield units that scanners write.
const RANGE: std::ops::RangeInclusive<i16> = -2048..=16_000;

#[derive(Debug, Clone)]
pub struct Series {
    name: String,
    side: usize,
    pixel_mm: f64,
    hu: Vec<i16>,
}

impl Series {
    /// Reads a stack. The series is named like the file, without its extension and the size after the last "_".
    pub fn open(path: impl AsRef<Path>) -> Result<Series> {
        let path = path.as_ref();
        let checkpoint = Checkpoint::open(path)?;
        let wrong = |tensor: &str, expected: String, found: String| Error::tensor(path, tensor, expected, found);
        let member = |name: &str| {
            checkpoint.entry(name).ok_or_else(|| Error::tensor(path, name, "an array of this name", "none"))
        };
        let entry = member("hu")?;
        let bytes = checkpoint.read_plain(entry, "<i2", 2)?;
        let &[count, side, width] = entry.shape.as_slice() else {
            return Err(wrong("hu", "three indices: slice, row, column".into(), format!("{:?}", entry.shape)));
        };
        if count == 0 || side != width || !(8..=4096).contains(&side) {
            let expected = "at least one square slice of 8 to 4096 pixels a side";
            return Err(wrong("hu", expected.into(), format!("{:?}", entry.shape)));
        }
        let hu: Vec<i16> = bytes.chunks_exact(2).map(|b| i16::from_le_bytes([b[0], b[1]])).collect();
        if let Some(value) = hu.iter().find(|value| !RANGE.contains(value)) {
            let expected = format!("Hounsfield units from {} to {}", RANGE.start(), RANGE.end());
            return Err(wrong("hu", expected, value.to_string()));
        }
        let floats = |name: &str, length: usize| {
            let entry = member(name)?;
            let values = match checkpoint.read(entry)? {
                Values::F32(values) => values.into_owned(),
                Values::F64(values) => values.iter().map(|&x| x as f32).collect(),
            };
            if entry.shape != [length] {
                return Err(wrong(name, format!("[{length}]"), format!("{:?}", entry.shape)));
            }
            Ok(values)
        };
        let (z_mm, pixel) = (floats("z_mm", count)?, floats("pixel_mm", 2)?);
        if let Some(z) = z_mm.iter().find(|z| !z.is_finite()) {
            return Err(wrong("z_mm", "finite positions".into(), z.to_string()));
        }
        if pixel[0] != pixel[1] || !(0.05..=20.0).contains(&pixel[0]) {
            return Err(wrong("pixel_mm", "square pixels of 0.05 to 20 mm".into(), format!("{pixel:?}")));
        }
        let stem = path.file_stem().map(|stem| stem.to_string_lossy().into_owned()).unwrap_or_default();
        let size = format!("_{side}");
        let name = stem.strip_suffix(&size).unwrap_or(&stem).to_owned();
        // As in decimals: 2.06, not 2.05999994.
        let pixel_mm = pixel[0].to_string().parse().unwrap_or(f64::from(pixel[0]));
        Ok(Series { name, side, pixel_mm, hu })
    }

    pub fn name(&self) -> &str {
        &self.name
    }

    pub fn count(&self) -> usize {
        self.hu.len() / (self.side * self.side)
    }

    /// A slice, resized to `side` pixels.
    pub fn slice(&self, number: usize, side: usize) -> Slice {
        let hu: Vec<f32> = self.stored(number).iter().map(|&value| f32::from(value)).collect();
        Slice {
            name: format!("{}/{number:03}", self.name),
            side,
            pixel_mm: self.pixel_mm * self.side as f64 / side as f64,
            hu: resize(&hu, self.side, side),
        }
    }

    pub(super) fn checksum(&self, number: usize) -> u32 {
        let mut crc = crc32fast::Hasher::new();
        crc.update(&self.pixel_mm.to_le_bytes());
        self.stored(number).iter().for_each(|value| crc.update(&value.to_le_bytes()));
        crc.finalize()
    }

    fn stored(&self, number: usize) -> &[i16] {
        let pixels = self.side * self.side;
        &self.hu[number * pixels..][..pixels]
    }
}
