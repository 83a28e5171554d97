//! Steps of the CT networks: how long training and inference take, and what they need of the device.
//!
//! Images are random, so that no data are read; a step is that of the training loop: patches, loss, backward pass, penalty, Adam.

use crate::ct::networks::Architecture;
use reynolds::norm::Norm;
use reynolds::random::Random;
use reynolds_torch::parametrisation::Parametrisation;
use reynolds_torch::tch::{Cuda, Device, Kind, Tensor};
use reynolds_torch::{Precision, device, tch};
use serde::{Deserialize, Serialize};

use crate::ct::{CtData, CtExperiment, CtPart, CtSettings, CtTask};
use reynolds_bench::DeviceMemory;
use reynolds_bench::steps::{Paired, Stopwatch};
use reynolds_train::config::{PenaltySettings, RunConfig, Settings, at_least_one};
use reynolds_train::environment::current_commit;
use reynolds_train::error::Result;
use reynolds_train::experiment::Experiment;
use reynolds_train::train::Trainer;

/// How a network is held against C4.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum CtMode {
    /// Not at all.
    Plain,
    /// By the sample-based penalty.
    Sample,
    /// By residual pathway priors.
    Rpp,
    /// By the projection penalty.
    Penalty,
    /// Not in training; tested with P(W).
    Projected,
}

impl CtMode {
    /// All, in the order of the paper's table.
    pub const ALL: [Self; 5] = [Self::Plain, Self::Sample, Self::Projected, Self::Rpp, Self::Penalty];

    /// As on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Self::Plain => "plain",
            Self::Sample => "sample",
            Self::Rpp => "rpp",
            Self::Penalty => "penalty",
            Self::Projected => "projected",
        }
    }

    /// Puts the mode into settings, with the strengths of the publications.
    pub fn apply(self, config: &mut RunConfig<CtSettings>) {
        match self {
            Self::Plain => {}
            Self::Sample => {
                let adaptive = config.settings.model.architecture == Architecture::Acdnet;
                config.settings.sample.weight = if adaptive { 1e-6 } else { 1e-8 };
            }
            Self::Rpp => {
                config.train.parametrisation.kind = Parametrisation::Residual;
                config.train.parametrisation.lambda_residual = 1e-4;
            }
            Self::Penalty => config.penalty.lambda_perp = 1.0,
            Self::Projected => config.settings.projected = true,
        }
    }
}

/// What is measured.
#[derive(Debug, Clone, PartialEq)]
pub struct CtBench {
    /// Of which network.
    pub architecture: Architecture,
    /// Its stages.
    pub stages: usize,
    /// Residual blocks of its nets.
    pub blocks: usize,
    /// How it is held.
    pub mode: CtMode,
    /// The norm of the projection penalty.
    pub norm: Norm,
    /// Images of a minibatch.
    pub batch: usize,
    /// Pixels along a side.
    pub side: usize,
    /// Of the convolutions.
    pub precision: Precision,
    /// Steps that are measured.
    pub steps: usize,
    /// Steps before that.
    pub warmup: usize,
    /// Pairs of steps with and without the projection penalty; 0 = none.
    pub pairs: usize,
}

/// One measurement.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct CtBenchRow {
    /// "dicdnet", …
    pub architecture: Architecture,
    /// "plain", …
    pub mode: CtMode,
    /// The norm of the projection penalty.
    pub norm: String,
    /// Images of a minibatch.
    pub batch: usize,
    /// Pixels along a side.
    pub side: usize,
    /// "f32" or "bf16".
    pub precision: Precision,
    /// "cpu" or "cuda:N".
    pub device: String,
    /// Of this program, as in environment.json.
    pub commit: String,
    /// Median of a training step.
    pub train_ms: f64,
    /// Images trained on in a second; turned copies are not counted.
    pub train_images_per_s: f64,
    /// Median of a pass that only evaluates.
    pub inference_ms: f64,
    /// Images evaluated in a second.
    pub inference_images_per_s: f64,
    /// Of training, by the driver's count; null where there is no driver to ask.
    pub peak_memory_mib: Option<f64>,
    /// Numbers that are trained.
    pub parameters: usize,
    /// What the projection penalty adds to a step.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pairs: Option<Paired>,
}

