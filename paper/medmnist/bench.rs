//! Steps of the networks that tell volumes apart: how long building, training and inference take, and what they need of the device.
//!
//! Volumes are random, so that no data are read; a step is that of the training loop: minibatch, loss, backward pass, penalty, Adam.

use std::rc::Rc;
use std::time::Instant;

use reynolds::penalty::PenaltyConfig;
use reynolds::random::Random;
use reynolds_torch::tch::{Cuda, Device, Kind, Tensor};
use reynolds_torch::{Binding, Parameters, Precision, device};
use serde::{Deserialize, Serialize};

use crate::medmnist::data::volumes::{VolumeSet, Volumes};
use crate::medmnist::networks::{Architecture, SIDE, Symmetry};
use crate::medmnist::{ClassPairs, MedData, MedSettings, MedTask};
use crate::targets::cost::Cost;
use crate::targets::point::Trained;
use reynolds_bench::DeviceMemory;
use reynolds_bench::steps::{Paired, Stopwatch};
use reynolds_train::config::{PenaltySettings, RunConfig, Settings, at_least_one};
use reynolds_train::environment::current_commit;
use reynolds_train::error::{Error, Result};
use reynolds_train::regulariser::Regulariser;
use reynolds_train::task::{Metrics, Moment, Split, Task};
use reynolds_train::train::Trainer;

/// What is measured: steps of a run, and how many.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct MedBench {
    /// Classes that are told apart.
    pub classes: usize,
    /// Steps that are measured.
    pub steps: usize,
    /// Steps before that.
    pub warmup: usize,
    /// Pairs of steps with and without the projection penalty; 0 = none.
    pub pairs: usize,
    /// Ours without its penalty, but in pairs; the others have none.
    pub without_penalty: bool,
    /// Network, minibatch, precision and penalty; what strengths the penalty has does not change what a step costs.
    #[serde(flatten)]
    pub run: RunConfig<MedSettings>,
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

impl Cost for MedBench {
    const KIND: &'static str = "medmnist";

    fn measure(&self, device: Device) -> Result<Trained> {
        // Counted from before the device is touched.
        let memory = match device {
            Device::Cuda(number) => DeviceMemory::begin(number),
            _ => None,
        };
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
        let (data, precision) = (&config.settings.data, config.train.precision);
        let volumes = self.random_volumes();
        let volumes = MedData::new(&volumes, ClassPairs::default(), data.resize, precision, device)?;
        let start = Instant::now();
        let parameters = builder.build(Kind::Float, device)?;
        let task = Endless(MedTask::of(volumes, network, parameters, data, precision, 0)?);
        let mut trainer = Trainer::new(&task, &config.train, &config.penalty)?;
        let bind_ms = 1e3 * start.elapsed().as_secs_f64();
        let watch = Stopwatch { device, steps: self.steps, warmup: self.warmup };
        let train = watch.median(|| trainer.step())?;
        let peak = memory.as_ref().and_then(DeviceMemory::added_mib);
        let inference = task.0.timed_inference(Split::Test, |pass| watch.median(pass))?;
        let mut trained = Trained::default();
        for (name, value) in [
            ("train_ms", 1e3 * train),
            ("train_samples_per_s", data.batch as f64 / train),
            ("inference_ms", 1e3 * inference),
            ("inference_samples_per_s", data.batch as f64 / inference),
            ("build_ms", build_ms),
            ("bind_ms", bind_ms),
            ("parameters", task.parameters().len() as f64),
        ] {
            trained.metrics.insert(name.into(), value);
        }
        if let Some(peak) = peak {
            trained.metrics.insert(PEAK.into(), peak);
        } else {
            trained.failures.insert(PEAK.into(), "no driver counts the memory of this device".into());
        }
        if self.pairs > 0 {
            let none = PenaltySettings::default();
            let mut without = Trainer::new(&task, &config.train, &none)?;
            let mut with = Trainer::new(&task, &config.train, &self.run.penalty)?;
            trained.metrics.extend(numbers(&watch.paired(self.pairs, || without.step(), || with.step())?));
        }
        Ok(trained)
    }
}

/// The metric of the memory that training needs.
pub(super) const PEAK: &str = "peak_memory_mib";

impl MedBench {
    /// Sees that sizes are in range, and that pairs are asked for of what has a penalty.
    ///
    /// # Errors
    /// [`Error::Config`] with the key.
    pub fn validate(&self) -> Result<()> {
        at_least_one("steps", self.steps)?;
        if !(2..=256).contains(&self.classes) {
            return Err(Error::config("classes", "from 2 to 256", self.classes));
        }
        if self.pairs > 0 && self.run.penalty.is_zero() {
            let expected = "0, for this model has no parameter that is held against a group";
            return Err(Error::config("pairs", expected, self.pairs));
        }
        self.run.validate()
    }

