//! The experiments of the paper by name.
//!
//! ```
//! let experiments = reynolds_lab::experiments::all();
//! assert_eq!(experiments.find("so2")?.name(), "so2");
//! assert!(experiments.find("so3").is_err());
//! # Ok::<(), reynolds_lab::Error>(())
//! ```

mod invariance;
mod plane_task;
mod so2;

use crate::experiment::{AnyExperiment, Experiments};

pub use invariance::{Turns, invariance};
pub use plane_task::{DataConfig, PlaneTask};
pub(crate) use so2::{COLOUR_BAR, REACH, SIDE, legend, sample_logits};
pub use so2::{DiskAndArc, MlpConfig, ModelConfig, Network, PlaneData, PlaneExperiment, PlaneSettings, WaveyRings};

/// Every experiment that can be run by name.
pub fn all() -> Experiments {
    Experiments::new(vec![
        AnyExperiment::new(PlaneExperiment::<DiskAndArc>::new()),
        AnyExperiment::new(PlaneExperiment::<WaveyRings>::new()),
    ])
}
