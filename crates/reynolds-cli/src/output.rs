//! What leaves the program: text on its streams, and files written whole or not at all.

use std::io::{self, ErrorKind, IsTerminal, Write};
use std::path::Path;

use anyhow::{Context, Result, bail};

/// Prints to standard output; a reader that has gone away is no error.
pub(crate) fn print(text: &str) -> Result<()> {
    match io::stdout().lock().write_all(text.as_bytes()).and_then(|()| io::stdout().flush()) {
        Err(error) if error.kind() == ErrorKind::BrokenPipe => Ok(()),
        done => done.context("cannot write to standard output"),
    }
}

/// Prints an error with its causes; where standard error is closed there is nobody to tell.
pub(crate) fn error(error: &anyhow::Error) {
    // A cause whose text the one above it already carries is not said twice.
    let mut message = String::new();
    for cause in error.chain().map(ToString::to_string).filter(|cause| !cause.is_empty()) {
        if !message.ends_with(&cause) {
            let colon = if message.is_empty() { "" } else { ": " };
            message = format!("{message}{colon}{cause}");
        }
    }
    let _ = writeln!(io::stderr(), "error: {message}");
}

/// Whether to colour standard output.
pub(crate) fn colour() -> bool {
    io::stdout().is_terminal() && std::env::var_os("NO_COLOR").is_none()
}

/// Writes a file beside the checkpoint it is about: a temporary file in the same folder, synchronised and renamed.
pub(crate) fn write_file(path: &Path, text: &str, model: &Path) -> Result<()> {
    if let (Ok(a), Ok(b)) = (path.canonicalize(), model.canonicalize())
        && a == b
    {
        bail!("{}: expected another file than the model, found the model itself", path.display());
    }
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let write = || -> io::Result<()> {
        let mut file = tempfile::NamedTempFile::new_in(folder)?;
        file.write_all(text.as_bytes())?;
        file.as_file().sync_all()?;
        file.persist(path)?;
        Ok(())
    };
    write().with_context(|| format!("{}: cannot write", path.display()))
}
