//! A data set on disk, memory-mapped.

use std::borrow::Cow;
use std::path::Path;

use super::file::SmokeFile;
use super::setting::{Kind, Setting};
use crate::data::error::{Error, Result};

/// The simulations of one [`Kind`], opened and checked.
///
/// Frames are handed out from memory maps: they cost address space and page cache, and no memory of their own. All 35 simulations of
/// `translation` are 356 MB, the 36 of `rotation` 364 MB, the 38 of `scaling` 385 MB: [`SmokeSet::bytes`].
#[derive(Debug)]
pub struct SmokeSet {
    kind: Kind,
    settings: Vec<Setting>,
    files: Vec<SmokeFile>,
}

impl SmokeSet {
    /// Opens all simulations of a data set that [`generate`](super::generate) wrote to `folder`.
    pub fn open(folder: impl AsRef<Path>, kind: Kind) -> Result<SmokeSet> {
        let (folder, settings) = (folder.as_ref(), kind.simulations());
        if !folder.is_dir() {
            return Err(Error::Malformed {
                file: folder.into(),
                expected: format!("a folder with the {} simulations of {kind}", settings.len()),
                found: if folder.exists() { "a file" } else { "nothing" }.into(),
            });
        }
        let files = settings.iter().map(|setting| SmokeFile::open(folder, setting)).collect::<Result<_>>()?;
        Ok(SmokeSet { kind, settings, files })
    }

    pub fn kind(&self) -> Kind {
        self.kind
    }

    /// The settings of all simulations, in the order of [`Kind::simulations`].
    pub fn settings(&self) -> &[Setting] {
        &self.settings
    }

    pub fn bytes(&self) -> usize {
        self.settings.iter().map(Setting::bytes).sum()
    }

    /// All frames of a simulation, [frames, 2, 64, 64], after verifying their checksum.
    ///
    /// # Panics
    /// If there is no simulation of that number.
    pub fn frames(&self, simulation: usize) -> Result<Cow<'_, [f32]>> {
        self.files[simulation].frames()
    }

    /// Says that the frames of a simulation are not needed for now: their pages can go.
    ///
    /// # Panics
    /// If there is no simulation of that number.
    pub fn release(&self, simulation: usize) {
        self.files[simulation].release();
    }
}
