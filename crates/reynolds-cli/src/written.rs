//! Files written whole or not at all.

use std::io::{self, Write};
use std::path::Path;

use anyhow::{Context, Result, bail};

/// Writes a file beside the checkpoint it is about: a temporary file in the same folder, synchronised and renamed.
pub(crate) fn beside_model(path: &Path, text: &str, model: &Path) -> Result<()> {
    if let (Ok(a), Ok(b)) = (path.canonicalize(), model.canonicalize())
        && a == b
    {
        bail!("{}: expected another file than the model, found the model itself", path.display());
    }
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let write = || -> io::Result<()> {
        let mut builder = tempfile::Builder::new();
        // A temporary file is its owner's alone; a report is an ordinary file, with what the umask leaves of this.
        #[cfg(unix)]
        builder.permissions(std::os::unix::fs::PermissionsExt::from_mode(0o666));
        let mut file = builder.tempfile_in(folder)?;
        file.write_all(text.as_bytes())?;
        file.as_file().sync_all()?;
        file.persist(path)?;
        Ok(())
    };
    write().with_context(|| format!("{}: cannot write", path.display()))
}
