//! The files of a data set: one .npz a pair, `truth`, `corrupted`, `interpolated` and `metal` f32 [side, side] and `setting`, the bytes of
//! its case in JSON; and the list of cases.

use std::fs;
use std::path::{Path, PathBuf};

use super::case::Case;
use super::library::Library;
use super::set::{LIST, List, SetConfig};
use super::slice::Pair;
use crate::data::error::{Error, Result};
use crate::data::generate::{self, Event, Report, Summary};
use crate::data::stored_npz::{self, StoredNpz};
use reynolds_checkpoint::{Entry, Numbers, whole_file};

pub(super) fn path(folder: &Path, case: &Case) -> PathBuf {
    folder.join(format!("{}.npz", case.name))
}

const IMAGES: [&str; 4] = ["truth", "corrupted", "interpolated", "metal"];

/// A file of the expected case. Images are read from its memory map with their checksums.
#[derive(Debug)]
pub struct CtFile {
    stored: StoredNpz,
    images: [Entry; 4],
}

impl CtFile {
    /// Opens the file of a case in `folder` and checks everything but the images themselves.
    pub fn open(folder: impl AsRef<Path>, case: &Case) -> Result<CtFile> {
        let stored = StoredNpz::open(&path(folder.as_ref(), case), case)?;
        let image = |name: &str| stored.array(name, &[case.side, case.side]);
        let images = [image(IMAGES[0])?, image(IMAGES[1])?, image(IMAGES[2])?, image(IMAGES[3])?];
        Ok(CtFile { stored, images })
    }

    pub fn pair(&self) -> Result<Pair> {
        let image = |number: usize| Ok::<_, Error>(self.stored.values(&self.images[number])?.into_owned());
        let side = self.images[0].shape[0];
        Ok(Pair { side, truth: image(0)?, corrupted: image(1)?, interpolated: image(2)?, metal: image(3)? })
    }

    /// The images are not needed for now: frees their pages of the map.
    pub fn release(&self) {
        self.images.iter().for_each(|image| self.stored.release(image));
    }
}

pub(super) fn write(folder: &Path, case: &Case, pair: &Pair) -> Result<()> {
    let shape = [case.side, case.side];
    let images = [&pair.truth, &pair.corrupted, &pair.interpolated, &pair.metal];
    let arrays: Vec<_> =
        IMAGES.iter().zip(images).map(|(name, image)| (*name, &shape[..], Numbers::F32(image.as_slice()))).collect();
    stored_npz::write(&path(folder, case), case, &arrays)
}

impl generate::Case for Case {
    fn path(&self, folder: &Path) -> PathBuf {
        path(folder, self)
    }

    fn check(&self, folder: &Path) -> Result<()> {
        CtFile::open(folder, self).and_then(|file| file.pair()).map(drop)
    }
}

/// Makes a data set in `folder`: a file a case and, at the end, the list of them that [`CtSet::open`](super::CtSet::open) begins with.
/// `report` can stop it after a pair. A finished set of other settings, numbers of pairs aside, is not written over.
///
/// Noise and anatomy belong to the case, so that the bytes do not depend on the number of threads.
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
        write(folder, case, &case.pair(library)?)?;
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
        Some([expected, found]) => Err(Error::malformed(
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
            write(folder, case, &case.pair(&library).unwrap()).unwrap();
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
