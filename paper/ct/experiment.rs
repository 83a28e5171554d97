//! The experiment "ct": metal artefact reduction in slices of computed tomography.
//!
//! ```text
//! corrupted slice Y, interpolated L, mask I ──► unrolled network ──► X, regularised towards C4 in one of five modes
//! ```
//!
//! Paper: section "CT-Scan Metal Artifact Reduction", `tab:hyperparams_ct_mar`: Adam with β = (0.5, 0.999) and learning rate 2e-4, halved
//! after 50 epochs of 80, minibatches of 12 whole slices of 256², the last weights kept. An epoch is 500 minibatches, which is what the
//! paper's throughput and epoch times come to.

use std::path::Path;

use super::settings::{CtSettings, check_together};
use super::task::CtTask;
use super::{figures, pairs};
use reynolds_torch::Precision;
use reynolds_torch::tch::Device;
use reynolds_train::config::{Mode, RunConfig};
use reynolds_train::error::Result;
use reynolds_train::experiment::Experiment;
use reynolds_train::interrupt::Interrupt;
use reynolds_train::metrics::Summary;
use reynolds_train::schedule::Shape;

#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct CtExperiment;

impl Experiment for CtExperiment {
    type Settings = CtSettings;
    type Task = CtTask;

    fn name(&self) -> &'static str {
        "ct"
    }

    fn about(&self) -> &'static str {
        "remove metal artefacts from CT slices with unrolled networks, C4-equivariant in five ways (paper, section 4.3)"
    }

    fn defaults(&self) -> RunConfig<CtSettings> {
        let mut config = RunConfig::new(self.name(), CtSettings::default());
        config.train.epochs = 80;
        config.train.learning_rate = 2e-4;
        config.train.optimiser.beta1 = 0.5;
        config.train.schedule.shape = Shape::MultiStep;
        config.train.schedule.milestones = vec![50, 100, 150, 200];
        config.train.schedule.gamma = 0.5;
        config.train.checkpoint_every = 5;
        config.train.early_stopping.metric = "psnr".into();
        config.train.early_stopping.mode = Mode::Max;
        config
    }

    fn precisions(&self) -> &'static [Precision] {
        &[Precision::F32, Precision::Bf16]
    }

    fn prepare(&self, config: &RunConfig<CtSettings>, interrupt: &Interrupt) -> Result<bool> {
        check_together(config)?;
        CtTask::check(&config.settings.model)?;
        pairs::ensure_pairs(&config.settings.data, config.train.threads, interrupt)
    }

    fn task(&self, config: &RunConfig<CtSettings>, device: Device) -> Result<CtTask> {
        let data = pairs::open(&config.settings.data, device)?;
        CtTask::new(data, &config.settings, config.train.precision, config.seed)
    }

    fn finish(&self, _: &RunConfig<CtSettings>, task: &CtTask, _: &Summary, folder: &Path) -> Result<()> {
        figures::draw(task, &folder.join("figures"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use reynolds_torch::optimiser::Method;
    use reynolds_train::config::{self, Selection, Settings};

    #[test]
    fn the_defaults_are_the_published_protocol() {
        let config = CtExperiment.defaults();
        config.validate().unwrap();
        let adam = config.train.optimiser;
        assert_eq!((adam.method, adam.beta1, adam.beta2, adam.weight_decay), (Method::Adam, 0.5, 0.999, 0.0));
        let rate = |epoch| config.train.schedule.rate(config.train.learning_rate, epoch, config.train.epochs, 0);
        assert_eq!([0, 49, 50, 79].map(rate), [2e-4, 2e-4, 1e-4, 1e-4]);
        let data = &config.settings.data;
        assert_eq!((config.train.epochs, data.batch, data.patch, data.steps), (80, 12, 256, 500));
        assert_eq!((config.train.weights, config.train.early_stopping.patience), (Selection::Last, 0));
        check_together(&config).unwrap();
    }

    #[test]
    fn settings_out_of_range_are_named() {
        for (text, key) in [
            ("[data]\nsource = \"dicom\"", "data.source"),
            ("[data]\nside = 8", "data.side"),
            ("[data]\npatch = 257", "data.patch"),
            ("[data]\nbatch = 0", "data.batch"),
            ("[data]\ntest = 0", "data.test"),
            ("[data]\nslices = \"a\"", "data.slices"),
            ("[data]\ntest_series = \"a\"", "data.test_series"),
            ("[model]\narchitecture = \"unet\"", "model.architecture"),
            ("[sample]\nweight = -1.0", "sample.weight"),
            ("[sample]\nsquared = true", "sample.squared"),
            ("[train.parametrisation]\nlambda_residual = 1.0", "train.parametrisation.lambda_residual"),
        ] {
            let message = config::parse(&CtExperiment.defaults(), text, "f.toml").unwrap_err().to_string();
            assert!(message.starts_with(&format!("f.toml: {key}: expected ")), "{message}");
        }
    }

    #[test]
    fn settings_that_contradict_each_other_are_refused_before_any_pair_is_made() {
        for (text, key) in [
            ("projected = true\n[train.parametrisation]\nkind = \"residual\"", "projected"),
            ("[penalty]\nlambda_perp = 1.0\n[train.parametrisation]\nkind = \"constrained\"", "penalty.lambda_perp"),
            ("[model]\nstages = 0", "model.stages"),
        ] {
            let config = config::parse(&CtExperiment.defaults(), text, "f.toml").unwrap();
            let message = CtExperiment.prepare(&config, &Interrupt::new()).unwrap_err().to_string();
            assert!(message.starts_with(&format!("config: {key}: expected ")), "{message}");
        }
    }
}
