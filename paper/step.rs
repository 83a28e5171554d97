//! What a step of an experiment costs: building, training, inference, memory, and what the projection penalty adds.
//!
//! ```text
//! settings of a run ──► a task on random data ──► timed steps of the training loop
//! ```
//!
//! libtorch does not return memory, and a second build is faster. Where that matters a measurement has a process of its own:
//!
//! ```text
//! <folder>/cost.toml   settings   ──reynolds-paper cost FOLDER──►   <folder>/cost.json   results
//! ```

mod endless;

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::time::Instant;

use reynolds_bench::{Clock, DeviceMemory, Paired};
use reynolds_checkpoint::whole_file;
use reynolds_torch::device;
use reynolds_torch::tch::{Cuda, Device};
use reynolds_train::config::{self, Assignment, PenaltySettings, RunConfig, Settings, at_least_one};
use reynolds_train::environment::current_commit;
use reynolds_train::error::{Error, Result};
use reynolds_train::experiment::Experiment;
use reynolds_train::interrupt::Interrupt;
use reynolds_train::progress::say;
use reynolds_train::regulariser::Regularisation;
use reynolds_train::sweep::Launcher;
use reynolds_train::task::{Metrics, Task};
use reynolds_train::threads;
use reynolds_train::train::Trainer;
use serde::{Deserialize, Serialize};

use crate::targets::Trained;
use endless::Endless;

pub(crate) const PEAK: &str = "peak_memory_mib";

/// Times passes: [`Clock::median`].
pub type Timer<'a> = &'a mut dyn FnMut(&mut dyn FnMut() -> Result<()>) -> Result<f64>;

/// An experiment whose steps can be timed.
pub trait Timed: Experiment + Default + Clone + PartialEq + std::fmt::Debug + 'static {
    /// Samples of a minibatch.
    fn samples(settings: &Self::Settings) -> usize;

    /// A task on random data, of one minibatch or of `steps`. Calls `laps` as it is built.
    fn on_random_data(
        run: &RunConfig<Self::Settings>,
        steps: usize,
        device: Device,
        laps: &mut Laps,
    ) -> Result<Self::Task>;

    /// Times passes over one minibatch in evaluation, without the tape and with kernels ready.
    fn timed_inference(task: &Self::Task, timer: Timer<'_>) -> Result<f64>;

    /// Number of trained parameters.
    fn parameters(task: &Self::Task, run: &RunConfig<Self::Settings>) -> usize {
        let _ = run;
        task.parameters().len()
    }
}

/// Times of building a network and of making it ready to train.
#[derive(Debug)]
pub struct Laps {
    build_ms: f64,
    binding: Instant,
}

impl Laps {
    /// Builds a network with its initial weights on the CPU.
    pub fn build<T>(&mut self, build: impl FnOnce() -> Result<T>) -> Result<T> {
        let start = Instant::now();
        let network = build()?;
        self.build_ms = milliseconds(start);
        self.binding = Instant::now();
        Ok(network)
    }

    /// What follows counts as binding: parameters go to the device, projectors are derived.
    pub fn bind(&mut self) {
        self.binding = Instant::now();
    }
}

fn milliseconds(since: Instant) -> f64 {
    1e3 * since.elapsed().as_secs_f64()
}

/// Steps of a run, to be measured.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(bound = "")]
pub struct Step<E: Timed> {
    pub steps: usize,
    pub warmup: usize,
    /// Interleaved pairs of steps with and without the projection penalty; 0 = none.
    pub pairs: usize,
    /// Network, sizes, precision and penalty.
    #[serde(flatten)]
    pub run: RunConfig<E::Settings>,
}

/// A measurement as a line of JSON.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct StepRow {
    pub row: &'static str,
    pub experiment: String,
    /// Settings that differ from the experiment's defaults.
    pub settings: BTreeMap<String, String>,
    /// Samples of a minibatch.
    pub batch: usize,
    pub precision: &'static str,
    pub device: String,
    pub commit: String,
    /// Whether steps have the projection penalty.
    pub penalty: bool,
    /// Whether steps were replayed from a CUDA graph.
    pub graph: bool,
    pub norm: String,
    /// Median of a training step.
    pub train_ms: f64,
    pub train_samples_per_s: f64,
    /// Median of a pass in evaluation.
    pub inference_ms: f64,
    pub inference_samples_per_s: f64,
    /// Of training, as counted by the driver; null without one.
    pub peak_memory_mib: Option<f64>,
    /// Building the network on the CPU: bases, likelihoods, initial weights.
    pub build_ms: f64,
    /// Making it ready to train: parameters on the device, projectors.
    pub bind_ms: f64,
    /// Number of trained parameters.
    pub parameters: usize,
    /// Overhead of the penalty, and the median of its own part of a step.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pairs: Option<Paired>,
    /// Median of the penalty's gradient alone.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub alone_us: Option<f64>,
}

