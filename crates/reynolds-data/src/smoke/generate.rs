//! Making a data set: every simulation that is not there yet, in parallel, each in a file of its own.
//!
//! Files appear whole or not at all, so that whatever interrupts the work can be followed by the same call again. A simulation runs on
//! one thread, and nothing is drawn at random: the bytes do not depend on the number of threads.

use std::fs;
use std::path::Path;

use rayon::prelude::*;

use super::file::{self, SmokeFile};
use super::setting::Setting;
use super::simulate::simulate;
use crate::error::{Error, Result};

/// What happened during generation.
#[derive(Debug, Clone, Copy)]
#[non_exhaustive]
pub enum Event<'a> {
    /// A file was there, whole and of the same settings.
    Kept(&'a Setting),
    /// A file was there and is made again.
    Refused {
        /// The simulation.
        setting: &'a Setting,
        /// What is wrong with the file.
        reason: &'a Error,
    },
    /// A simulation advanced by one step.
    Stepped(&'a Setting),
    /// A simulation was written.
    Made(&'a Setting),
}

/// What a generation did.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Summary {
    /// Simulations whose files were kept.
    pub kept: usize,
    /// Simulations that were run and written.
    pub made: usize,
}

/// Makes the files of these simulations in `folder`, which is created where it is missing. Runs on rayon's current pool; `report` is
/// called from its threads.
///
/// Each running simulation holds its frames: 10 MB for 310 steps.
///
/// # Errors
/// [`Error::Io`] when the folder or a file cannot be written, [`Error::Setting`] and [`Error::Diverged`] as for [`simulate`]. Files
/// that were finished before stay.
pub fn generate(
    folder: impl AsRef<Path>,
    simulations: &[Setting],
    report: &(dyn Fn(Event<'_>) + Sync),
) -> Result<Summary> {
    let folder = folder.as_ref();
    fs::create_dir_all(folder).map_err(|source| Error::Io { file: folder.into(), action: "create", source })?;
    let is_there = |setting: &Setting| file::path(folder, setting).try_exists().unwrap_or(true);
    let check = |setting: &Setting| -> Result<bool> {
        if !is_there(setting) {
            return Ok(false);
        }
        let found = SmokeFile::open(folder, setting).and_then(|file| {
            file.frames()?;
            file.release();
            Ok(())
        });
        match found {
            Ok(()) => {
                report(Event::Kept(setting));
                Ok(true)
            }
            // What cannot be opened cannot be judged: it stays.
            Err(error @ Error::Io { .. }) => Err(error),
            Err(error) => {
                report(Event::Refused { setting, reason: &error });
                Ok(false)
            }
        }
    };
    let whole: Vec<bool> = simulations.par_iter().map(check).collect::<Result<_>>()?;
    let mut missing: Vec<&Setting> =
        simulations.iter().zip(&whole).filter(|(_, whole)| !**whole).map(|(setting, _)| setting).collect();
    // The longest first, so that no thread is left with one when the others are done.
    missing.sort_by_key(|setting| std::cmp::Reverse(setting.work()));
    missing.par_iter().with_max_len(1).try_for_each(|setting| {
        let frames = simulate(setting, &mut || report(Event::Stepped(setting)))?;
        file::write(folder, setting, &frames)?;
        report(Event::Made(setting));
        Ok(())
    })?;
    Ok(Summary { kept: simulations.len() - missing.len(), made: missing.len() })
}
