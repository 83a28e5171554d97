//! Errors of Rust as exceptions of Python.

use pyo3::PyErr;
use pyo3::create_exception;
use pyo3::exceptions::PyValueError;

create_exception!(
    reynolds,
    ReynoldsError,
    PyValueError,
    "Input that reynolds cannot use: what was expected, and what was found."
);

/// The exception of an error of the core.
pub(crate) fn of_core(error: reynolds::Error) -> PyErr {
    ReynoldsError::new_err(error.to_string())
}

/// The exception of an error with its causes.
pub(crate) fn of_any(error: anyhow::Error) -> PyErr {
    ReynoldsError::new_err(format!("{error:#}"))
}
