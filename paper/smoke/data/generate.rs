//! Makes a data set. A simulation runs on one thread and without random numbers: its bytes do not depend on the number of threads.

use std::ops::ControlFlow;
use std::path::{Path, PathBuf};

use super::file::{self, SmokeFile};
use super::setting::Setting;
use super::simulate::simulate;
use crate::data::error::{Error, Result};
use crate::data::generate::{self, Case, Event, Report, Summary};

impl Case for Setting {
    fn path(&self, folder: &Path) -> PathBuf {
        file::path(folder, self)
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

/// Makes the files of these simulations in `folder`; `report` can stop it after a step. A running simulation holds its frames, 10 MB for 310
/// steps.
pub fn generate(folder: impl AsRef<Path>, simulations: &[Setting], report: &Report<'_, Setting>) -> Result<Summary> {
    let folder = folder.as_ref();
    generate::generate(folder, simulations, report, |setting| {
        let stepped = || match report(Event::Stepped(setting)) {
            ControlFlow::Continue(()) => Ok(()),
            ControlFlow::Break(()) => Err(Error::Interrupted { folder: folder.into() }),
        };
        file::write(folder, setting, &simulate(setting, &stepped)?)
    })
}
