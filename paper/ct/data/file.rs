//! One pair in one .npz: `truth`, `corrupted`, `interpolated` and `metal` f32 [side, side], and `setting`, the bytes of its case in JSON.

use std::borrow::Cow;
use std::path::{Path, PathBuf};

use super::case::Case;
use super::slice::Pair;
use crate::data::error::Result;
use crate::data::stored_npz::{self, StoredNpz};
use reynolds_checkpoint::{Entry, Numbers};

pub(super) fn path(folder: &Path, case: &Case) -> PathBuf {
    folder.join(format!("{}.npz", case.name))
}

/// A pair whose file was opened and whose case was found to be the expected one.
///
/// Images are linear attenuation in 1/cm, `[side, side]`, borrowed from the memory map after verifying their checksums.
#[derive(Debug)]
pub struct CtFile {
    stored: StoredNpz,
    images: [Entry; 4],
}

const IMAGES: [&str; 4] = ["truth", "corrupted", "interpolated", "metal"];

impl CtFile {
    /// Opens the file of a case in `folder` and checks everything but the images themselves.
    pub fn open(folder: impl AsRef<Path>, case: &Case) -> Result<CtFile> {
        let stored = StoredNpz::open(&path(folder.as_ref(), case), case)?;
        let image = |name: &str| stored.array(name, &[case.side, case.side]);
        let images = [image(IMAGES[0])?, image(IMAGES[1])?, image(IMAGES[2])?, image(IMAGES[3])?];
        Ok(CtFile { stored, images })
    }

    /// Without metal.
    pub fn truth(&self) -> Result<Cow<'_, [f32]>> {
        self.stored.values(&self.images[0])
    }

    /// With metal.
    pub fn corrupted(&self) -> Result<Cow<'_, [f32]>> {
        self.stored.values(&self.images[1])
    }

    /// With metal, its trace in the sinogram bridged by linear interpolation.
    pub fn interpolated(&self) -> Result<Cow<'_, [f32]>> {
        self.stored.values(&self.images[2])
    }

    /// 1 where there is metal, 0 elsewhere, fractions at its edge.
    pub fn metal(&self) -> Result<Cow<'_, [f32]>> {
        self.stored.values(&self.images[3])
    }

    /// All four images.
    pub fn pair(&self) -> Result<Pair> {
        Ok(Pair {
            side: self.images[0].shape[0],
            truth: self.truth()?.into_owned(),
            corrupted: self.corrupted()?.into_owned(),
            interpolated: self.interpolated()?.into_owned(),
            metal: self.metal()?.into_owned(),
        })
    }

    /// Says that the images are not needed for now: their pages of the map can go.
    pub fn release(&self) {
        self.images.iter().for_each(|image| self.stored.release(image));
    }
}

/// Writes a pair, whole or not at all.
pub(super) fn write(folder: &Path, case: &Case, pair: &Pair) -> Result<()> {
    let shape = [case.side, case.side];
    let images = [&pair.truth, &pair.corrupted, &pair.interpolated, &pair.metal];
    let arrays: Vec<_> =
        IMAGES.iter().zip(images).map(|(name, image)| (*name, &shape[..], Numbers::F32(image.as_slice()))).collect();
    stored_npz::write(&path(folder, case), case, &arrays)
}
