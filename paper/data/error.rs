//! What can be wrong with data, said so that a user can mend it.

use std::path::{Path, PathBuf};

/// The result of making or reading data.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// Which file, which array or setting, what was expected and what was found.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A file of arrays refused.
    #[error(transparent)]
    File(#[from] reynolds_checkpoint::Error),
    /// The operating system refused.
    #[error("{}: cannot {action}: {source}", file.display())]
    Io {
        file: PathBuf,
        action: &'static str,
        #[source]
        source: std::io::Error,
    },
    /// A file whose structure is not what its format demands.
    #[error("{}: expected {expected}, found {found}", file.display())]
    Malformed { file: PathBuf, expected: String, found: String },
    /// An array that is not what its format demands.
    #[error("{}: \"{tensor}\": expected {expected}, found {found}", file.display())]
    Tensor { file: PathBuf, tensor: String, expected: String, found: String },
    /// Two files or members of one name.
    #[error("{}: expected every name once, found \"{name}\" twice", file.display())]
    Duplicate { file: PathBuf, name: String },
    /// A setting of a dataset outside its range.
    #[error("{what}: expected {expected}, found {found}")]
    Setting { what: &'static str, expected: String, found: String },
    /// A simulation whose velocities ran away.
    #[error("simulation {simulation}: expected velocities of at most {limit} at step {step}, found {found}")]
    Diverged {
        simulation: String,
        /// The step, counted from 1.
        step: usize,
        /// The largest velocity that is plausible.
        limit: f64,
        found: f64,
    },
    /// Someone stopped the generation of a data set.
    #[error("{}: the generation was stopped; finished simulations are kept", folder.display())]
    Interrupted { folder: PathBuf },
    /// A simulation whose pressure was not found.
    #[error("simulation {simulation}: expected the pressure of step {step} within 1000 iterations, found none")]
    Unsolved {
        simulation: String,
        /// The step, counted from 1.
        step: usize,
    },
}

impl Error {
    /// For `map_err`: the operating system refused `action` on a file or folder.
    pub(crate) fn io(file: &Path, action: &'static str) -> impl FnOnce(std::io::Error) -> Self {
        move |source| Self::Io { file: file.into(), action, source }
    }

    pub(crate) fn malformed(file: &Path, expected: impl ToString, found: impl ToString) -> Self {
        Self::Malformed { file: file.into(), expected: expected.to_string(), found: found.to_string() }
    }

    pub(crate) fn tensor(file: &Path, tensor: &str, expected: impl ToString, found: impl ToString) -> Self {
        let (expected, found) = (expected.to_string(), found.to_string());
        Self::Tensor { file: file.into(), tensor: tensor.into(), expected, found }
    }

    pub(crate) fn setting(what: &'static str, expected: impl ToString, found: impl ToString) -> Self {
        Self::Setting { what, expected: expected.to_string(), found: found.to_string() }
    }
}

#[cfg(feature = "torch")]
impl From<Error> for reynolds_train::Error {
    fn from(error: Error) -> Self {
        Self::Experiment(Box::new(error))
    }
}
