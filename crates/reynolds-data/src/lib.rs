//! What reynolds reads and writes besides configurations: model checkpoints, without running any code they carry.
//!
//! ```text
//! file ──open──▶ names, shapes, types ──read──▶ row-major values ──write──▶ the same file with some values replaced
//! ```
//!
//! Everything here is pure Rust and knows nothing of groups or projections.

pub mod checkpoint;
pub mod error;

pub use error::{Error, Result};
