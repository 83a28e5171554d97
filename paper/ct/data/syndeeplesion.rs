//! The h5 layout of SynDeepLesion, which the published metal artefact networks read.
//!
//! ```text
//! folder/gt.h5      image f32 [S, S]: without metal            (also poly_CT, poly_sinogram)
//! folder/n.h5       ma_CT, LI_CT f32 [S, S]: with metal n      (also ma_sinogram, LI_sinogram, metal_trace)
//! masks.npy         u8 [M, M, metals]: 1 in metal n, on a finer grid: brought to S pixels
//! ```
//!
//! Images are linear attenuation in 1/cm, as everywhere here.

use std::fs;
use std::path::{Path, PathBuf};

use hdf5_pure::{DType, File};

use super::resize::resize;
use super::slice::Pair;
use crate::data::error::{Error, Result};
use reynolds_checkpoint::npy_bytes;

/// No image or sinogram of the layout is larger along a side.
const LARGEST: u64 = 8192;

/// Numbers of single precision in two dimensions.
#[derive(Debug, Clone, PartialEq)]
pub struct Array {
    pub shape: [usize; 2],
    /// Row by row.
    pub values: Vec<f32>,
}

/// Reads a two-dimensional array of f32 or u8 of an h5 file: `image`, `ma_CT`, `LI_sinogram`, `metal_trace` …
pub fn array(path: impl AsRef<Path>, key: &str) -> Result<Array> {
    let path = path.as_ref();
    let bytes = fs::read(path).map_err(|source| Error::Io { file: path.into(), action: "read", source })?;
    let length = bytes.len() as u64;
    let file = File::from_bytes(bytes).map_err(|error| Error::Malformed {
        file: path.into(),
        expected: "an HDF5 file".into(),
        found: error.to_string(),
    })?;
    // A file that ends early may still have the data set that is asked for; it was not copied whole, and is not trusted.
    let end = file.superblock().eof_address;
    if end > length {
        let (expected, found) = (format!("{end} bytes"), length.to_string());
        return Err(Error::Malformed { file: path.into(), expected, found });
    }
    let wrong = |expected: &str, found: String| Error::Tensor {
        file: path.into(),
        tensor: key.into(),
        expected: expected.into(),
        found,
    };
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

/// The metal masks: as many as there are, each `[side, side]`, 1 in metal.
#[derive(Debug, Clone, PartialEq)]
pub struct Masks {
    pub side: usize,
    /// Metal by metal, row by row.
    pub masks: Vec<Vec<f32>>,
}

/// Reads the cube of masks.
pub fn masks(path: impl AsRef<Path>) -> Result<Masks> {
    let path = path.as_ref();
    let contents = fs::read(path).map_err(|source| Error::Io { file: path.into(), action: "read", source })?;
    let malformed =
        |expected: &str, found: String| Error::Malformed { file: path.into(), expected: expected.into(), found };
    let (shape, column_major, bytes) = npy_bytes(&contents).map_err(|found| malformed("a .npy array of u8", found))?;
    let &[rows, columns, count] = shape.as_slice() else {
        return Err(malformed("three dimensions: row, column, metal", format!("{shape:?}")));
    };
    if rows != columns || rows == 0 || count == 0 || rows as u64 > LARGEST {
        return Err(malformed("at least one square mask", format!("{shape:?}")));
    }
    if let Some(value) = bytes.iter().find(|value| **value > 1) {
        return Err(malformed("zeros and ones", value.to_string()));
    }
    let mask = |metal: usize| {
        let at = |pixel: usize| match column_major {
            true => pixel / columns + rows * (pixel % columns + columns * metal),
            false => pixel * count + metal,
        };
        (0..rows * columns).map(|pixel| f32::from(bytes[at(pixel)])).collect()
    };
    Ok(Masks { side: rows, masks: (0..count).map(mask).collect() })
}

/// Reads all pairs of a folder: `gt.h5` with every `n.h5`, by number, n being the number of the metal's mask.
pub fn pairs(folder: impl AsRef<Path>, masks: &Masks) -> Result<Vec<Pair>> {
    let folder = folder.as_ref();
    let truth = image(&folder.join("gt.h5"), "image", None)?;
    let side = truth.shape[0];
    let mut found: Vec<(usize, PathBuf)> = Vec::new();
    let io = |source| Error::Io { file: folder.into(), action: "list", source };
    for entry in fs::read_dir(folder).map_err(io)? {
        let path = entry.map_err(io)?.path();
        let number = path.file_stem().and_then(|stem| stem.to_str()).and_then(|stem| stem.parse().ok());
        if let Some(number) = number.filter(|_| path.extension().is_some_and(|extension| extension == "h5")) {
            found.push((number, path));
        }
    }
    found.sort();
    let pair = |(number, path): &(usize, PathBuf)| {
        let mask = masks.masks.get(*number).ok_or_else(|| Error::Malformed {
            file: path.clone(),
            expected: format!("a number below that of the masks, {}", masks.masks.len()),
            found: number.to_string(),
        })?;
        Ok(Pair {
            side,
            truth: truth.values.clone(),
            corrupted: image(path, "ma_CT", Some(side))?.values,
            interpolated: image(path, "LI_CT", Some(side))?.values,
            metal: resize(mask, masks.side, side),
        })
    };
    found.iter().map(pair).collect()
}

/// A square array, of this side where one is given.
fn image(path: &Path, key: &str, side: Option<usize>) -> Result<Array> {
    let array = array(path, key)?;
    let [rows, columns] = array.shape;
    if rows != columns || side.is_some_and(|side| side != rows) {
        let expected = side.map_or_else(|| "a square".into(), |side| format!("[{side}, {side}]"));
        let found = format!("{:?}", array.shape);
        return Err(Error::Tensor { file: path.into(), tensor: key.into(), expected, found });
    }
    Ok(array)
}
