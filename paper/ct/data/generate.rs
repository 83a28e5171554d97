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
use crate::data::error::{Error, Result};
use reynolds_checkpoint::whole_file;

#[derive(Debug, Clone, Copy)]
#[non_exhaustive]
pub enum Event<'a> {
    Begun {
        cases: usize,
    },
    /// A file was there, whole and of the same case.
    Kept(&'a Case),
    /// A file was there and is made again.
    Refused {
        case: &'a Case,
        reason: &'a Error,
    },
    Made(&'a Case),
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Summary {
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
/// [`Error::Setting`] as for [`SetConfig::cases`], and [`Error::Malformed`] when the folder holds a finished set of other settings, numbers of
/// pairs aside, before anything is written; [`Error::Interrupted`] when `report` broke off; [`Error::Io`] when the folder or a file cannot be
/// written. Files that were finished before stay.
pub fn generate(
    folder: impl AsRef<Path>,
    config: &SetConfig,
    library: &Library,
    report: &(dyn Fn(Event<'_>) -> ControlFlow<()> + Sync),
) -> Result<Summary> {
    let folder = folder.as_ref();
    config.validate()?;
    refuse_another(folder, config)?;
    let cases = config.cases(library)?;
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
        whole_file::write_parts(&path, &[&text])?;
    }
    Ok(summary)
}

/// A set is not written over by another. What cannot be read is no set.
fn refuse_another(folder: &Path, config: &SetConfig) -> Result<()> {
    let list = fs::read(folder.join(LIST)).ok().and_then(|text| serde_json::from_slice::<List>(&text).ok());
    match list.and_then(|list| config.differences(&list.config)) {
        Some((expected, found)) => Err(Error::Malformed {
            file: folder.into(),
            expected: format!("a folder that is empty or holds a set of these settings ({expected})"),
            found: format!("a set of others ({found})"),
        }),
        None => Ok(()),
    }
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

#[cfg(test)]
mod tests {
    use super::super::{CtSet, Scanner};
    use super::*;

    #[test]
    fn pairs_of_an_older_maker_are_not_opened_and_made_again() {
        let scanner = Scanner { views: 40, cells: 90, cell_mm: 10.0, offset_cells: 0.25, ..Scanner::default() };
        let config = SetConfig { side: 16, train: 1, validation: 0, test: 1, scanner, ..SetConfig::default() };
        let (folder, library) = (tempfile::tempdir().unwrap(), Library::built_in());
        let folder = folder.path();
        let mut cases = config.cases(&library).unwrap();
        for case in &mut cases {
            case.maker = "ct pairs 0".into();
            file::write(folder, case, &case.pair(&library).unwrap()).unwrap();
        }
        let list = serde_json::to_vec(&List { config: config.clone(), cases }).unwrap();
        fs::write(folder.join(LIST), list).unwrap();
        let error = CtSet::open(folder).unwrap_err().to_string();
        assert!(error.ends_with("expected pairs of \"ct pairs 2\", found train_0000 of \"ct pairs 0\""), "{error}");
        let summary = generate(folder, &config, &library, &|_| ControlFlow::Continue(())).unwrap();
        assert_eq!(summary, Summary { kept: 0, made: 3 });
        assert!(CtSet::open(folder).is_ok());
    }
}
