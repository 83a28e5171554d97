//! The method on libtorch: parameters in one flat storage, plans bound to them, the penalty in closed form, and layers.
//!
//! ```text
//! loss ──backward──► flat gradient ──+ 2λ_G P(W) + 2λ_⊥ (W − P(W))──► Adam on the flat storage
//! ```
//!
//! Calls return what libtorch refuses as [`Error::Torch`]: shapes that do not fit, no room on a device. A flat tensor of another length or
//! number type than the parameters have is an [`Error::Setting`], a name that is taken or not there an [`Error::Parameter`].
//!
//! All randomness comes from [`reynolds::random::Random`], never from libtorch, so that a run is a function of its seed.

pub mod action;
pub mod anneal;
pub mod binding;
pub mod device;
pub mod error;
pub mod graph;
pub mod layers;
mod matrices;
mod norm;
mod numbers;
pub mod optimiser;
pub mod parameters;
pub mod parametrisation;
pub mod penalty;
pub mod precision;
mod projector;
pub mod proximal;
pub mod sample_penalty;
mod segments;
#[cfg(test)]
mod testing;
pub mod variables;

pub use binding::Binding;
pub use error::{Error, Result};
pub use parameters::Parameters;
pub use penalty::Penalty;
pub use precision::Precision;
pub use proximal::{ProximalStep, TargetStep};
pub use tch;
pub use variables::Variables;