impl CtBench {
    /// Measures; `device` is where, and `memory` what has counted its memory since before it was touched.
    ///
    /// # Errors
    /// [`Error::Config`](crate::Error::Config) if a setting is out of range; if the device has no room.
    pub fn measure(&self, device: Device, memory: Option<&DeviceMemory>) -> Result<CtBenchRow> {
        let config = self.config()?;
        config.train.check_device(device)?;
        if device.is_cuda() {
            Cuda::cudnn_set_benchmark(true);
        }
        let data = random_images(self.batch, self.side, device)?;
        let task = CtTask::new(data, &config.settings, self.precision, 0)?;
        let mut trainer = Trainer::new(&task, &config.train, &config.penalty)?;
        let watch = Stopwatch { device, steps: self.steps, warmup: self.warmup };
        let train = watch.median(|| trainer.step())?;
        let peak_memory_mib = memory.and_then(DeviceMemory::added_mib);
        let inference = task.timed_inference(CtPart::Test, |pass| watch.median(pass))?;
        let pairs = match self.pairs {
            0 => None,
            _ => {
                let with = PenaltySettings { lambda_perp: 1.0, norm: self.norm, ..PenaltySettings::default() };
                let without = PenaltySettings::default();
                let mut with = Trainer::new(&task, &config.train, &with)?;
                let mut without = Trainer::new(&task, &config.train, &without)?;
                Some(watch.paired(self.pairs, || without.step(), || with.step())?)
            }
        };
        let rate = |seconds: f64| self.batch as f64 / seconds;
        Ok(CtBenchRow {
            architecture: self.architecture,
            mode: self.mode,
            norm: self.norm.to_string(),
            batch: self.batch,
            side: self.side,
            precision: self.precision,
            device: device::name(device),
            commit: current_commit(),
            train_ms: 1e3 * train,
            train_images_per_s: rate(train),
            inference_ms: 1e3 * inference,
            inference_images_per_s: rate(inference),
            peak_memory_mib,
            parameters: task.trained_numbers(config.train.parametrisation.kind),
            pairs,
        })
    }

    /// The settings of such a run.
    fn config(&self) -> Result<RunConfig<CtSettings>> {
        let mut config = CtExperiment.defaults();
        let CtSettings { data, model, .. } = &mut config.settings;
        (model.architecture, model.stages, model.blocks) = (self.architecture, self.stages, self.blocks);
        (data.side, data.patch, data.batch) = (self.side, self.side, self.batch);
        (data.train, data.validation, data.test) = (self.batch, 1, self.batch);
        // No step beyond the end of an epoch is needed.
        data.steps = self.warmup + self.steps + 2 * (self.pairs + self.warmup) + 1;
        (config.train.epochs, config.train.precision) = (1, self.precision);
        config.penalty.norm = self.norm;
        self.mode.apply(&mut config);
        at_least_one("steps", self.steps)?;
        config.validate()?;
        Ok(config)
    }
}

/// `count` cases of each part that is used: streaks on noise, and a square of metal.
fn random_images(count: usize, side: usize, device: Device) -> Result<CtData> {
    let _guard = tch::no_grad_guard();
    let mut random = Random::new(0);
    let cases = 2 * count + 1;
    let shape = [cases as i64, side as i64, side as i64];
    let mut noise = |scale: f64| -> Result<Tensor> {
        let numbers: Vec<f32> = (0..cases * side * side).map(|_| (scale * random.uniform()) as f32).collect();
        Ok(Tensor::f_from_slice(&numbers)?.f_view(shape)?)
    };
    let truth = noise(20.0)?.f_add_scalar(40.0)?;
    let (corrupted, interpolated) = (truth.f_add(&noise(30.0)?)?, truth.f_add(&noise(10.0)?)?);
    let keep = Tensor::f_ones(shape, (Kind::Float, Device::Cpu))?;
    let metal = (side / 8).max(1) as i64;
    let _ = keep.f_narrow(1, 2 * metal, metal)?.f_narrow(2, metal, metal)?.f_zero_()?;
    let images = Tensor::f_stack(&[truth, corrupted, interpolated, keep], 0)?;
    CtData::new(images.f_to_device(device)?, [count, 1, count, 0])
}
