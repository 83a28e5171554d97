//! Bodies and metal shapes: from files, or built in.

use std::fs;
use std::path::{Path, PathBuf};

use super::aapm;
use super::masks::{self, Mask};
use super::set::Source;
use super::slice::Slice;
use super::slices::Series;
use crate::data::error::{Error, Result};

/// Slices and shapes to make pairs of.
#[derive(Debug, Clone, Default)]
pub struct Library {
    pub(super) source: Source,
    pub series: Vec<Series>,
    /// Empty where shapes are built in.
    pub masks: Vec<Mask>,
    /// A slice through the hips.
    pub(super) pelvis: Option<Slice>,
}

impl Library {
    /// Phantoms and built-in shapes: no file is read.
    pub fn built_in() -> Library {
        Library::default()
    }

    /// All stacks of slices `*.npz` of a folder, with the metal shapes `aapm/metal_masks.mat` and the pelvis `aapm/phantom.vf` if it has them.
    pub fn open(folder: impl AsRef<Path>) -> Result<Library> {
        let folder = folder.as_ref();
        let files = fs::read_dir(folder).and_then(|entries| entries.map(|entry| Ok(entry?.path())).collect());
        let mut paths: Vec<PathBuf> = files.map_err(Error::io(folder, "list"))?;
        paths.retain(|path| path.extension().is_some_and(|extension| extension == "npz"));
        paths.sort();
        if paths.is_empty() {
            return Err(Error::malformed(folder, "stacks of CT slices (.npz with hu, z_mm and pixel_mm)", "none"));
        }
        let mut series = paths.iter().map(Series::open).collect::<Result<Vec<Series>>>()?;
        series.sort_by(|one, other| one.name().cmp(other.name()));
        if let Some(pair) = series.windows(2).find(|pair| pair[0].name() == pair[1].name()) {
            return Err(Error::malformed(folder, "every name once", format!("\"{}\" twice", pair[0].name())));
        }
        let (shapes, pelvis) = (folder.join("aapm/metal_masks.mat"), folder.join("aapm/phantom.vf"));
        let masks = if shapes.exists() { masks::read(&shapes)? } else { Vec::new() };
        let pelvis = pelvis.exists().then(|| aapm::density(&pelvis)).transpose()?;
        Ok(Library { source: Source::Slices, series, masks, pelvis })
    }

    /// The library of a source: for slices the files of `folder`, or of `$REYNOLDS_DATA/ct`.
    pub fn of(source: Source, folder: Option<&Path>) -> Result<Library> {
        match (source, folder) {
            (Source::Phantom, _) => Ok(Library::built_in()),
            (Source::Slices, Some(folder)) => Library::open(folder),
            (Source::Slices, None) => match std::env::var_os("REYNOLDS_DATA") {
                Some(data) => Library::open(PathBuf::from(data).join("ct")),
                None => Err(Error::setting("slices", "a folder, or $REYNOLDS_DATA with a folder ct", "neither")),
            },
        }
    }
}
