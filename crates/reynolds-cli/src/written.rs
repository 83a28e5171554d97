//! Files written whole or not at all.

use std::io::{self, Write};
use std::path::Path;

use anyhow::{Context, Result, bail};

/// Writes a file about a checkpoint, other than the checkpoint itself.
pub(crate) fn beside_model(path: &Path, text: &str, model: &Path) -> Result<()> {
    if let (Ok(a), Ok(b)) = (path.canonicalize(), model.canonicalize())
        && a == b
    {
        bail!("{}: expected another file than the model, found the model itself", path.display());
    }
    whole(path, text.as_bytes())
}

/// Refuses what [`whole`] could not write for want of a folder.
#[cfg(feature = "data")]
pub(crate) fn check(path: &Path) -> Result<()> {
    let folder = folder(path);
    if path.is_dir() {
        bail!("{}: expected a file, found a folder", path.display());
    }
    if !folder.is_dir() {
        let found = if folder.exists() { "a file" } else { "nothing" };
        bail!("{}: expected a folder {} to write to, found {found}", path.display(), folder.display());
    }
    Ok(())
}

fn folder(path: &Path) -> &Path {
    path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

/// Writes a file by way of a temporary one in the same folder, synchronised and renamed.
pub(crate) fn whole(path: &Path, bytes: &[u8]) -> Result<()> {
    let write = || -> io::Result<()> {
        let mut builder = tempfile::Builder::new();
        // A temporary file is its owner's alone; a report is an ordinary file, with what the umask leaves of this.
        #[cfg(unix)]
        builder.permissions(std::os::unix::fs::PermissionsExt::from_mode(0o666));
        let mut file = builder.tempfile_in(folder(path))?;
        file.write_all(bytes)?;
        file.as_file().sync_all()?;
        file.persist(path)?;
        Ok(())
    };
    write().with_context(|| format!("{}: cannot write", path.display()))
}
