//! One training loop, run folders, and one module for each table and figure of the paper.

pub mod error;
pub mod figure;
pub mod report;
pub mod task;

pub use error::{Error, Result};
