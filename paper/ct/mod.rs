//! Artefacts of metal in CT: sinograms and slices, networks that remove them, in five modes.

pub mod data;

#[cfg(feature = "torch")]
mod bench;
#[cfg(feature = "torch")]
mod bench_metrics;
#[cfg(feature = "torch")]
mod evaluation;
#[cfg(feature = "torch")]
mod experiment;
#[cfg(feature = "torch")]
mod figures;
#[cfg(feature = "torch")]
mod metrics;
#[cfg(feature = "torch")]
pub(crate) mod modes;
#[cfg(feature = "torch")]
pub mod networks;
#[cfg(feature = "torch")]
mod pairs;
#[cfg(feature = "torch")]
mod patches;
#[cfg(feature = "torch")]
mod settings;
#[cfg(feature = "torch")]
pub(crate) mod table;
#[cfg(feature = "torch")]
mod task;

#[cfg(feature = "torch")]
pub use self::{
    bench_metrics::{MetricsBench, MetricsRow},
    evaluation::{CaseQuality, Measured},
    experiment::CtExperiment,
    figures::{SOFT_TISSUE, shade},
    metrics::{psnr, ssim},
    modes::CtMode,
    pairs::{ensure_pairs, open as open_pairs, pairs_folder},
    patches::{CaseImages, CtBatch, CtData, CtSubset, Patch, Patches},
    settings::{CtDataConfig, CtSettings, CtSource},
    task::CtTask,
};
