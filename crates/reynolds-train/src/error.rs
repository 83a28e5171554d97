//! Errors of runs.

use std::path::{Path, PathBuf};

use crate::config::nearest;

/// The result of this crate.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// The error of this crate.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// From [`reynolds_torch`].
    #[error(transparent)]
    Method(#[from] reynolds_torch::Error),
    /// From libtorch.
    #[error("libtorch: {}", reynolds_torch::error::first_line(.0))]
    Torch(reynolds_torch::tch::TchError),
    /// From [`reynolds`].
    #[error(transparent)]
    Reynolds(#[from] reynolds::Error),
    /// From [`reynolds_checkpoint`].
    #[error(transparent)]
    Checkpoint(#[from] reynolds_checkpoint::Error),
    /// From an experiment or a measurement: about its data, for example.
    #[error(transparent)]
    Experiment(Box<dyn std::error::Error + Send + Sync>),
    /// From the operating system.
    #[error("{}: cannot {action}: {source}", file.display())]
    Io {
        /// The file.
        file: PathBuf,
        /// A verb: "read".
        action: &'static str,
        /// Its error.
        #[source]
        source: std::io::Error,
    },
    /// A setting of the wrong type or outside its range.
    #[error("{origin}: {key}: expected {expected}, found {found}")]
    Config {
        /// The file it came from, or "--set", or "config".
        origin: String,
        /// The dotted key.
        key: String,
        /// What is allowed.
        expected: String,
        /// What was given.
        found: String,
    },
    /// An unknown key.
    #[error("{origin}: unknown key \"{key}\": {hint}")]
    UnknownKey {
        /// The file it came from, or "--set".
        origin: String,
        /// The dotted key.
        key: String,
        /// The nearest valid key.
        hint: String,
    },
    /// An unknown experiment or target.
    #[error("unknown {what} \"{name}\": {hint}")]
    Unknown {
        /// "experiment" or "target".
        what: &'static str,
        /// As given.
        name: String,
        /// The nearest names, and all of them.
        hint: String,
    },
    /// A file of a run that is not what it should be.
    #[error("{}: expected {expected}, found {found}", file.display())]
    File {
        /// The file or folder.
        file: PathBuf,
        /// What it should be.
        expected: String,
        /// What it is.
        found: String,
    },
    /// Training became non-finite.
    #[error("epoch {epoch}: {quantity} is not finite: {checkpoint}")]
    NotFinite {
        /// From 1, as in the metrics.
        epoch: usize,
        /// The loss, the penalty, the weights, …
        quantity: String,
        /// Path of the last good checkpoint.
        checkpoint: String,
    },
    /// Cancelled inside an evaluation: the loop saves and ends.
    #[error("interrupted")]
    Interrupted,
    /// Some runs of a sweep failed.
    #[error("{failed} of {total} runs failed")]
    Sweep {
        /// How many failed.
        failed: usize,
        /// Number of runs.
        total: usize,
    },
}

/// Without the source, whose message would repeat this one and add libtorch's stack.
impl From<reynolds_torch::tch::TchError> for Error {
    fn from(error: reynolds_torch::tch::TchError) -> Self {
        Self::Torch(error)
    }
}

impl Error {
    /// A name that is none of these.
    pub fn unknown(what: &'static str, name: &str, names: &[&str]) -> Self {
        let nearest = nearest(names.iter().copied(), |other| strsim::normalized_damerau_levenshtein(name, other));
        let question = nearest.map(|near| format!("did you mean \"{near}\"? ")).unwrap_or_default();
        Self::Unknown { what, name: name.into(), hint: format!("{question}there are {}", names.join(", ")) }
    }

    /// An [`Error::Config`]; the loader fills in the origin.
    pub fn config(key: impl Into<String>, expected: impl ToString, found: impl ToString) -> Self {
        Self::given("config", key, expected, found)
    }

    /// An [`Error::Config`] with its origin, a file or an option.
    pub fn given(origin: impl ToString, key: impl Into<String>, expected: impl ToString, found: impl ToString) -> Self {
        let (expected, found) = (expected.to_string(), found.to_string());
        Self::Config { origin: origin.to_string(), key: key.into(), expected, found }
    }

    /// For `map_err` on errors about an argument, named as typed: "--group".
    pub fn argument(name: &'static str) -> impl FnOnce(reynolds::Error) -> Self {
        move |source| Self::Experiment(format!("{name}: {source}").into())
    }

    /// An [`Error::File`].
    pub fn file(file: &Path, expected: impl ToString, found: impl ToString) -> Self {
        Self::File { file: file.into(), expected: expected.to_string(), found: found.to_string() }
    }

    /// For `map_err` on errors of the operating system.
    pub fn io(file: &Path, action: &'static str) -> impl FnOnce(std::io::Error) -> Self {
        let file = file.to_path_buf();
        move |source| Self::Io { file, action, source }
    }
}

#[cfg(test)]
mod tests {
    use std::error::Error as _;

    use reynolds_torch::tch::Tensor;

    use super::Error;

    #[test]
    fn what_libtorch_says_is_said_once_and_without_its_stack() {
        let refused = || Tensor::from_slice(&[1.0, 2.0]).f_add(&Tensor::from_slice(&[1.0, 2.0, 3.0])).unwrap_err();
        for error in [Error::from(refused()), Error::from(reynolds_torch::Error::from(refused()))] {
            let message = error.to_string();
            assert!(message.starts_with("libtorch: The size of tensor a") && message.lines().count() == 1, "{message}");
            assert!(error.source().is_none(), "{message}");
        }
    }
}
