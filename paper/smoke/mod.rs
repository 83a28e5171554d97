//! Rising smoke: simulations, networks that forecast them, and their tables.

pub mod data;

#[cfg(feature = "torch")]
pub(crate) mod columns;
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
mod penalty;
#[cfg(feature = "torch")]
pub(crate) mod table;
#[cfg(feature = "torch")]
mod task;

#[cfg(feature = "torch")]
pub use self::{
    errors::RolloutErrors,
    experiment::{SmokeDataConfig, SmokeExperiment, SmokeSettings},
    figures::{StepErrors, rollout_sheet, step_chart},
    frames::{Part, Rows, SmokeData, WindowCounts, check_windows, data_folder, ensure_needed, symmetry},
    task::{Rollout, RolloutConfig, SmokeTask},
};
