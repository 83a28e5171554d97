//! Rising smoke: simulations, networks that forecast them, and their tables.

pub mod data;

#[cfg(feature = "torch")]
mod bench;
#[cfg(feature = "torch")]
mod errors;
#[cfg(feature = "torch")]
mod experiment;
#[cfg(feature = "torch")]
mod figures;
#[cfg(feature = "torch")]
mod frames;
#[cfg(feature = "torch")]
pub mod networks;
#[cfg(feature = "torch")]
pub mod penalty;
#[cfg(feature = "torch")]
pub(crate) mod table;
#[cfg(feature = "torch")]
mod task;

#[cfg(feature = "torch")]
pub use self::{
    errors::RolloutErrors,
    experiment::{SmokeDataConfig, SmokeExperiment, SmokeSettings},
    frames::{Rows, SmokeData, check_windows, ensure_needed},
    task::{Rollout, SmokeTask},
};