impl<E: Timed> Step<E> {
    /// Fifty steps of a run, after five.
    pub fn new(run: RunConfig<E::Settings>) -> Self {
        Self { steps: 50, warmup: 5, pairs: 0, run }
    }

    /// The overhead of the settings' projection penalty, or of λ_⊥ = 1 where they have none.
    fn paired(&self, task: &mut dyn Task, clock: Clock) -> Result<Metrics> {
        let (train, none) = (&self.run.train, PenaltySettings::default());
        let mut penalty = self.run.penalty.clone();
        if penalty.is_zero() {
            penalty.lambda_perp = 1.0;
        }
        let Some(mut regularisation) = Regularisation::new(task, &penalty)? else {
            return Err(Error::config("pairs", "0: this model has no regularised parameters", self.pairs));
        };
        let (mut without, mut with) = (Trainer::new(task, train, &none)?, Trainer::new(task, train, &penalty)?);
        // Both train the same weights in turn.
        let task = RefCell::new(task);
        let step = |trainer: &mut Trainer<'_>| trainer.step(&mut **task.borrow_mut());
        let pairs = clock.paired(self.warmup, self.pairs, || step(&mut without), || step(&mut with))?;
        regularisation.prepare(penalty.lambda_perp, train.learning_rate)?;
        let parameters = task.into_inner().parameters_mut();
        let mut gradient = parameters.flat().f_zeros_like()?;
        let alone = clock.median(self.warmup, self.pairs, || {
            regularisation.add_gradient(parameters, &mut gradient)?;
            regularisation.after_step(parameters.flat_mut())
        })?;
        Ok(named([
            ("pairs/count", pairs.pairs as f64),
            ("pairs/without_us", pairs.without_us),
            ("pairs/added_us", pairs.added_us),
            ("pairs/low_us", pairs.low_us),
            ("pairs/high_us", pairs.high_us),
            ("pairs/alone_us", 1e6 * alone),
        ]))
    }

    pub fn validate(&self) -> Result<()> {
        at_least_one("steps", self.steps)?;
        let (precision, known) = (self.run.train.precision, E::default().precisions().to_vec());
        if !known.contains(&precision) {
            let known: Vec<_> = known.iter().map(|precision| precision.name()).collect();
            return Err(Error::config("train.precision", known.join(" or "), precision.name()));
        }
        self.run.validate()
    }
}

fn named<const N: usize>(numbers: [(&str, f64); N]) -> Metrics {
    numbers.map(|(name, value)| (name.to_string(), value)).into()
}

/// A [`Step`] of any experiment.
pub trait AnyStep {
    /// Measures it in this process.
    fn measure(&self, device: Device) -> Result<Trained>;

    /// Measures it in a child process; `None` if interrupted.
    fn in_a_child(&self, launcher: &Launcher, device: Device, interrupt: &Interrupt) -> Result<Option<Trained>>;

    fn row(&self, device: Device, measured: &Trained) -> StepRow;
}

impl<E: Timed> AnyStep for Step<E> {
    fn measure(&self, device: Device) -> Result<Trained> {
        // Counted from before the device is touched.
        let memory = if let Device::Cuda(number) = device { DeviceMemory::begin(number) } else { None };
        let run = &self.run;
        self.validate()?;
        run.train.check_device(device)?;
        if run.train.threads > 0 {
            threads::set(run.train.threads);
        }
        if device.is_cuda() {
            Cuda::cudnn_set_benchmark(true);
        }
        let mut laps = Laps { build_ms: 0.0, binding: Instant::now() };
        let needed = self.warmup + self.steps + 2 * (self.pairs + self.warmup) + 1;
        let mut task = Endless(E::on_random_data(run, needed, device, &mut laps)?);
        let mut trainer = Trainer::new(&mut task, &run.train, &run.penalty)?;
        let bind_ms = milliseconds(laps.binding);
        let clock = Clock { device };
        let train = clock.median(self.warmup, self.steps, || trainer.step(&mut task))?;
        if let Some(why) = trainer.not_captured() {
            say(&why);
        }
        let peak = memory.as_ref().and_then(DeviceMemory::added_mib);
        let inference = E::timed_inference(&task.0, &mut |pass| clock.median(self.warmup, self.steps, pass))?;
        let samples = E::samples(&run.settings) as f64;
        let mut trained = Trained::default();
        trained.metrics.extend(named([
            ("train_ms", 1e3 * train),
            ("train_samples_per_s", samples / train),
            ("inference_ms", 1e3 * inference),
            ("inference_samples_per_s", samples / inference),
            ("build_ms", laps.build_ms),
            ("bind_ms", bind_ms),
            ("replayed", trainer.replayed() as f64),
            ("parameters", E::parameters(&task.0, run) as f64),
        ]));
        match peak {
            Some(peak) => trained.metrics.extend(named([(PEAK, peak)])),
            None => drop(trained.failures.insert(PEAK.into(), "no driver counts the memory of this device".into())),
        }
        if self.pairs > 0 {
            trained.metrics.extend(self.paired(&mut task, clock)?);
        }
        Ok(trained)
    }

