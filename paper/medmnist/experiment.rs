//! The experiment "medmnist": classification of volumes of MedMNIST or of generated shapes.
//!
//! ```text
//! volume 29³ ──► CNN | steerable CNN | RPP | P-SCNN | ours, regularised towards SO(3) or O(3) ──► class
//! ```
//!
//! Paper: section "MedMNIST", `tab:medmnist`, `tab:hyperparams_medmnist`. Protocol after Veefkind and Cesa: Adam at a constant learning rate,
//! cross entropy, minibatches of 32, no augmentation, the weights of the best validation accuracy, of equal ones those of the least
//! validation loss. They publish neither learning rate nor epochs: 1e-4 and 100 here. For Organ their code tests the last weights; a summary
//! has both.

use std::collections::BTreeMap;
use std::path::Path;

use reynolds_torch::Precision;
use reynolds_torch::tch::{Cuda, Device};

use super::figures;
use super::metrics::beats_majority;
use super::settings::MedSettings;
use super::task::MedTask;
use super::volumes::MedData;
use reynolds_train::config::{Mode, RunConfig, Selection};
use reynolds_train::error::{Error, Result};
use reynolds_train::experiment::Experiment;
use reynolds_train::interrupt::Interrupt;
use reynolds_train::metrics::Summary;
use reynolds_train::page::write_facts;
use reynolds_train::task::{Split, Task};

#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct MedExperiment;

impl Experiment for MedExperiment {
    type Settings = MedSettings;
    type Task = MedTask;

    fn name(&self) -> &'static str {
        "medmnist"
    }

    fn about(&self) -> &'static str {
        "classify volumes of MedMNIST or generated shapes, with networks regularised towards SO(3) or O(3) (paper, section 4.4)"
    }

    fn defaults(&self) -> RunConfig<MedSettings> {
        let mut config = RunConfig::new(self.name(), MedSettings::default());
        config.train.epochs = 100;
        config.train.learning_rate = 1e-4;
        config.train.weights = Selection::Best;
        config.train.early_stopping.metric = "accuracy".into();
        config.train.early_stopping.mode = Mode::Max;
        config.train.early_stopping.ties = "loss".into();
        config
    }

    fn precisions(&self) -> &'static [Precision] {
        &[Precision::F32, Precision::Bf16]
    }

    /// Says how to get a missing file.
    fn prepare(&self, config: &RunConfig<MedSettings>, _: &Interrupt) -> Result<bool> {
        let data = &config.settings.data;
        if let Some((set, size)) = data.file()? {
            let folder = data.files();
            if !folder.join(set.file_name(size)).is_file() {
                let (file, side) = (set.file_name(size), size.side());
                let expected =
                    format!("a folder with {file} (reynolds data medmnist --set {set} --size {side} fetches it)");
                return Err(Error::config("data.folder", expected, folder.display()));
            }
        }
        Ok(true)
    }

    fn task(&self, config: &RunConfig<MedSettings>, device: Device) -> Result<MedTask> {
        if device.is_cuda() {
            Cuda::cudnn_set_benchmark(true);
        }
        let precision = config.train.precision;
        let data = MedData::open(&config.settings.data, precision, device)?;
        MedTask::new(data, &config.settings, precision, config.seed)
    }

    fn finish(&self, config: &RunConfig<MedSettings>, task: &MedTask, summary: &Summary, folder: &Path) -> Result<()> {
        figures::draw(task, &folder.join("figures"))?;
        write_facts(folder, &facts(config, task, summary))
    }
}

