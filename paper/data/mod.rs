//! Shared by the data of all experiments: errors, generation of sets of files, files of arrays with their settings.

pub mod error;
pub mod generate;
pub(crate) mod mosaic;
pub(crate) mod stored_npz;

use std::path::{Path, PathBuf};

pub use error::{Error, Result};

/// The folder of data of this name: as given; if that is empty `$REYNOLDS_DATA/name`, or `data/name` where that is not set.
pub fn folder(given: impl AsRef<Path>, name: &str) -> PathBuf {
    if !given.as_ref().as_os_str().is_empty() {
        return given.as_ref().into();
    }
    let root = std::env::var_os("REYNOLDS_DATA").filter(|root| !root.is_empty());
    root.map_or("data".into(), PathBuf::from).join(name)
}
