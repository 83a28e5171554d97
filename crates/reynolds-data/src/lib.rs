//! What reynolds reads, writes and samples besides configurations: model checkpoints, without running any code they carry, and datasets.
//!
//! ```text
//! file ──open──▶ names, shapes, types ──read──▶ row-major values ──write──▶ the same file with some values replaced
//! ```
//!
//! Everything here is pure Rust and knows nothing of groups or projections. Data sets come with the feature `datasets`, on by default.

pub mod checkpoint;
#[cfg(feature = "datasets")]
pub mod ct;
pub mod error;
#[cfg(feature = "datasets")]
pub mod medmnist;
#[cfg(feature = "datasets")]
pub mod png;
#[cfg(feature = "datasets")]
mod random;
#[cfg(feature = "datasets")]
pub mod rings;
#[cfg(feature = "datasets")]
pub mod shapes;
#[cfg(feature = "datasets")]
pub mod smoke;
#[cfg(feature = "datasets")]
mod stored_npz;
#[cfg(feature = "datasets")]
pub mod volumes;

pub use error::{Error, Result};
#[cfg(feature = "datasets")]
pub use stored_npz::write_arrays;
