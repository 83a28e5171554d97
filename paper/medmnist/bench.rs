//! Steps of the networks that tell volumes apart: how long building, training and inference take, and what they need of the device.
//!
//! Volumes are random, so that no data are read; a step is that of the training loop: minibatch, loss, backward pass, penalty, Adam.

use std::rc::Rc;
use std::time::Instant;

use crate::medmnist::data::volumes::{VolumeSet, Volumes};
use crate::medmnist::networks::{Architecture, Nonlinearity, SIDE, Symmetry};
use reynolds::penalty::PenaltyConfig;
use reynolds::random::Random;
use reynolds_torch::tch::{Cuda, Device, Kind, Tensor};
use reynolds_torch::{Binding, Parameters, Precision, device};
use serde::Serialize;

use crate::medmnist::{ClassPairs, MedData, MedExperiment, MedSettings, MedTask};
use reynolds_bench::DeviceMemory;
use reynolds_bench::steps::{Paired, Stopwatch};
use reynolds_train::config::{PenaltySettings, RunConfig, Settings, at_least_one};
use reynolds_train::environment::current_commit;
use reynolds_train::error::{Error, Result};
use reynolds_train::experiment::Experiment;
use reynolds_train::regulariser::Regulariser;
use reynolds_train::task::{Metrics, Moment, Split, Task};
use reynolds_train::train::Trainer;

/// λ_G and λ_⊥ of ours while it is measured; what they are does not change what a step costs.
const STRENGTHS: [f64; 2] = [1e-3, 1e-1];

/// What is measured.
#[derive(Debug, Clone, PartialEq)]
pub struct MedBench {
    /// Of which network.
    pub architecture: Architecture,
    /// Held against which group.
    pub group: Symmetry,
    /// c; 0: that of the paper.
    pub width: usize,
    /// Of ours.
    pub nonlinearity: Nonlinearity,
    /// Classes that are told apart.
    pub classes: usize,
    /// Volumes of a minibatch.
    pub batch: usize,
    /// Of the convolutions.
    pub precision: Precision,
    /// Ours without its penalty; the others have none.
    pub without_penalty: bool,
    /// Steps that are measured.
    pub steps: usize,
    /// Steps before that.
    pub warmup: usize,
    /// Pairs of steps with and without the projection penalty; 0 = none.
    pub pairs: usize,
}

/// One measurement.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct MedBenchRow {
    /// "cnn", …
    pub model: Architecture,
    /// "so3" or "o3".
    pub group: Symmetry,
    /// Volumes of a minibatch.
    pub batch: usize,
    /// "f32" or "bf16".
    pub precision: Precision,
    /// "cpu" or "cuda:N".
    pub device: String,
    /// Of this program, as in environment.json.
    pub commit: String,
    /// Whether steps have the projection penalty.
    pub penalty: bool,
    /// Median of a training step.
    pub train_ms: f64,
    /// Volumes trained on in a second.
    pub train_samples_per_s: f64,
    /// Median of a pass that only evaluates, with kernels that are ready.
    pub inference_ms: f64,
    /// Volumes evaluated in a second.
    pub inference_samples_per_s: f64,
    /// Of training, by the driver's count; null where there is no driver to ask.
    pub peak_memory_mib: Option<f64>,
    /// From nothing to a network with its parameters on the processor: bases, likelihoods, initial weights.
    pub build_ms: f64,
    /// From there to what is ready to train: parameters on the device, projectors of what is held.
    pub bind_ms: f64,
    /// Numbers that are trained.
    pub parameters: usize,
    /// What the projection penalty adds to a step.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pairs: Option<Paired>,
}

