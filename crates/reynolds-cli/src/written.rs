//! Files about a checkpoint.

use std::path::Path;

use anyhow::{Result, bail};
use reynolds_checkpoint::whole_file;

/// Writes a file about a checkpoint, other than the checkpoint itself.
pub(crate) fn beside_model(path: &Path, text: &str, model: &Path) -> Result<()> {
    if let (Ok(a), Ok(b)) = (path.canonicalize(), model.canonicalize())
        && a == b
    {
        bail!("{}: expected another file than the model, found the model itself", path.display());
    }
    Ok(whole_file::write(path, text.as_bytes())?)
}
