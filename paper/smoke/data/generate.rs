//! Making a data set: every simulation that is not there yet, in parallel, each in a file of its own.
//!
//! Files appear whole or not at all, so that whatever interrupts the work can be followed by the same call again. A simulation runs on
//! one thread, and nothing is drawn at random: the bytes do not depend on the number of threads.

use std::fs;
use std::ops::ControlFlow;
use std::path::Path;

use rayon::prelude::*;

use super::file::{self, SmokeFile};
use super::setting::Setting;
use super::simulate::simulate_while;
use crate::data::error::{Error, Result};

#[derive(Debug, Clone, Copy)]
#[non_exhaustive]
pub enum Event<'a> {
    /// A file was there, whole and of the same settings.
    Kept(&'a Setting),
    /// A file was there and is made again.
    Refused {
        setting: &'a Setting,
        reason: &'a Error,
    },
    Stepped(&'a Setting),
    Made(&'a Setting),
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Summary {
    pub kept: usize,
    /// Simulations that were run and written.
    pub made: usize,
}

/// Makes the files of these simulations in `folder`, which is created where it is missing. Runs on rayon's current pool; `report` is
/// called from its threads, and stops all of it when it breaks off: after a step at most. Several processes may fill one folder: what
/// another has finished when a simulation would begin is kept.
///
/// Each running simulation holds its frames: 10 MB for 310 steps.
///
/// # Errors
/// [`Error::Interrupted`] when `report` broke off, [`Error::Io`] when the folder or a file cannot be written, [`Error::Setting`],
/// [`Error::Diverged`] and [`Error::Unsolved`] as for [`simulate`](super::simulate()). Files that were finished before stay.
pub fn generate(
    folder: impl AsRef<Path>,
    simulations: &[Setting],
    report: &(dyn Fn(Event<'_>) -> ControlFlow<()> + Sync),
) -> Result<Summary> {
    let folder = folder.as_ref();
    fs::create_dir_all(folder).map_err(|source| Error::Io { file: folder.into(), action: "create", source })?;
    let tell = |event: Event<'_>| match report(event) {
        ControlFlow::Continue(()) => Ok(()),
        ControlFlow::Break(()) => Err(Error::Interrupted { folder: folder.into() }),
    };
    let check = |setting: &Setting| match look(folder, setting)? {
        Found::Whole => tell(Event::Kept(setting)).map(|()| true),
        Found::Nothing => Ok(false),
        Found::Damaged(reason) => tell(Event::Refused { setting, reason: &reason }).map(|()| false),
    };
    let whole: Vec<bool> = simulations.par_iter().map(check).collect::<Result<_>>()?;
    let mut missing: Vec<&Setting> =
        simulations.iter().zip(&whole).filter(|(_, whole)| !**whole).map(|(setting, _)| setting).collect();
    // The longest first, so that no thread is left with one when the others are done.
    missing.sort_by_key(|setting| std::cmp::Reverse(setting.work()));
    let make = |setting: &&Setting| {
        if matches!(look(folder, setting)?, Found::Whole) {
            return tell(Event::Kept(setting)).map(|()| false);
        }
        let interrupted = || Error::Interrupted { folder: folder.into() };
        let frames = simulate_while(setting, &mut || report(Event::Stepped(setting)))?.ok_or_else(interrupted)?;
        file::write(folder, setting, &frames)?;
        tell(Event::Made(setting)).map(|()| true)
    };
    let made: Vec<bool> = missing.par_iter().with_max_len(1).map(make).collect::<Result<_>>()?;
    let made = made.into_iter().filter(|made| *made).count();
    Ok(Summary { kept: simulations.len() - made, made })
}

/// What lies where the file of a simulation should.
enum Found {
    Whole,
    Nothing,
    Damaged(Error),
}

/// Reads a file and its checksums. What cannot be opened cannot be judged: it stays, and is an error.
fn look(folder: &Path, setting: &Setting) -> Result<Found> {
    if !file::path(folder, setting).try_exists().unwrap_or(true) {
        return Ok(Found::Nothing);
    }
    let read = SmokeFile::open(folder, setting).and_then(|file| {
        file.frames()?;
        file.release();
        Ok(())
    });
    match read {
        Ok(()) => Ok(Found::Whole),
        Err(error @ Error::Io { .. }) => Err(error),
        Err(error) => Ok(Found::Damaged(error)),
    }
}
