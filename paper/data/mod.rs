//! What the data of all problems share: errors, files of arrays with their settings.

pub mod error;
pub(crate) mod stored_npz;

pub use error::{Error, Result};
