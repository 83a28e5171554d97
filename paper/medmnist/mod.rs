//! Labelled volumes: MedMNIST 3-D and generated shapes, and the networks that tell them apart.

pub mod data;

#[cfg(feature = "torch")]
mod bench;
#[cfg(feature = "torch")]
mod evaluation;
#[cfg(feature = "torch")]
mod experiment;
#[cfg(feature = "torch")]
mod figures;
#[cfg(feature = "torch")]
mod metrics;
#[cfg(feature = "torch")]
pub mod networks;
#[cfg(feature = "torch")]
mod rows;
#[cfg(feature = "torch")]
mod sets;
#[cfg(feature = "torch")]
mod settings;
#[cfg(feature = "torch")]
pub(crate) mod table;
#[cfg(feature = "torch")]
mod task;
#[cfg(feature = "torch")]
mod volumes;

#[cfg(feature = "torch")]
pub use self::{
    evaluation::TurningError,
    experiment::MedExperiment,
    figures::confusion_sheet,
    metrics::{Scored, beats_majority, binomial_error, majority_class},
    rows::{Row, Strengths},
    sets::Set,
    settings::{MedDataConfig, MedSettings, Resize},
    task::MedTask,
    volumes::{ClassPairs, MedData},
};
