//! Shared by the data of all experiments: errors, generation of sets of files, files of arrays with their settings.

pub mod error;
pub mod generate;
pub(crate) mod mosaic;
pub(crate) mod stored_npz;

pub use error::{Error, Result};
