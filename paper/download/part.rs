//! What has arrived of a file.

use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::Write;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use reynolds_checkpoint::whole_file;

/// The file `NAME.part` beside the file to be, which one process at a time may write.
pub(super) struct Part {
    path: PathBuf,
    target: PathBuf,
    file: File,
    length: u64,
}

impl Part {
    /// Opens what an earlier call left, or begins.
    pub(super) fn open(target: &Path) -> Result<Part> {
        let name = target.file_name().context("expected a file name, found none")?;
        let mut name = name.to_owned();
        name.push(".part");
        let path = target.with_file_name(name);
        let cannot = |action: &str| format!("{}: cannot {action}", path.display());
        let file = OpenOptions::new().append(true).create(true).open(&path).with_context(|| cannot("create"))?;
        match file.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => {
                bail!("{}: expected one process to fetch this file, found another at it", path.display())
            }
            Err(TryLockError::Error(error)) => return Err(error).with_context(|| cannot("lock")),
        }
        let length = file.metadata().with_context(|| cannot("inspect"))?.len();
        Ok(Part { path, target: target.into(), file, length })
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// Bytes that are there.
    pub(super) fn length(&self) -> u64 {
        self.length
    }

    pub(super) fn append(&mut self, bytes: &[u8]) -> Result<()> {
        self.file.write_all(bytes).with_context(|| format!("{}: cannot write", self.path.display()))?;
        self.length += bytes.len() as u64;
        Ok(())
    }

    /// Begins again.
    pub(super) fn clear(&mut self) -> Result<()> {
        self.file.set_len(0).with_context(|| format!("{}: cannot empty", self.path.display()))?;
        self.length = 0;
        Ok(())
    }

    /// Removes it where nothing has arrived: there is nothing to go on from.
    pub(super) fn leave(self) {
        if self.length == 0 {
            // The error that led here is the one to report.
            let _ = self.remove();
        }
    }

    pub(super) fn remove(self) -> Result<()> {
        fs::remove_file(&self.path).with_context(|| format!("{}: cannot remove", self.path.display()))
    }

    /// Moves it into place, on disk when this returns.
    pub(super) fn finish(self) -> Result<()> {
        Ok(whole_file::settle(self.file, &self.path, &self.target)?)
    }
}
