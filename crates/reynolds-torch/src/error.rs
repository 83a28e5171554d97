//! Errors of tensors, devices and settings: what was expected and what was found.

use tch::Tensor;

/// The result of this crate.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// An error of this crate.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// libtorch refused an operation.
    #[error("libtorch: {}", first_line(.0))]
    Torch(tch::TchError),
    /// The mathematics refused.
    #[error(transparent)]
    Reynolds(#[from] reynolds::Error),
    /// A device that is missing or refuses.
    #[error("device \"{device}\": expected {expected}, found {found}")]
    Device {
        /// Its name as the user gave it.
        device: String,
        /// What was expected.
        expected: String,
        /// What was found.
        found: String,
    },
    /// A parameter that is missing or does not fit.
    #[error("parameter \"{name}\": expected {expected}, found {found}")]
    Parameter {
        /// Name of the parameter.
        name: String,
        /// What was expected.
        expected: String,
        /// What was found.
        found: String,
    },
    /// A setting outside its range.
    #[error("{what}: expected {expected}, found {found}")]
    Setting {
        /// Name of the setting.
        what: String,
        /// What was expected.
        expected: String,
        /// What was found.
        found: String,
    },
}

/// Not as a source, which would be printed with libtorch's stack.
impl From<tch::TchError> for Error {
    fn from(error: tch::TchError) -> Self {
        Self::Torch(error)
    }
}

/// What libtorch says, without the C++ stack that follows over many lines.
pub fn first_line(error: &tch::TchError) -> String {
    let whole = error.to_string();
    let line = whole.lines().map(str::trim).find(|line| !line.is_empty()).unwrap_or_default();
    line.strip_prefix("Internal torch error: ").unwrap_or(line).to_string()
}

impl From<reynolds_cuda::Error> for Error {
    fn from(error: reynolds_cuda::Error) -> Self {
        let reynolds_cuda::Error { device, what, found } = error;
        Self::Device { device: format!("cuda:{device}"), expected: format!("to {what}"), found }
    }
}

impl Error {
    /// An [`Error::Parameter`].
    pub fn parameter(name: impl Into<String>, expected: impl ToString, found: impl ToString) -> Self {
        Self::Parameter { name: name.into(), expected: expected.to_string(), found: found.to_string() }
    }

    /// An [`Error::Setting`].
    pub fn setting(what: impl Into<String>, expected: impl ToString, found: impl ToString) -> Self {
        Self::Setting { what: what.into(), expected: expected.to_string(), found: found.to_string() }
    }
}

/// Refuses a number that is negative or not finite.
pub(crate) fn check_nonnegative(what: &str, value: f64) -> Result<()> {
    match value.is_finite() && value >= 0.0 {
        true => Ok(()),
        false => Err(Error::setting(what, "a finite number, at least 0", value)),
    }
}

/// Refuses a tensor of another size: libtorch would broadcast a scalar.
pub(crate) fn check_size(what: &str, expected: &Tensor, found: &Tensor) -> Result<()> {
    match found.size() == expected.size() {
        true => Ok(()),
        false => Err(Error::setting(what, format!("{:?}", expected.size()), format!("{:?}", found.size()))),
    }
}

#[cfg(test)]
mod tests {
    use super::Error;

    #[test]
    fn libtorch_is_quoted_without_its_stack() {
        let (two, three) = (tch::Tensor::from_slice(&[1.0, 2.0]), tch::Tensor::from_slice(&[1.0, 2.0, 3.0]));
        let cause = two.f_add(&three).unwrap_err();
        assert!(cause.to_string().lines().count() > 1, "libtorch sends a stack");
        let error = Error::from(cause);
        assert!(std::error::Error::source(&error).is_none(), "a chain of causes would say it again, with the stack");
        let message = error.to_string();
        assert!(message.starts_with("libtorch: The size of tensor a (2) must match"), "{message}");
        assert_eq!(message.lines().count(), 1, "{message}");
    }
}
