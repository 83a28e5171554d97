//! One pair in one .npz: `truth`, `corrupted`, `interpolated` and `metal` f32 [side, side], and `setting`, the bytes of its case in JSON.

use std::path::{Path, PathBuf};

use super::case::Case;
use super::slice::Pair;
use crate::data::error::{Error, Result};
use crate::data::stored_npz::{self, StoredNpz};
use reynolds_checkpoint::{Entry, Numbers};

pub(super) fn path(folder: &Path, case: &Case) -> PathBuf {
    folder.join(format!("{}.npz", case.name))
}

/// A pair whose file was opened and whose case was found to be the expected one.
///
/// Images are linear attenuation in 1/cm, `[side, side]`, read from the memory map with their checksums.
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

    /// All four images.
    pub fn pair(&self) -> Result<Pair> {
        let image = |number: usize| Ok::<_, Error>(self.stored.values(&self.images[number])?.into_owned());
        let side = self.images[0].shape[0];
        Ok(Pair { side, truth: image(0)?, corrupted: image(1)?, interpolated: image(2)?, metal: image(3)? })
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
