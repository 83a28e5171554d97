//! Points of the plane and the group SO(2): the paper's first figures.

pub mod data;

#[cfg(feature = "torch")]
mod bench;
#[cfg(feature = "torch")]
mod experiment;
#[cfg(feature = "torch")]
pub(crate) mod fig_projection;
#[cfg(feature = "torch")]
pub(crate) mod fig_rings;
#[cfg(feature = "torch")]
pub(crate) mod fig_so2;
#[cfg(feature = "torch")]
mod figure;
#[cfg(feature = "torch")]
mod invariance;
#[cfg(feature = "torch")]
pub mod networks;
#[cfg(feature = "torch")]
mod settings;
#[cfg(feature = "torch")]
pub(crate) mod spec;
#[cfg(feature = "torch")]
mod task;
#[cfg(feature = "torch")]
mod weight_decay;

#[cfg(feature = "torch")]
pub use self::{
    experiment::{DiskAndArc, MlpConfig, ModelConfig, Network, PlaneData, PlaneExperiment, PlaneSettings, WaveyRings},
    invariance::invariance,
    settings::FigureSettings,
    spec::Spec,
    task::{DataConfig, PlaneTask},
};
#[cfg(feature = "torch")]
pub(crate) use experiment::{REACH, SIDE, sample_logits};
