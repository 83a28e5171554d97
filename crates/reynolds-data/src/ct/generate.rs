//! Making a data set: every pair that is not there yet, in parallel, each in a file of its own.
//!
//! Files appear whole or not at all, so that whatever interrupts the work can be followed by the same call again. Random numbers belong
//! to the case: the bytes do not depend on the number of threads.

use std::fs;
use std::ops::ControlFlow;
use std::path::Path;

use rayon::prelude::*;

use super::case::Case;
use super::file::{self, CtFile};
use super::library::Library;
use super::set::{LIST, List, SetConfig};
use crate::checkpoint::write_parts;
use crate::error::{Error, Result};

/// What happened during generation.
#[derive(Debug, Clone, Copy)]
#[non_exhaustive]
pub enum Event<'a> {
    /// The cases are known.
    Begun {
        /// How many there are.
        cases: usize,
    },
    /// A file was there, whole and of the same case.
    Kept(&'a Case),
    /// A file was there and is made again.
    Refused {
        /// The case.
        case: &'a Case,
        /// What is wrong with the file.
        reason: &'a Error,
    },
    /// A pair was written.
    Made(&'a Case),
}

/// What a generation did.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Summary {
    /// Pairs whose files were kept.
    pub kept: usize,
    /// Pairs that were simulated and written.
    pub made: usize,
}

/// Makes a data set in `folder`, which is created where it is missing: a file a case and, at the end, the list of them that
/// [`CtSet::open`](super::CtSet::open) begins with. Runs on rayon's current pool; `report` is called from its threads, and stops all of it
/// when it breaks off: after a pair at most. Several processes may fill one folder: what another has finished when a pair would begin is
/// kept.
///
/// # Errors
/// [`Error::Setting`] as for [`SetConfig::cases`], before anything is written; [`Error::Interrupted`] when `report` broke off; [`Error::Io`]
/// when the folder or a file cannot be written. Files that were finished before stay.
pub fn generate(
    folder: impl AsRef<Path>,
    config: &SetConfig,
    library: &Library,
    report: &(dyn Fn(Event<'_>) -> ControlFlow<()> + Sync),
) -> Result<Summary> {
    let (folder, cases) = (folder.as_ref(), config.cases(library)?);
    fs::create_dir_all(folder).map_err(|source| Error::Io { file: folder.into(), action: "create", source })?;
    let tell = |event: Event<'_>| match report(event) {
        ControlFlow::Continue(()) => Ok(()),
        ControlFlow::Break(()) => Err(Error::Interrupted { folder: folder.into() }),
    };
    tell(Event::Begun { cases: cases.len() })?;
    let make = |case: &Case| {
        match look(folder, case)? {
            Found::Whole => return tell(Event::Kept(case)).map(|()| false),
            Found::Nothing => {}
            Found::Damaged(reason) => tell(Event::Refused { case, reason: &reason })?,
        }
        file::write(folder, case, &case.pair(library)?)?;
        tell(Event::Made(case)).map(|()| true)
    };
    let made: Vec<bool> = cases.par_iter().with_max_len(1).map(make).collect::<Result<_>>()?;
    let made = made.into_iter().filter(|made| *made).count();
    let summary = Summary { kept: cases.len() - made, made };
    let list = List { config: config.clone(), cases };
    let text = serde_json::to_vec(&list).expect("numbers and texts are always valid JSON");
    let path = folder.join(LIST);
    if fs::read(&path).ok().as_ref() != Some(&text) {
        write_parts(&path, &[&text])?;
    }
    Ok(summary)
}

/// What lies where the file of a case should.
enum Found {
    Whole,
    Nothing,
    Damaged(Error),
}

/// Reads a file and its checksums. What cannot be opened cannot be judged: it stays, and is an error.
fn look(folder: &Path, case: &Case) -> Result<Found> {
    if !file::path(folder, case).try_exists().unwrap_or(true) {
        return Ok(Found::Nothing);
    }
    match CtFile::open(folder, case).and_then(|file| file.pair()) {
        Ok(_) => Ok(Found::Whole),
        Err(error @ Error::Io { .. }) => Err(error),
        Err(error) => Ok(Found::Damaged(error)),
    }
}
