//! What reynolds reads, writes and samples besides configurations: model checkpoints, without running any code they carry, and datasets.
//!
//! ```text
//! file ──open──▶ names, shapes, types ──read──▶ row-major values ──write──▶ the same file with some values replaced
//! ```
//!
//! Everything here is pure Rust and knows nothing of groups or projections.

pub mod checkpoint;
pub mod ct;
pub mod error;
pub mod medmnist;
pub mod png;
mod random;
pub mod rings;
pub mod shapes;
pub mod smoke;
mod stored_npz;
pub mod volumes;

pub use error::{Error, Result};
pub use stored_npz::write_arrays;
