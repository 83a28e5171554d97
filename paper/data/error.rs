//! Errors of data sets.

use std::path::{Path, PathBuf};

/// The result of making or reading data.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// Which file, which array or setting, what was expected and what was found.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A file that cannot be read or written, or that does not follow its format.
    #[error(transparent)]
    File(#[from] reynolds_checkpoint::Error),
    /// A setting of a dataset outside its range.
    #[error("{what}: expected {expected}, found {found}")]
    Setting { what: &'static str, expected: String, found: String },
    /// A simulation that became unstable.
    #[error("simulation {simulation}: expected velocities of at most {limit} at step {step}, found {found}")]
    Diverged {
        simulation: String,
        /// The step, counted from 1.
        step: usize,
        /// The largest velocity that is plausible.
        limit: f64,
        found: f64,
    },
    /// The user stopped the generation of a data set.
    #[error("{}: the generation was stopped; finished simulations are kept", folder.display())]
    Interrupted { folder: PathBuf },
    /// A simulation whose pressure solver did not converge.
    #[error("simulation {simulation}: the pressure solver did not converge in 1000 iterations at step {step}")]
    Unsolved {
        simulation: String,
        /// The step, counted from 1.
        step: usize,
    },
}

impl Error {
    /// For `map_err`: the operating system refused `action` on a file or folder.
    pub(crate) fn io(file: &Path, action: &'static str) -> impl FnOnce(std::io::Error) -> Self {
        move |source| Self::File(reynolds_checkpoint::Error::Io { file: file.into(), action, source })
    }

    pub(crate) fn malformed(file: &Path, expected: impl ToString, found: impl ToString) -> Self {
        let (expected, found) = (expected.to_string(), found.to_string());
        Self::File(reynolds_checkpoint::Error::Malformed { file: file.into(), expected, found })
    }

    pub(crate) fn tensor(file: &Path, tensor: &str, expected: impl ToString, found: impl ToString) -> Self {
        let (expected, found) = (expected.to_string(), found.to_string());
        Self::File(reynolds_checkpoint::Error::Tensor { file: file.into(), tensor: tensor.into(), expected, found })
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
