//! Making a data set of pairs: random numbers belong to the case, so that the bytes do not depend on the number of threads.

use std::fs;
use std::path::{Path, PathBuf};

use super::case::Case;
use super::file::{self, CtFile};
use super::library::Library;
use super::set::{LIST, List, SetConfig};
use crate::data::error::{Error, Result};
use crate::data::generate::{self, Event, Report, Summary};
use reynolds_checkpoint::whole_file;

impl generate::Case for Case {
    fn path(&self, folder: &Path) -> PathBuf {
        file::path(folder, self)
    }

    fn check(&self, folder: &Path) -> Result<()> {
        CtFile::open(folder, self).and_then(|file| file.pair()).map(drop)
    }
}

/// Makes a data set in `folder`: a file a case and, at the end, the list of them that [`CtSet::open`](super::CtSet::open) begins with.
/// `report` can stop it after a pair.
///
/// # Errors
/// [`Error::Setting`] as for [`SetConfig::cases`], and [`Error::File`] when the folder holds a finished set of other settings, numbers of
/// pairs aside, before anything is written; [`Error::Interrupted`] and [`Error::File`].
pub fn generate(
    folder: impl AsRef<Path>,
    config: &SetConfig,
    library: &Library,
    report: &Report<'_, Case>,
) -> Result<Summary> {
    let folder = folder.as_ref();
    config.validate()?;
    refuse_another(folder, config)?;
    let cases = config.cases(library)?;
    let make = |case: &Case| {
        file::write(folder, case, &case.pair(library)?)?;
        let _ = report(Event::Stepped(case));
        Ok(())
    };
    let summary = generate::generate(folder, &cases, report, make)?;
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
        Some((expected, found)) => Err(Error::malformed(
            folder,
            format!("a folder that is empty or holds a set of these settings ({expected})"),
            format!("a set of others ({found})"),
        )),
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use std::ops::ControlFlow;

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
