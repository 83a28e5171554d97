//! A data set: one simulation in one .npz, with `velocity` f32 [frames, 2, 64, 64] and `setting`, the bytes of its settings in JSON.

use std::borrow::Cow;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};

use super::setting::{SIDE, Setting};
use super::simulate::simulate;
use crate::data::error::{Error, Result};
use crate::data::generate::{self, Case, Event, Report, Summary};
use crate::data::stored_npz::{self, StoredNpz};
use reynolds_checkpoint::{Entry, Numbers};

fn path(folder: &Path, setting: &Setting) -> PathBuf {
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

fn write(folder: &Path, setting: &Setting, frames: &[f32]) -> Result<()> {
    let shape = [setting.frames(), 2, SIDE, SIDE];
    stored_npz::write(&path(folder, setting), setting, &[("velocity", &shape, Numbers::F32(frames))])
}

impl Case for Setting {
    fn path(&self, folder: &Path) -> PathBuf {
        path(folder, self)
    }

    fn check(&self, folder: &Path) -> Result<()> {
        let file = SmokeFile::open(folder, self)?;
        file.frames()?;
        file.release();
        Ok(())
    }

    fn work(&self) -> u64 {
        Setting::work(self)
    }

    fn steps(&self) -> u64 {
        self.steps as u64
    }
}

/// Makes the files of these simulations in `folder`; `report` can stop it after a step. A simulation runs on one thread and without random
/// numbers, so that its bytes do not depend on the number of threads. It holds its frames, 10 MB for 310 steps.
pub fn generate(folder: impl AsRef<Path>, simulations: &[Setting], report: &Report<'_, Setting>) -> Result<Summary> {
    let folder = folder.as_ref();
    generate::generate(folder, simulations, report, |setting| {
        let stepped = || match report(Event::Stepped(setting)) {
            ControlFlow::Continue(()) => Ok(()),
            ControlFlow::Break(()) => Err(Error::Interrupted { folder: folder.into() }),
        };
        write(folder, setting, &simulate(setting, &stepped)?)
    })
}
