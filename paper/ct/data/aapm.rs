//! Raw files of the AAPM CT-MAR challenge: little-endian f32 without a header, the sizes in the name.
//!
//! ```text
//! training_body_metalart_img11001_512x512x1.raw    an image, columns × rows, in Hounsfield units
//! phantom.vf                                       relative density on a square, water = 1
//! ```

use std::fs;
use std::path::Path;

use super::slice::Slice;
use crate::data::error::{Error, Result};

/// Millimetres along a side of an image of a body, and of a head.
const FIELDS_MM: [f64; 2] = [400.0, 220.16];

/// Millimetres along a side of a density file, about: it does not say, and a pelvis is 400 mm wide.
const DENSITY_MM: f64 = 500.0;

/// Reads an image in Hounsfield units. Its name holds its size, and "head" where the field is that of a head.
pub fn image(path: impl AsRef<Path>) -> Result<Slice> {
    let path = path.as_ref();
    let name = stem(path);
    let sizes = sizes(&name);
    let side = match sizes.as_deref() {
        Some(&[columns, rows] | &[columns, rows, 1]) if columns == rows && columns > 0 => columns,
        _ => {
            let found = sizes.map_or_else(|| "none".into(), |sizes| format!("{sizes:?}"));
            return Err(Error::malformed(path, "the size of a square image in the name, such as _512x512x1", found));
        }
    };
    let hu = floats(path, side)?;
    let field = FIELDS_MM[usize::from(name.contains("head"))];
    Ok(Slice { name, side, pixel_mm: field / side as f64, hu })
}

/// Reads relative densities, water = 1, on a square of any size, as Hounsfield units.
pub fn density(path: impl AsRef<Path>) -> Result<Slice> {
    let path = path.as_ref();
    let bytes = fs::metadata(path).map_err(Error::io(path, "open"))?.len();
    let side = (bytes as f64 / 4.0).sqrt().round() as u64;
    // Fewer are a file that was cut off.
    if side < 8 || bytes != side * side * 4 {
        return Err(Error::malformed(path, "a square of f32 with 8 or more a side", format!("{bytes} bytes")));
    }
    let side = side as usize;
    let values = floats(path, side)?;
    if let Some(value) = values.iter().find(|value| **value < 0.0) {
        return Err(Error::malformed(path, "densities of at least 0", value));
    }
    let hu = values.iter().map(|density| 1000.0 * (density - 1.0)).collect();
    Ok(Slice { name: stem(path), side, pixel_mm: DENSITY_MM / side as f64, hu })
}

fn stem(path: &Path) -> String {
    path.file_stem().map(|stem| stem.to_string_lossy().into_owned()).unwrap_or_default()
}

/// The sizes in a name: the part between "_"s that is numbers with "x" between them.
fn sizes(name: &str) -> Option<Vec<usize>> {
    let part = |part: &str| {
        let numbers: Option<Vec<usize>> = part.split('x').map(|number| number.parse().ok()).collect();
        numbers.filter(|numbers| numbers.len() >= 2)
    };
    name.split('_').find_map(part)
}

/// `side`² finite numbers.
fn floats(path: &Path, side: usize) -> Result<Vec<f32>> {
    let length = fs::metadata(path).map_err(Error::io(path, "open"))?.len();
    let expected = (side as u64).checked_mul(side as u64).and_then(|pixels| pixels.checked_mul(4));
    if expected != Some(length) {
        let bytes = expected.map_or("too many".into(), |bytes| bytes.to_string());
        let expected = format!("{side} × {side} f32 ({bytes} bytes)");
        return Err(Error::malformed(path, expected, format!("{length} bytes")));
    }
    let bytes = fs::read(path).map_err(Error::io(path, "read"))?;
    let values: Vec<f32> = bytes.chunks_exact(4).map(|b| f32::from_le_bytes([b[0], b[1], b[2], b[3]])).collect();
    match values.iter().position(|value| !value.is_finite()) {
        Some(at) => Err(Error::malformed(path, "finite numbers", format!("{} as number {at}", values[at]))),
        None => Ok(values),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(name: &str, values: &[f32]) -> (tempfile::TempDir, std::path::PathBuf) {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join(name);
        fs::write(&path, values.iter().flat_map(|value| value.to_le_bytes()).collect::<Vec<u8>>()).unwrap();
        (folder, path)
    }

    #[test]
    fn names_hold_sizes() {
        assert_eq!(sizes("training_body_metalart_sino11001_900x1000"), Some(vec![900, 1000]));
        assert_eq!(sizes("image_512x512x1_hu_f32"), Some(vec![512, 512, 1]));
        assert_eq!(sizes("phantom"), None);
        assert_eq!(sizes("a_3x_x4"), None);
    }

    #[test]
    fn images_and_densities_are_read_row_by_row() {
        let (_folder, path) = file("training_head_nometal_img7_2x2x1.raw", &[-1000.0, 0.0, 40.0, 1500.0]);
        let slice = image(&path).unwrap();
        assert_eq!((slice.side, slice.hu.as_slice()), (2, &[-1000.0, 0.0, 40.0, 1500.0][..]));
        assert_eq!(slice.pixel_mm, 110.08);
        let mut densities = vec![1.0; 64];
        (densities[0], densities[3]) = (0.0, 2.0);
        let (_folder, path) = file("phantom.vf", &densities);
        let hu = density(&path).unwrap().hu;
        assert_eq!((hu[0], hu[1], hu[3]), (-1000.0, 0.0, 1000.0));
    }

    #[test]
    fn what_is_wrong_is_said() {
        let message = |name: &str, values: &[f32], read: &dyn Fn(&Path) -> Result<()>| {
            let (_folder, path) = file(name, values);
            let text = read(&path).unwrap_err().to_string();
            text.strip_prefix(&format!("{}: ", path.display())).unwrap().to_owned()
        };
        let picture = |path: &Path| image(path).map(drop);
        let dense = |path: &Path| density(path).map(drop);
        for (name, values, expected) in [
            ("i_2x2x1.raw", &[0.0; 3][..], "expected 2 × 2 f32 (16 bytes), found 12 bytes"),
            ("i_2x2.raw", &[0.0, f32::NAN, 0.0, 0.0], "expected finite numbers, found NaN as number 1"),
            ("i.raw", &[0.0], "_512x512x1, found none"),
            ("i_2x3.raw", &[0.0; 6], "found [2, 3]"),
            ("i_2x2x2.raw", &[0.0; 8], "found [2, 2, 2]"),
            ("i_4294967296x4294967296.raw", &[0.0; 8], "too many"),
        ] {
            let message = message(name, values, &picture);
            assert!(message.contains(expected), "{message}");
        }
        for count in [3, 25] {
            let expected = format!("expected a square of f32 with 8 or more a side, found {} bytes", 4 * count);
            assert_eq!(message("p.vf", &vec![0.0; count], &dense), expected);
        }
        assert_eq!(message("p.vf", &[-1.0; 64], &dense), "expected densities of at least 0, found -1");
        assert!(image("nowhere_2x2.raw").unwrap_err().to_string().contains("cannot open"));
    }
}
