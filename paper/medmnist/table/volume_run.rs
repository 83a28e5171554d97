//! A model of the tables: the settings of its run, and its training.

use std::sync::Arc;

use super::*;
use crate::medmnist::{MedData, MedTask};
use crate::targets::training::{Shared, trained};
use reynolds_torch::tch::{Cuda, Device};
use reynolds_train::task::Task;

pub(super) const CURVES: [&str; 5] =
    ["train/loss", "validation/loss", "validation/accuracy", "validation/auc", "penalty"];

#[derive(Debug, Clone)]
pub(crate) struct VolumeRun {
    pub(super) config: RunConfig<MedSettings>,
    volumes: Arc<Shared<MedData>>,
}

impl VolumeRun {
    pub(super) fn new(base: &RunConfig<MedSettings>, set: Set, row: Row, strengths: Strengths) -> Self {
        let mut config = row.run(base, strengths);
        config.settings.data.set = set;
        Self { config, volumes: Arc::default() }
    }

    pub(super) fn seeded(&self, seed: u64) -> Self {
        let mut other = self.clone();
        other.config.seed = seed;
        other
    }

    pub(super) fn broken(mut self, breaking: f64) -> Self {
        self.config.settings.data.shapes.breaking = breaking;
        self
    }

    pub(super) fn set(&self) -> Set {
        self.config.settings.data.set
    }

    pub(super) fn row(&self) -> Row {
        let model = &self.config.settings.model;
        Row { architecture: model.architecture, group: model.group }
    }

    pub(super) fn strengths(&self) -> Strengths {
        let RunConfig { penalty, train, .. } = &self.config;
        let (lambda_g, lambda_perp) = (penalty.lambda_g, penalty.lambda_perp);
        Strengths { learning_rate: train.learning_rate, lambda_g, lambda_perp }
    }

    pub(super) fn breaking(&self) -> f64 {
        self.config.settings.data.shapes.breaking
    }

    /// Steps of its training, but for a volume that is left over.
    pub(super) fn steps(&self) -> usize {
        let data = &self.config.settings.data;
        let volumes = data.set.file().map_or(data.shapes.train, |set| set.counts()[0]);
        self.config.train.epochs * volumes.div_ceil(data.batch.max(1))
    }

    fn task(&self, device: Device) -> Result<MedTask> {
        if device.is_cuda() {
            Cuda::cudnn_set_benchmark(true);
        }
        let RunConfig { settings, train, seed, .. } = &self.config;
        let (data, precision) = (&settings.data, train.precision);
        let key = format!("{device:?} {precision:?} {data:?}");
        let volumes = self.volumes.get(key, || MedData::open(data, precision, device))?;
        MedTask::new(volumes, settings, precision, *seed)
    }
}

pub(super) fn together(runs: Vec<VolumeRun>) -> Vec<Box<dyn Point>> {
    let volumes = Arc::default();
    boxed(runs.into_iter().map(|run| VolumeRun { volumes: Arc::clone(&volumes), ..run }))
}

impl Point for VolumeRun {
    /// "vessel-so3-ours-lr1e-4-g1e-3-p1e0-seed0", "shapes-b0.5-cnn-lr1e-4-seed0".
    fn id(&self) -> String {
        let Strengths { learning_rate, lambda_g, lambda_perp } = self.strengths();
        let (set, row, seed) = (self.set(), self.row(), self.config.seed);
        let breaking = if set == Set::Shapes { format!("-b{}", self.breaking()) } else { String::new() };
        let lambdas = if row.is_ours() { format!("-g{lambda_g:e}-p{lambda_perp:e}") } else { String::new() };
        format!("{}{breaking}-{}-lr{learning_rate:e}{lambdas}-seed{seed}", set.name(), row.name())
    }

    fn settings(&self) -> serde_json::Value {
        serde_json::to_value(&self.config).expect("settings are tables of plain values")
    }

    fn train(&self, session: &PointSession<'_>) -> Result<Option<Trained>> {
        let mut task = self.task(session.device)?;
        let parameters = task.parameters().len() as f64;
        trained(&self.config, &mut task, parameters, &CURVES, session, |_, summary| {
            let mut metrics = summary.metrics().clone();
            let last = summary.last_metrics.get("test/accuracy").copied();
            metrics.insert("last/test/accuracy".into(), last.unwrap_or(f64::NAN));
            metrics.insert("best/epoch".into(), summary.best.map_or(f64::NAN, |best| best.epoch as f64));
            Ok(Trained { metrics, ..Trained::default() })
        })
    }
}