impl MedBench {
    /// Measures; `device` is where, and `memory` what has counted its memory since before it was touched.
    ///
    /// # Errors
    /// [`Error::Config`](crate::Error::Config) if a setting is out of range; if the device has no room.
    pub fn measure(&self, device: Device, memory: Option<&DeviceMemory>) -> Result<MedBenchRow> {
        let config = self.config()?;
        config.train.check_device(device)?;
        // Before anything else of its kind in this process, so that nothing is remembered from before.
        let start = Instant::now();
        let mut builder = Parameters::builder();
        let network = config.settings.model.build(self.classes, &mut builder, &mut Random::new(0))?;
        let build_ms = 1e3 * start.elapsed().as_secs_f64();
        if device.is_cuda() {
            Cuda::cudnn_set_benchmark(true);
        }
        let settings = &config.settings;
        let volumes = self.random_volumes();
        let data = MedData::new(&volumes, ClassPairs::default(), settings.data.resize, self.precision, device)?;
        let start = Instant::now();
        let parameters = builder.build(Kind::Float, device)?;
        let task = MedTask::of(data, network, parameters, &settings.data, self.precision, 0)?;
        let task = Endless(task);
        let mut trainer = Trainer::new(&task, &config.train, &config.penalty)?;
        let bind_ms = 1e3 * start.elapsed().as_secs_f64();
        let watch = Stopwatch { device, steps: self.steps, warmup: self.warmup };
        let train = watch.median(|| trainer.step())?;
        let peak_memory_mib = memory.and_then(DeviceMemory::added_mib);
        let inference = task.0.timed_inference(Split::Test, |pass| watch.median(pass))?;
        let pairs = match (self.pairs, self.architecture) {
            (0, _) => None,
            (_, Architecture::Ours) => {
                let (none, penalty) = (PenaltySettings::default(), penalty());
                let mut without = Trainer::new(&task, &config.train, &none)?;
                let mut with = Trainer::new(&task, &config.train, &penalty)?;
                Some(watch.paired(self.pairs, || without.step(), || with.step())?)
            }
            _ => {
                let expected = "0, for this model has no parameter that is held against a group";
                return Err(Error::config("pairs", expected, self.pairs));
            }
        };
        let rate = |seconds: f64| self.batch as f64 / seconds;
        Ok(MedBenchRow {
            model: self.architecture,
            group: self.group,
            batch: self.batch,
            precision: self.precision,
            device: device::name(device),
            commit: current_commit(),
            penalty: self.penalised(),
            train_ms: 1e3 * train,
            train_samples_per_s: rate(train),
            inference_ms: 1e3 * inference,
            inference_samples_per_s: rate(inference),
            peak_memory_mib,
            build_ms,
            bind_ms,
            parameters: task.parameters().len(),
            pairs,
        })
    }

    /// The settings of such a run.
    fn config(&self) -> Result<RunConfig<MedSettings>> {
        let mut config = MedExperiment.defaults();
        let model = &mut config.settings.model;
        (model.architecture, model.group) = (self.architecture, self.group);
        (model.width, model.nonlinearity) = (self.width, self.nonlinearity);
        config.settings.data.batch = self.batch;
        config.train.precision = self.precision;
        if self.penalised() {
            config.penalty = penalty();
        }
        at_least_one("steps", self.steps)?;
        config.validate()?;
        Ok(config)
    }

    fn penalised(&self) -> bool {
        self.architecture == Architecture::Ours && !self.without_penalty
    }

    /// Grey values at random, of the side that networks see: a minibatch to train on, and one to test on.
    fn random_volumes(&self) -> VolumeSet {
        let mut random = Random::new(0);
        let mut part = |count: usize| Volumes {
            side: SIDE,
            images: (0..count * SIDE.pow(3)).map(|_| random.below(256) as u8).collect(),
            labels: (0..count).map(|number| (number % self.classes) as u8).collect(),
        };
        let (train, validation, test) = (part(self.batch), part(1), part(self.batch));
        let classes = (0..self.classes).map(|class| class.to_string()).collect();
        VolumeSet { name: "random".into(), classes, train, validation, test }
    }
}

/// The penalty that ours is measured with.
fn penalty() -> PenaltySettings {
    let [lambda_g, lambda_perp] = STRENGTHS;
    PenaltySettings { lambda_g, lambda_perp, ..MedExperiment.defaults().penalty }
}

/// A task whose epoch never ends: its one minibatch is gathered anew in every step.
struct Endless(MedTask);

impl Task for Endless {
    fn parameters(&self) -> &Parameters {
        self.0.parameters()
    }

    fn steps_per_epoch(&self) -> usize {
        1_000_000
    }

    fn loss(&self, _: Moment) -> Result<Tensor> {
        self.0.loss(Moment { epoch: 0, step: 0 })
    }

    fn evaluate(&self, split: Split) -> Result<Metrics> {
        self.0.evaluate(split)
    }

    fn regulariser(&self, penalty: PenaltyConfig) -> Result<Option<Box<dyn Regulariser>>> {
        self.0.regulariser(penalty)
    }

    fn binding(&self) -> Result<Option<Rc<Binding>>> {
        self.0.binding()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn penalty_of(architecture: Architecture, without_penalty: bool) -> [f64; 2] {
        let bench = MedBench {
            architecture,
            group: Symmetry::O3,
            width: 1,
            nonlinearity: Nonlinearity::Pointwise,
            classes: 2,
            batch: 2,
            precision: Precision::F32,
            without_penalty,
            steps: 1,
            warmup: 0,
            pairs: 1,
        };
        let found = bench.config().unwrap().penalty;
        assert_eq!(bench.penalised(), found.lambda_g > 0.0 && found.lambda_perp > 0.0, "{found:?}");
        [found.lambda_g, found.lambda_perp]
    }

    #[test]
    fn ours_is_measured_with_its_penalty_unless_asked_and_others_have_none() {
        assert_eq!(penalty_of(Architecture::Ours, false), STRENGTHS);
        assert_eq!(penalty_of(Architecture::Ours, true), [0.0, 0.0]);
        assert_eq!(penalty_of(Architecture::Cnn, false), [0.0, 0.0]);
        // What pairs have without the penalty.
        assert_eq!([PenaltySettings::default().lambda_g, PenaltySettings::default().lambda_perp], [0.0, 0.0]);
    }
}