    fn in_a_child(&self, launcher: &Launcher, device: Device, interrupt: &Interrupt) -> Result<Option<Trained>> {
        let folder = tempfile::tempdir().map_err(Error::io(Path::new("a temporary folder"), "create"))?;
        let text = toml::to_string(self).expect("sizes and names");
        whole_file::write(&folder.path().join("cost.toml"), text.as_bytes())?;
        if !launcher.on_folder(&["cost".as_ref()], folder.path(), &device::name(device), interrupt)? {
            return Ok(None);
        }
        let file = folder.path().join("cost.json");
        let text = fs::read_to_string(&file).map_err(Error::io(&file, "read"))?;
        serde_json::from_str(&text).map(Some).map_err(|error| Error::file(&file, "a measurement", error))
    }

    fn row(&self, device: Device, measured: &Trained) -> StepRow {
        let RunConfig { experiment, settings, penalty, train, .. } = &self.run;
        let (number, of_pairs) = (|name: &str| measured.metric(name), self.pairs > 0);
        StepRow {
            row: "step",
            experiment: experiment.clone(),
            settings: config::changed(&self.run, &E::default().defaults()).into_iter().collect(),
            batch: E::samples(settings),
            precision: train.precision.name(),
            device: device::name(device),
            commit: current_commit(),
            penalty: !penalty.is_zero(),
            graph: number("replayed") > 0.0,
            norm: penalty.norm.to_string(),
            train_ms: number("train_ms"),
            train_samples_per_s: number("train_samples_per_s"),
            inference_ms: number("inference_ms"),
            inference_samples_per_s: number("inference_samples_per_s"),
            peak_memory_mib: measured.metrics.get(PEAK).copied(),
            build_ms: number("build_ms"),
            bind_ms: number("bind_ms"),
            parameters: number("parameters") as usize,
            pairs: of_pairs.then(|| Paired {
                pairs: self.pairs,
                without_us: number("pairs/without_us"),
                added_us: number("pairs/added_us"),
                low_us: number("pairs/low_us"),
                high_us: number("pairs/high_us"),
            }),
            alone_us: of_pairs.then(|| number("pairs/alone_us")),
        }
    }
}

/// Where the settings of a measurement come from.
pub enum Source<'a> {
    /// A configuration file of a run and assignments over it; steps, steps before them, and pairs.
    Given { file: Option<&'a Path>, assignments: &'a [Assignment], counts: [usize; 3] },
    /// The cost.toml of a child.
    Text { file: &'a Path, text: &'a str },
}

pub(crate) fn step<E: Timed>(source: &Source<'_>) -> Result<Box<dyn AnyStep>> {
    let step: Step<E> = match source {
        Source::Given { file, assignments, counts: [steps, warmup, pairs] } => {
            let run = config::load(&E::default().defaults(), *file, assignments)?;
            Step { steps: *steps, warmup: *warmup, pairs: *pairs, run }
        }
        Source::Text { file, text } => {
            toml::from_str(text).map_err(|error| Error::file(file, "the settings of a measurement", error.message()))?
        }
    };
    step.validate()?;
    Ok(Box::new(step))
}

/// The command of the child process: measures what the folder's cost.toml asks for.
pub fn carry_out(folder: &Path, device: Device) -> Result<()> {
    #[derive(Deserialize)]
    struct Named {
        experiment: String,
    }
    let file = folder.join("cost.toml");
    let text = fs::read_to_string(&file).map_err(Error::io(&file, "read"))?;
    let named: Named =
        toml::from_str(&text).map_err(|error| Error::file(&file, "the settings of a measurement", error.message()))?;
    let step = crate::experiments::step(&named.experiment, &Source::Text { file: &file, text: &text })?;
    let measured = serde_json::to_string(&step.measure(device)?).expect("plain numbers and names");
    Ok(whole_file::write(&folder.join("cost.json"), measured.as_bytes())?)
}
