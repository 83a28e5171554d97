//! Errors of checkpoint files.

use std::path::PathBuf;

/// The result of this crate.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// An error of this crate: which file, which tensor, what was expected and what was found.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The operating system refused an action.
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
    /// A file that does not follow its format, or that cannot be the output.
    #[error("{}: expected {expected}, found {found}", file.display())]
    Malformed {
        /// The file.
        file: PathBuf,
        /// What the format demands.
        expected: String,
        /// What is there.
        found: String,
    },
    /// A tensor or archive member that does not follow its format, or new values that do not fit it.
    #[error("{}: \"{tensor}\": expected {expected}, found {found}", file.display())]
    Tensor {
        /// The file.
        file: PathBuf,
        /// Name of the tensor or of the member.
        tensor: String,
        /// What was expected.
        expected: String,
        /// What was found.
        found: String,
    },
    /// A pickle that asks for more than tensors in dictionaries; nothing of it was executed.
    #[error("{}: refused: the pickle uses {what}, expected only tensors in plain containers ({hint})", file.display())]
    Refused {
        /// The file.
        file: PathBuf,
        /// The class, function or opcode that is not on the allow-list.
        what: String,
        /// What the user can do.
        hint: &'static str,
    },
}

impl Error {
    /// A file that is not what was expected.
    pub(crate) fn malformed(file: impl Into<PathBuf>, expected: impl Into<String>, found: impl Into<String>) -> Self {
        Self::Malformed { file: file.into(), expected: expected.into(), found: found.into() }
    }

    /// The system's refusal of an action on a file.
    pub(crate) fn io(file: impl Into<PathBuf>, action: &'static str) -> impl FnOnce(std::io::Error) -> Self {
        move |source| Self::Io { file: file.into(), action, source }
    }
}
