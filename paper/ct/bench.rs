//! Steps of the CT networks: how long training and inference take, and what they need of the device.
//!
//! Images are random, so that no data are read; a step is that of the training loop: patches, loss, backward pass, penalty, Adam.

use reynolds::random::Random;
use reynolds_bench::DeviceMemory;
use reynolds_bench::steps::{Paired, Stopwatch};
use reynolds_torch::tch::{Cuda, Device, Kind, Tensor};
use reynolds_torch::{Precision, device, tch};
use reynolds_train::config::{PenaltySettings, RunConfig, Settings, at_least_one};
use reynolds_train::environment::current_commit;
use reynolds_train::error::Result;
use reynolds_train::experiment::Experiment;
use reynolds_train::task::Metrics;
use reynolds_train::train::Trainer;
use serde::{Deserialize, Serialize};

use super::networks::{Architecture, MarNetConfig};
use super::{CtData, CtDataConfig, CtExperiment, CtMode, CtPart, CtSettings, CtTask};
use crate::targets::Trained;
use crate::targets::cost::Cost;

/// What is measured: steps of this run on random images.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct CtBench {
    /// The mode that the run is in.
    pub mode: CtMode,
    /// Steps that are measured.
    pub steps: usize,
    /// Steps before that.
    pub warmup: usize,
    /// Pairs of steps with and without the projection penalty; 0 = none.
    pub pairs: usize,
    /// Network, minibatch, side of the images, precision, and the norm of the projection penalty.
    #[serde(flatten)]
    pub run: RunConfig<CtSettings>,
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
    /// Fifty steps, after five, of a network in a mode with its published strength.
    pub fn new(model: MarNetConfig, mode: CtMode) -> Self {
        let mut run = CtExperiment.defaults();
        run.settings.model = model;
        mode.add_to(&mut run);
        Self { mode, steps: 50, warmup: 5, pairs: 0, run }
    }

    /// The complete settings of a run with so many steps.
    fn config(&self) -> Result<RunConfig<CtSettings>> {
        let mut config = self.run.clone();
        let data = &mut config.settings.data;
        data.patch = data.side;
        (data.train, data.validation, data.test) = (data.batch, 1, data.batch);
        // No step beyond the end of an epoch is needed.
        data.steps = self.warmup + self.steps + 2 * (self.pairs + self.warmup) + 1;
        config.train.epochs = 1;
        at_least_one("steps", self.steps)?;
        config.validate()?;
        Ok(config)
    }

    /// What the projection penalty adds to a step.
    fn paired(&self, task: &CtTask, config: &RunConfig<CtSettings>, watch: Stopwatch) -> Result<Paired> {
        let without = PenaltySettings::default();
        let with = PenaltySettings { lambda_perp: 1.0, norm: config.penalty.norm, ..without.clone() };
        let mut with = Trainer::new(task, &config.train, &with)?;
        let mut without = Trainer::new(task, &config.train, &without)?;
        watch.paired(self.pairs, || without.step(), || with.step())
    }
}

impl Cost for CtBench {
    const KIND: &'static str = "ct";

    fn measure(&self, device: Device) -> Result<Trained> {
        // Counted from before the device is touched.
        let memory = if let Device::Cuda(number) = device { DeviceMemory::begin(number) } else { None };
        let config = self.config()?;
        config.train.check_device(device)?;
        if device.is_cuda() {
            Cuda::cudnn_set_benchmark(true);
        }
        let CtDataConfig { batch, side, .. } = config.settings.data;
        let task = CtTask::new(random_images(batch, side, device)?, &config.settings, config.train.precision, 0)?;
        let mut trainer = Trainer::new(&task, &config.train, &config.penalty)?;
        let watch = Stopwatch { device, steps: self.steps, warmup: self.warmup };
        let train = watch.median(|| trainer.step())?;
        let peak_memory_mib = memory.as_ref().and_then(DeviceMemory::added_mib);
        let inference = task.timed_inference(CtPart::Test, |pass| watch.median(pass))?;
        let mut metrics = Metrics::from([
            ("train_ms".to_string(), 1e3 * train),
            ("train_images_per_s".into(), batch as f64 / train),
            ("inference_ms".into(), 1e3 * inference),
            ("inference_images_per_s".into(), batch as f64 / inference),
            ("parameters".into(), task.trained_numbers(config.train.parametrisation.kind) as f64),
        ]);
        metrics.extend(peak_memory_mib.map(|mib| ("peak_memory_mib".to_string(), mib)));
        if self.pairs > 0 {
            let Paired { without_us, added_us, low_us, high_us, .. } = self.paired(&task, &config, watch)?;
            metrics.extend([
                ("pairs/without_us".to_string(), without_us),
                ("pairs/added_us".into(), added_us),
                ("pairs/low_us".into(), low_us),
                ("pairs/high_us".into(), high_us),
            ]);
        }
        Ok(Trained { metrics, ..Trained::default() })
    }
}

impl CtBenchRow {
    /// What was measured of it on a device.
    pub fn new(bench: &CtBench, device: Device, measured: &Trained) -> Self {
        let CtSettings { data, model, .. } = &bench.run.settings;
        let of_pairs = |name: &str| measured.metric(&format!("pairs/{name}_us"));
        Self {
            architecture: model.architecture,
            mode: bench.mode,
            norm: bench.run.penalty.norm.to_string(),
            batch: data.batch,
            side: data.side,
            precision: bench.run.train.precision,
            device: device::name(device),
            commit: current_commit(),
            train_ms: measured.metric("train_ms"),
            train_images_per_s: measured.metric("train_images_per_s"),
            inference_ms: measured.metric("inference_ms"),
            inference_images_per_s: measured.metric("inference_images_per_s"),
            peak_memory_mib: measured.metrics.get("peak_memory_mib").copied(),
            parameters: measured.metric("parameters") as usize,
            pairs: (bench.pairs > 0).then(|| Paired {
                pairs: bench.pairs,
                without_us: of_pairs("without"),
                added_us: of_pairs("added"),
                low_us: of_pairs("low"),
                high_us: of_pairs("high"),
            }),
        }
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bench_is_the_keys_of_a_run_and_reads_back() {
        let mut bench = CtBench::new(MarNetConfig { stages: 2, ..MarNetConfig::default() }, CtMode::Rpp);
        bench.run.settings.data.batch = 4;
        let text = toml::to_string(&bench).unwrap();
        assert!(text.contains("mode = \"rpp\"") && text.contains("kind = \"residual\""), "{text}");
        assert_eq!(toml::from_str::<CtBench>(&text).unwrap(), bench);
        bench.run.settings.data.side = 64;
        let data = bench.config().unwrap().settings.data;
        assert_eq!((data.patch, data.train, data.test, data.steps), (64, 4, 4, 66));
        bench.steps = 0;
        assert!(bench.config().unwrap_err().to_string().contains("steps: expected at least 1"));
    }
}
