//! A point of the table: the run of a model, with what tables and figures need.

use super::*;
use crate::smoke::penalty;
use crate::smoke::{SmokeData, SmokeSettings, SmokeTask};
use crate::targets::training::trained;
use reynolds_torch::tch::{Cuda, Device};
use reynolds_train::metrics::Summary;
use reynolds_train::task::{Metrics, Task};
use std::collections::BTreeMap;

/// Steps of a rollout that are drawn.
const DRAWN: [usize; 4] = [1, 5, 10, 20];

/// Arrays of a drawn model: frames `[steps, 2, 64, 64]` at the steps [`DRAWN`].
pub(super) const PREDICTION: &str = "rollout/prediction";
/// See [`PREDICTION`].
pub(super) const TRUTH: &str = "rollout/truth";

const CURVES: [&str; 4] = ["train/loss", "validation/rmse", "penalty", "learning_rate"];

#[derive(Debug, Clone)]
pub(super) struct SmokePoint {
    pub(super) column: Column,
    pub(super) run: RunConfig<SmokeSettings>,
    /// Whether a rollout is kept for a figure.
    pub(super) drawn: bool,
    /// Frames by data set and device.
    pub(super) shared: Arc<Shared<SmokeData>>,
}

impl SmokePoint {
    pub(super) fn kind(&self) -> Symmetry {
        self.run.settings.data.kind
    }

    /// Refuses a network that cannot be built, and a penalty that it does not have.
    pub(super) fn check(&self) -> Result<()> {
        let kind = self.kind();
        penalty::check_settings(&self.run.penalty)?;
        SmokeTask::check(&self.run.settings.model, kind).map_err(|error| match error {
            // The size follows from two keys of the table.
            Error::Config { key, expected, found, .. } if key == "model.hidden" => {
                Error::config(format!("hidden.{kind}.{} times width", self.column.network_name()), expected, found)
            }
            other => other,
        })
    }

    fn task(&self, device: Device) -> Result<SmokeTask> {
        let SmokeSettings { data, model } = &self.run.settings;
        if device.is_cuda() {
            Cuda::cudnn_set_benchmark(true);
        }
        let frames = self.shared.get(format!("{device:?} {data:?}"), || SmokeData::open(data, device))?;
        SmokeTask::new(frames, model, data, self.run.seed)
    }

    fn arrays(&self, task: &SmokeTask) -> Result<BTreeMap<String, Vec<f32>>> {
        let mut arrays = BTreeMap::new();
        let length = self.run.settings.data.rollout;
        for part in Subset::TESTS {
            let both = [("rmse", task.errors(part, length)?), ("persistence", task.persistence(part, length)?)];
            for (what, errors) in both {
                let steps = errors.by_step().iter().map(|&value| value as f32).collect();
                arrays.insert(format!("by_step/{}/{what}", part.name()), steps);
            }
        }
        if self.drawn {
            let window = task.data().windows(Subset::Future).len() / 2;
            let rollout = task.rollout(Subset::Future, window, length)?;
            let shown = |frames: &[Vec<f32>]| drawn_steps(length).flat_map(|step| frames[step - 1].clone()).collect();
            arrays.insert(PREDICTION.into(), shown(&rollout.prediction));
            arrays.insert(TRUTH.into(), shown(&rollout.truth));
        }
        Ok(arrays)
    }
}

/// Those of [`DRAWN`] that a rollout has.
pub(super) fn drawn_steps(length: usize) -> impl Iterator<Item = usize> {
    DRAWN.into_iter().filter(move |step| *step <= length)
}

/// Metrics of the selected weights, and those of the last and the best under "last/" and "best/".
fn metrics(summary: &Summary) -> Metrics {
    let mut metrics = summary.metrics().clone();
    for (name, of) in [("last", &summary.last_metrics), ("best", &summary.best_metrics)] {
        metrics.extend(of.iter().map(|(metric, value)| (format!("{name}/{metric}"), *value)));
    }
    metrics.insert("stopped_early".into(), f64::from(u8::from(summary.stopped_early)));
    metrics.insert("best/epoch".into(), summary.best.map_or(f64::NAN, |best| best.epoch as f64));
    metrics
}

impl Point for SmokePoint {
    fn id(&self) -> String {
        let (kind, seed, lambda) = (self.kind(), self.run.seed, self.run.penalty.lambda_perp);
        match self.column.without_penalty() {
            None => format!("{kind}-{}-seed{seed}", self.column.name()),
            Some(column) => format!("{kind}-{}-reg-p{lambda}-seed{seed}", column.name()),
        }
    }

    fn settings(&self) -> serde_json::Value {
        serde_json::to_value(&self.run).expect("settings are tables of plain values")
    }

    fn train(&self, session: &PointSession<'_>) -> Result<Option<Trained>> {
        let mut task = self.task(session.device)?;
        let parameters = task.parameters().len() as f64;
        trained(&self.run, &mut task, parameters, &CURVES, session, |task, summary| {
            Ok(Trained { metrics: metrics(summary), arrays: self.arrays(task)?, ..Trained::default() })
        })
    }

    fn suffices(&self, trained: &Trained) -> bool {
        !self.drawn || trained.metrics.contains_key("diverged") || trained.arrays.contains_key(PREDICTION)
    }
}
