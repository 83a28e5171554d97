//! Running statistics are saved, restored and selected together with the weights.

use std::cell::Cell;
use std::path::Path;

use reynolds_torch::Parameters;
use reynolds_torch::layers::{BatchNorm, Mode};
use reynolds_torch::tch::{Device, Kind, Tensor};
use reynolds_train::config::{Rule, RunConfig, Selection, Settings};
use reynolds_train::experiment::Experiment;
use reynolds_train::interrupt::Interrupt;
use reynolds_train::progress::Silent;
use reynolds_train::run::{Outcome, Place, resume, run};
use reynolds_train::task::{Metrics, Moment, Split, Task};
use reynolds_train::{Error, Result};
use serde::{Deserialize, Serialize};

use crate::logistic::session;

#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
struct Nothing {}

#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
struct NormSettings {
    data: Nothing,
    model: Nothing,
}

impl Settings for NormSettings {}

/// Normalised numbers times a weight, told to be large; killed at a minibatch.
#[derive(Debug)]
struct Normalised {
    killed_at: usize,
}

impl Experiment for Normalised {
    type Settings = NormSettings;
    type Task = NormTask;

    fn name(&self) -> &'static str {
        "normalised"
    }

    fn about(&self) -> &'static str {
        "a batch normalisation"
    }

    fn defaults(&self) -> RunConfig<NormSettings> {
        let mut config = RunConfig::new("normalised", NormSettings::default());
        config.train.epochs = 8;
        config.train.learning_rate = 0.1;
        config.train.threads = 1;
        config.train.checkpoint_every = 1;
        config.train.weights = Selection::Best;
        config.train.early_stopping.rule = Rule::Plateau;
        config.train.early_stopping.after = 4;
        config.train.early_stopping.window = 2;
        config
    }

    fn task(&self, _: &RunConfig<NormSettings>, _: Device) -> Result<NormTask> {
        let mut builder = Parameters::builder();
        let layer = BatchNorm::new(&mut builder, "norm", 2, 1)?;
        let parameters = builder.build(Kind::Float, Device::Cpu)?;
        Ok(NormTask { parameters, layer, calls: Cell::new(0), killed_at: self.killed_at })
    }
}

struct NormTask {
    parameters: Parameters,
    layer: BatchNorm,
    calls: Cell<usize>,
    killed_at: usize,
}

impl NormTask {
    fn output(&self, moment: Moment, mode: Mode) -> Result<Tensor> {
        let numbers: Vec<f32> = (0..16).map(|n| ((n + 7 * moment.step + 3 * moment.epoch) as f32).sin()).collect();
        let input = Tensor::from_slice(&numbers).view([2, 2, 2, 2]) * 3.0 + 1.0;
        Ok(self.layer.forward(&self.parameters, &input, mode)?)
    }
}

impl Task for NormTask {
    fn parameters(&self) -> &Parameters {
        &self.parameters
    }

    fn steps_per_epoch(&self) -> usize {
        3
    }

    fn loss(&self, moment: Moment) -> Result<Tensor> {
        if self.calls.replace(self.calls.get() + 1) == self.killed_at {
            return Err(Error::config("test", "no fault", "one"));
        }
        Ok((self.output(moment, Mode::Train)? - 2.0).square().mean(Kind::Float))
    }

    /// A loss with the running statistics that first falls and then rises.
    fn evaluate(&self, _: Split) -> Result<Metrics> {
        let output = self.output(Moment { epoch: 0, step: 1 }, Mode::Evaluate)?;
        let weight = f64::try_from(self.parameters.flat().get(0))?;
        let loss = f64::try_from((output - 2.0).square().mean(Kind::Double))?;
        Ok(Metrics::from([("loss".into(), (weight - 0.7).abs()), ("statistics".into(), loss)]))
    }
}

fn begin(killed_at: usize, folder: &Path) -> Result<Outcome> {
    let experiment = Normalised { killed_at };
    let config = experiment.defaults();
    run(&experiment, &config, &Place::Exactly(folder.into()), session(&mut Silent, &Interrupt::new()))
}

fn bodies(folder: &Path) -> Vec<Vec<u8>> {
    let file = |name: &str| std::fs::read(folder.join(name)).unwrap();
    let tensors = |name: &str| {
        let bytes = file(name);
        bytes[8 + u64::from_le_bytes(bytes[..8].try_into().unwrap()) as usize..].to_vec()
    };
    let checkpoints = ["checkpoints/last.safetensors", "checkpoints/best.safetensors"].map(tensors);
    [file("metrics.jsonl"), file("summary.json")].into_iter().chain(checkpoints).collect()
}

#[test]
fn killed_anywhere_a_normalised_network_goes_on_to_the_same_bytes() {
    let root = tempfile::tempdir().unwrap();
    let whole = root.path().join("whole");
    let outcome = begin(usize::MAX, &whole).unwrap();
    let summary = outcome.summary().unwrap().clone();
    assert!(summary.stopped_early && summary.epochs > 4 && summary.epochs < 8, "{summary:?}");
    let expected = bodies(&whole);
    for at in 0..3 * summary.epochs {
        let folder = root.path().join(format!("run{at}"));
        assert!(begin(at, &folder).is_err());
        let experiment = Normalised { killed_at: usize::MAX };
        resume(&experiment, &folder, session(&mut Silent, &Interrupt::new())).unwrap();
        assert_eq!(bodies(&folder), expected, "killed at minibatch {at}");
    }
}

#[test]
fn the_best_weights_are_tested_and_saved_with_the_statistics_of_their_moment() {
    let root = tempfile::tempdir().unwrap();
    let folder = root.path().join("run");
    let summary = begin(usize::MAX, &folder).unwrap().summary().unwrap().clone();
    let best = summary.best.unwrap();
    assert!(best.epoch < summary.epochs);
    let text = std::fs::read_to_string(folder.join("metrics.jsonl")).unwrap();
    let record: serde_json::Value = serde_json::from_str(text.lines().nth(best.epoch - 1).unwrap()).unwrap();
    assert_eq!(summary.best_metrics["validation/statistics"], record["validation/statistics"].as_f64().unwrap());
    assert_ne!(summary.best_metrics["test/statistics"], summary.last_metrics["test/statistics"]);
    // A network loads from the file by the names that PyTorch gives these tensors.
    let bytes = std::fs::read(folder.join("checkpoints/best.safetensors")).unwrap();
    let tensors = safetensors::SafeTensors::deserialize(&bytes).unwrap();
    let mut names = tensors.names();
    names.sort();
    assert_eq!(names, ["norm.bias", "norm.running_mean", "norm.running_var", "norm.weight"]);
    let bytes = std::fs::read(folder.join("checkpoints/last.safetensors")).unwrap();
    let tensors = safetensors::SafeTensors::deserialize(&bytes).unwrap();
    assert!(tensors.tensor("optimizer.best_weights.norm.running_mean").is_ok());
}
