//! The experiments of the paper by name.
//!
//! ```
//! let experiments = reynolds_lab::experiments::all();
//! assert_eq!(experiments.find("so2")?.name(), "so2");
//! assert!(experiments.find("so3").is_err());
//! # Ok::<(), reynolds_lab::Error>(())
//! ```

mod ct;
mod ct_data;
mod ct_evaluation;
mod ct_figures;
mod ct_held;
mod ct_metrics;
mod ct_pairs;
mod ct_settings;
mod ct_task;
mod invariance;
mod medmnist;
mod medmnist_data;
mod medmnist_evaluation;
mod medmnist_figures;
mod medmnist_metrics;
mod medmnist_settings;
mod medmnist_task;
mod plane_task;
mod smoke;
mod smoke_data;
mod smoke_errors;
mod smoke_figures;
mod smoke_penalty;
mod smoke_task;
mod so2;

use crate::experiment::{AnyExperiment, Experiments};

pub use ct::CtExperiment;
pub use ct_data::{CaseImages, CtBatch, CtData, CtPart, Patch, Patches};
pub use ct_evaluation::{CaseQuality, Measured};
pub use ct_figures::{SOFT_TISSUE, case_sheet, shade};
pub use ct_metrics::{psnr, ssim};
pub use ct_pairs::{ensure_pairs, open as open_pairs, pairs_folder};
pub use ct_settings::{CtDataConfig, CtSettings, CtSource};
pub use ct_task::CtTask;
pub use invariance::{Turns, invariance};
pub use medmnist::MedExperiment;
pub use medmnist_data::{ClassPairs, MedData};
pub use medmnist_evaluation::TurningDefect;
pub use medmnist_figures::confusion_sheet;
pub use medmnist_metrics::{Scored, beats_majority, binomial_error, majority_class};
pub use medmnist_settings::{MedDataConfig, MedSettings, MedSource, Resize};
pub use medmnist_task::MedTask;
pub use plane_task::{DataConfig, PlaneTask};
pub use smoke::{SmokeDataConfig, SmokeExperiment, SmokeSettings};
pub use smoke_data::{Part, Rows, SmokeData, WindowCounts, check_windows, data_folder, ensure_needed, symmetry};
pub use smoke_errors::RolloutErrors;
pub use smoke_figures::{StepErrors, chart_room, rollout_sheet, step_chart};
pub use smoke_task::{Rollout, RolloutConfig, SmokeTask};
pub(crate) use so2::{COLOUR_BAR, REACH, SIDE, legend, sample_logits};
pub use so2::{DiskAndArc, MlpConfig, ModelConfig, Network, PlaneData, PlaneExperiment, PlaneSettings, WaveyRings};

/// Every experiment that can be run by name.
pub fn all() -> Experiments {
    Experiments::new(vec![
        AnyExperiment::new(PlaneExperiment::<DiskAndArc>::new()),
        AnyExperiment::new(PlaneExperiment::<WaveyRings>::new()),
        AnyExperiment::new(SmokeExperiment),
        AnyExperiment::new(CtExperiment),
        AnyExperiment::new(MedExperiment),
    ])
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    #[test]
    fn every_committed_configuration_is_that_of_an_experiment() {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../configs");
        let mut count = 0;
        for entry in std::fs::read_dir(folder).unwrap() {
            let file = entry.unwrap().path();
            let table: toml::Table = std::fs::read_to_string(&file).unwrap().parse().unwrap();
            super::all().find(table["experiment"].as_str().unwrap()).unwrap().load(Some(&file), &[]).unwrap();
            count += 1;
        }
        assert!(count >= 2);
    }
}
