//! One writer a folder.

use std::fs::{self, File, TryLockError};
use std::path::Path;

use crate::error::{Error, Result};

/// Held until it is dropped; the system lets go of it when the process ends, however it ends, so that no dead process blocks a folder.
#[derive(Debug)]
pub(crate) struct Lock(File);

impl Drop for Lock {
    fn drop(&mut self) {
        // Closing alone would not do while a child that is just being started holds a copy of the file.
        let _ = self.0.unlock();
    }
}

impl Lock {
    /// Takes the folder, which is made if it is not there.
    pub(crate) fn take(folder: &Path) -> Result<Self> {
        fs::create_dir_all(folder).map_err(Error::io(folder, "create"))?;
        let file = folder.join("lock");
        let lock = File::create(&file).map_err(Error::io(&file, "create"))?;
        match lock.try_lock() {
            Ok(()) => Ok(Self(lock)),
            Err(TryLockError::WouldBlock) => {
                Err(Error::file(folder, "a folder that nobody writes", "another process that is writing it"))
            }
            Err(TryLockError::Error(source)) => Err(Error::io(&file, "lock")(source)),
        }
    }
}
