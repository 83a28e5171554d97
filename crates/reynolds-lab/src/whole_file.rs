//! Files that are written whole or not at all.

use std::fs::{self, File};
use std::io::Write;
use std::path::Path;

use crate::error::{Error, Result};

/// Writes `bytes` to `file` by way of a temporary file beside it that is synchronised to disk and renamed. Killed at any moment, this
/// leaves the old file or the new one. Only one process may write the folder: the name of the temporary file is fixed.
///
/// # Errors
/// [`Error::Io`] if the system refuses; the old file is untouched then.
pub fn write(file: &Path, bytes: &[u8]) -> Result<()> {
    let name = file.file_name().unwrap_or_default().to_string_lossy();
    let temporary = file.with_file_name(format!(".{name}.tmp"));
    let mut target = File::create(&temporary).map_err(Error::io(file, "create a temporary file beside"))?;
    let written = target.write_all(bytes).and_then(|()| target.sync_all()).and_then(|()| fs::rename(&temporary, file));
    if let Err(source) = written {
        // The error that led here is the one to report.
        let _ = fs::remove_file(&temporary);
        return Err(Error::io(file, "write")(source));
    }
    // The rename is durable once the folder is synchronised; systems that cannot open folders need no such step.
    if let Some(Ok(folder)) = file.parent().map(File::open) {
        let _ = folder.sync_all();
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::write;

    #[test]
    fn a_file_is_replaced_and_nothing_else_is_left() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("a.json");
        write(&file, b"one").unwrap();
        write(&file, b"two").unwrap();
        assert_eq!(std::fs::read(&file).unwrap(), b"two");
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1);
    }

    #[test]
    fn a_folder_that_is_not_there_is_an_error_that_names_the_file() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("none").join("a.json");
        assert!(
            write(&file, b"one").unwrap_err().to_string().contains("a.json: cannot create a temporary file beside")
        );
    }
}
