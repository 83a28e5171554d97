//! One simulation in one .npz: `velocity` f32 [frames, 2, 64, 64], and `setting`, the bytes of its settings in JSON.

use std::borrow::Cow;
use std::path::{Path, PathBuf};

use super::setting::{SIDE, Setting};
use crate::data::error::Result;
use crate::data::stored_npz::{self, StoredNpz};
use reynolds_checkpoint::{Entry, Numbers};

pub(super) fn path(folder: &Path, setting: &Setting) -> PathBuf {
    folder.join(format!("{}.npz", setting.name))
}

/// The open file of a simulation with the expected settings.
#[derive(Debug)]
pub struct SmokeFile {
    stored: StoredNpz,
    velocity: Entry,
}

impl SmokeFile {
    /// Opens the file of a simulation in `folder` and checks everything but the velocities.
    pub fn open(folder: impl AsRef<Path>, setting: &Setting) -> Result<SmokeFile> {
        let stored = StoredNpz::open(&path(folder.as_ref(), setting), setting)?;
        let velocity = stored.array("velocity", &[setting.frames(), 2, SIDE, SIDE])?;
        Ok(SmokeFile { stored, velocity })
    }

    /// All frames, [frames, 2, 64, 64], borrowed from the memory map after verifying their checksum.
    pub fn frames(&self) -> Result<Cow<'_, [f32]>> {
        self.stored.values(&self.velocity)
    }

    /// Lets the system drop the frames' pages of the memory map.
    pub fn release(&self) {
        self.stored.release(&self.velocity);
    }
}

pub(super) fn write(folder: &Path, setting: &Setting, frames: &[f32]) -> Result<()> {
    let shape = [setting.frames(), 2, SIDE, SIDE];
    stored_npz::write(&path(folder, setting), setting, &[("velocity", &shape, Numbers::F32(frames))])
}
