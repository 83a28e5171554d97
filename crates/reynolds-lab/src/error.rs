//! What can go wrong with a run, said so that a user can mend it.

use std::path::PathBuf;

/// The result of this crate.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// An error of this crate.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The method on libtorch refused.
    #[error(transparent)]
    Method(#[from] reynolds_torch::Error),
    /// libtorch refused an operation.
    #[error("libtorch: {}", reynolds_torch::error::first_line(.0))]
    Torch(#[from] reynolds_torch::tch::TchError),
    /// The mathematics refused.
    #[error(transparent)]
    Reynolds(#[from] reynolds::Error),
    /// The operating system refused.
    #[error("{}: cannot {action}: {source}", file.display())]
    Io {
        /// The file.
        file: PathBuf,
        /// What was being done.
        action: &'static str,
        /// What the operating system said.
        #[source]
        source: std::io::Error,
    },
}