/// For the page of a run.
fn facts(config: &RunConfig<MedSettings>, task: &MedTask, summary: &Summary) -> BTreeMap<String, String> {
    let data = task.data();
    let [train, validation, test] = [Split::Train, Split::Validation, Split::Test].map(|split| data.count(split));
    let model = &config.settings.model;
    let network = format!("{:?}, {}", model.architecture, model.group.name()).to_lowercase();
    let metric = |name: &str| summary.metrics().get(name).copied().unwrap_or(f64::NAN);
    BTreeMap::from([
        ("data set".into(), data.name.clone()),
        ("volumes".into(), format!("{train} to train on, {validation} to validate on, {test} to test on")),
        ("network".into(), format!("{network}, {} parameters", task.parameters().len())),
        ("trained".into(), trained(metric("test/gain/accuracy"), metric("test/gain/accuracy_se"))),
    ])
}

fn trained(gain: f64, error: f64) -> String {
    let by = format!("{:.1} points above the most common class, standard error {:.1}", 100.0 * gain, 100.0 * error);
    if beats_majority(gain, error) { format!("yes: {by}") } else { format!("not trained: {by}") }
}

#[cfg(test)]
mod tests {
    use super::*;
    use reynolds::penalty::Form;
    use reynolds_torch::optimiser::Method;
    use reynolds_train::config::{self, Settings};

    #[test]
    fn the_defaults_are_the_published_protocol() {
        let config = MedExperiment.defaults();
        config.validate().unwrap();
        let train = &config.train;
        assert_eq!((train.optimiser.method, train.optimiser.weight_decay), (Method::Adam, 0.0));
        let rate = |epoch| train.schedule.rate(train.learning_rate, epoch, train.epochs, 0);
        assert_eq!([0, 50, 99].map(rate), [1e-4; 3]);
        let protocol = (train.weights, train.early_stopping.patience, config.settings.data.batch);
        assert_eq!(protocol, (Selection::Best, 0, 32));
        assert_eq!((config.penalty.form, config.penalty.whole), (Form::Squared, false));
    }

    #[test]
    fn settings_out_of_range_are_named() {
        for (text, key) in [
            ("[data]\nset = \"brain\"", "data.set"),
            ("[data]\nset = \"organ\"\nsize = 32", "data.size"),
            ("[data]\nsize = 64", "data.size"),
            ("[data]\nbatch = 1", "data.batch"),
            ("[data]\nresize = \"cubic\"", "data.resize"),
            ("[data.shapes]\nbreaking = 1.5", "data.shapes.breaking"),
            ("[data.shapes]\ntrain = 1", "data.shapes.train"),
            ("[data.shapes]\ntest = 0", "data.shapes.test"),
            ("[model]\narchitecture = \"unet\"", "model.architecture"),
            ("[model]\ngroup = \"c4\"", "model.group"),
            ("[model]\nwidth = -1", "model.width"),
            ("[model]\narchitecture = \"scnn\"\nrpp.dense = 1.0", "model.rpp.dense"),
            ("[train.early_stopping]\nmetric = \"\"", "train.early_stopping.metric"),
        ] {
            let message = config::parse(&MedExperiment.defaults(), text, "f.toml").unwrap_err().to_string();
            assert!(message.starts_with(&format!("f.toml: {key}: expected ")), "{message}");
        }
    }

    #[test]
    fn a_missing_file_is_named_with_the_command_that_fetches_it() {
        let text = "[data]\nset = \"organ\"\nsize = 64\nfolder = \"nowhere\"";
        let config = config::parse(&MedExperiment.defaults(), text, "f.toml").unwrap();
        let message = MedExperiment.prepare(&config, &Interrupt::new()).unwrap_err().to_string();
        let expected = "config: data.folder: expected a folder with organmnist3d_64.npz (reynolds data medmnist --set organ --size 64 \
                        fetches it), found nowhere";
        assert_eq!(message, expected);
    }

    #[test]
    fn a_gain_below_three_standard_errors_is_not_trained() {
        assert_eq!(trained(0.1, 0.03), "yes: 10.0 points above the most common class, standard error 3.0");
        assert_eq!(trained(0.08, 0.03), "not trained: 8.0 points above the most common class, standard error 3.0");
        assert!(trained(f64::NAN, f64::NAN).starts_with("not trained"));
    }
}