    /// What was measured, as a line of JSON has it.
    pub fn row(&self, device: Device, trained: &Trained) -> MedBenchRow {
        let RunConfig { settings, train, .. } = &self.run;
        MedBenchRow {
            model: settings.model.architecture,
            group: settings.model.group,
            batch: settings.data.batch,
            precision: train.precision,
            device: device::name(device),
            commit: current_commit(),
            penalty: self.penalised(),
            train_ms: trained.metric("train_ms"),
            train_samples_per_s: trained.metric("train_samples_per_s"),
            inference_ms: trained.metric("inference_ms"),
            inference_samples_per_s: trained.metric("inference_samples_per_s"),
            peak_memory_mib: trained.metrics.get(PEAK).copied(),
            build_ms: trained.metric("build_ms"),
            bind_ms: trained.metric("bind_ms"),
            parameters: trained.metric("parameters") as usize,
            pairs: (self.pairs > 0).then(|| paired(trained)),
        }
    }

    /// The settings of the steps.
    fn config(&self) -> Result<RunConfig<MedSettings>> {
        self.validate()?;
        let mut config = self.run.clone();
        if !self.penalised() {
            config.penalty = PenaltySettings::default();
        }
        Ok(config)
    }

    fn penalised(&self) -> bool {
        !self.run.penalty.is_zero() && !self.without_penalty
    }

    /// Grey values at random, of the side that networks see: a minibatch to train on, and one to test on.
    fn random_volumes(&self) -> VolumeSet {
        let mut random = Random::new(0);
        let mut part = |count: usize| Volumes {
            side: SIDE,
            images: (0..count * SIDE.pow(3)).map(|_| random.below(256) as u8).collect(),
            labels: (0..count).map(|number| (number % self.classes) as u8).collect(),
        };
        let batch = self.run.settings.data.batch;
        let (train, validation, test) = (part(batch), part(1), part(batch));
        let classes = (0..self.classes).map(|class| class.to_string()).collect();
        VolumeSet { name: "random".into(), classes, train, validation, test }
    }
}

/// What pairs found, as metrics.
fn numbers(pairs: &Paired) -> [(String, f64); 5] {
    let Paired { pairs, without_us, added_us, low_us, high_us } = *pairs;
    [
        ("pairs/count", pairs as f64),
        ("pairs/without_us", without_us),
        ("pairs/added_us", added_us),
        ("pairs/low_us", low_us),
        ("pairs/high_us", high_us),
    ]
    .map(|(name, value)| (name.to_string(), value))
}

/// The other way round.
fn paired(trained: &Trained) -> Paired {
    Paired {
        pairs: trained.metric("pairs/count") as usize,
        without_us: trained.metric("pairs/without_us"),
        added_us: trained.metric("pairs/added_us"),
        low_us: trained.metric("pairs/low_us"),
        high_us: trained.metric("pairs/high_us"),
    }
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
    use crate::medmnist::{MedExperiment, Row};
    use reynolds_train::experiment::Experiment;

    fn penalty_of(row: Row, without_penalty: bool) -> [f64; 2] {
        let mut run = row.run(&MedExperiment.defaults(), row.measured_strengths());
        run.settings.data.batch = 2;
        let bench = MedBench { classes: 2, steps: 1, warmup: 0, pairs: 0, without_penalty, run };
        let found = bench.config().unwrap().penalty;
        assert_eq!(bench.penalised(), found.lambda_g > 0.0 && found.lambda_perp > 0.0, "{found:?}");
        [found.lambda_g, found.lambda_perp]
    }

    #[test]
    fn ours_is_measured_with_its_penalty_unless_asked_and_others_have_none() {
        let ours = Row::ours(Symmetry::O3);
        // Those of the paper on Nodule.
        assert_eq!(penalty_of(ours, false), [1e-4, 1e-1]);
        assert_eq!(penalty_of(ours, true), [0.0, 0.0]);
        assert_eq!(penalty_of(Row::CNN, false), [0.0, 0.0]);
        // What pairs have without the penalty.
        assert_eq!([PenaltySettings::default().lambda_g, PenaltySettings::default().lambda_perp], [0.0, 0.0]);
    }

    #[test]
    fn a_measurement_is_read_back_as_it_was_written_with_the_keys_of_a_run() {
        let row = Row::ours(Symmetry::So3);
        let run = row.run(&MedExperiment.defaults(), row.measured_strengths());
        let bench = MedBench { classes: 3, steps: 1, warmup: 0, pairs: 7, without_penalty: true, run };
        let text = toml::to_string(&bench).unwrap();
        assert!(text.contains("classes = 3") && text.contains("[data.shapes]") && text.contains("[penalty]"), "{text}");
        assert_eq!(toml::from_str::<MedBench>(&text).unwrap(), bench);
    }

    #[test]
    fn pairs_are_kept_as_numbers() {
        let pairs = Paired { pairs: 3, without_us: 1.5, added_us: 0.5, low_us: 0.25, high_us: 0.75 };
        let trained = Trained { metrics: numbers(&pairs).into(), ..Trained::default() };
        assert_eq!(paired(&trained), pairs);
    }
}
