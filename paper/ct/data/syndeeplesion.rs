//! The h5 layout of SynDeepLesion, which the published metal artefact networks read.
//!
//! ```text
//! folder/gt.h5      image f32 [S, S]: without metal            (also poly_CT, poly_sinogram)
//! folder/n.h5       ma_CT, LI_CT f32 [S, S]: with metal n      (also ma_sinogram, LI_sinogram, metal_trace)
//! ```
//!
//! Images are linear attenuation in 1/cm, as everywhere here.

use std::fs;
use std::path::Path;

use crate::data::error::{Error, Result};
use hdf5_pure::{DType, File};

/// Largest side of an image or a sinogram.
const LARGEST: u64 = 8192;

#[derive(Debug, Clone, PartialEq)]
pub struct Array {
    pub shape: [usize; 2],
    /// Row by row.
    pub values: Vec<f32>,
}

/// A two-dimensional array of f32 or u8 of an h5 file: `image`, `ma_CT`, `LI_sinogram`, `metal_trace` …
pub fn array(path: impl AsRef<Path>, key: &str) -> Result<Array> {
    let path = path.as_ref();
    let bytes = fs::read(path).map_err(Error::io(path, "read"))?;
    let length = bytes.len() as u64;
    let file = File::from_bytes(bytes).map_err(|error| Error::malformed(path, "an HDF5 file", error))?;
    // A truncated file may still have the data set that is asked for; it is not trusted.
    let end = file.superblock().eof_address;
    if end > length {
        return Err(Error::malformed(path, format!("{end} bytes"), length));
    }
    let wrong = |expected: &str, found: String| Error::tensor(path, key, expected, found);
    let damaged = |error: hdf5_pure::Error| wrong("readable data", error.to_string());
    let dataset = file.dataset(key).map_err(|error| wrong("a data set of this name", error.to_string()))?;
    let shape = dataset.shape().map_err(damaged)?;
    let &[rows, columns] = shape.as_slice() else {
        return Err(wrong("two dimensions", format!("{shape:?}")));
    };
    if !(1..=LARGEST).contains(&rows) || !(1..=LARGEST).contains(&columns) {
        return Err(wrong("1 to 8192 rows and columns", format!("{shape:?}")));
    }
    let values = match dataset.dtype().map_err(damaged)? {
        DType::F32 => dataset.read_f32().map_err(damaged)?,
        DType::U8 => dataset.read_u8().map_err(damaged)?.into_iter().map(f32::from).collect(),
        other => return Err(wrong("f32 or u8", format!("{other:?}"))),
    };
    if values.len() as u64 != rows * columns {
        return Err(wrong("as many numbers as the shape says", values.len().to_string()));
    }
    if let Some(value) = values.iter().find(|value| !value.is_finite()) {
        return Err(wrong("finite numbers", value.to_string()));
    }
    Ok(Array { shape: [rows as usize, columns as usize], values })
}
