//! A point of the table: the run of a model, and what tables and figures need of it.

use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, Mutex, PoisonError};

use crate::smoke::data::{INPUT_FRAMES, Kind};
use reynolds_torch::tch::{Cuda, Device};

use crate::smoke::columns::Column;
use crate::smoke::penalty;
use crate::smoke::{Part, SmokeData, SmokeSettings, SmokeTask, data_folder, symmetry};
use crate::targets::Named;
use crate::targets::curves::curves;
use crate::targets::point::{Point, PointSession, Trained};
use reynolds_train::config::RunConfig;
use reynolds_train::error::{Error, Result};
use reynolds_train::metrics::Summary;
use reynolds_train::progress::Silent;
use reynolds_train::task::{Metrics, Task};
use reynolds_train::train::{Ending, train};

/// Steps of a rollout that are drawn, from 1.
pub(super) const DRAWN: [usize; 4] = [1, 5, 10, 20];

/// Arrays of a drawn model: frames `[steps, 2, 64, 64]` at the steps [`DRAWN`].
pub(super) const PREDICTION: &str = "rollout/prediction";
/// See [`PREDICTION`].
pub(super) const TRUTH: &str = "rollout/truth";

/// The frames of a data set on a device, loaded once for all models that want the same.
#[derive(Debug, Default)]
pub(super) struct SharedData(Mutex<HashMap<(Kind, String), SmokeData>>);

impl SharedData {
    fn get(&self, settings: &SmokeSettings, device: Device) -> Result<SmokeData> {
        let data = &settings.data;
        let key = (data.kind, format!("{device:?} {:?} {}", data.counts(), data.folder));
        // What another worker left there is whole: entries are only ever added.
        let mut loaded = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(frames) = loaded.get(&key) {
            return Ok(frames.clone());
        }
        let frames = SmokeData::open(data.kind, &data_folder(&data.folder), data.counts(), device)?;
        Ok(loaded.entry(key).or_insert(frames).clone())
    }
}

/// One model of the table: the complete settings of its run.
#[derive(Debug, Clone)]
pub(super) struct SmokePoint {
    pub(super) column: Column,
    pub(super) run: RunConfig<SmokeSettings>,
    /// Whether a rollout of it is kept for a figure.
    pub(super) drawn: bool,
    pub(super) shared: Arc<SharedData>,
}

impl SmokePoint {
    pub(super) fn kind(&self) -> Kind {
        self.run.settings.data.kind
    }

    /// Refuses a network that cannot be built, and a penalty that it does not have.
    pub(super) fn check(&self) -> Result<()> {
        let kind = self.kind();
        penalty::check(&self.run.penalty.penalty())?;
        SmokeTask::check(&self.run.settings.model, symmetry(kind)).map_err(|error| match error {
            // The size follows from two keys of the table.
            Error::Config { key, expected, found, .. } if key == "model.hidden" => {
                Error::config(format!("hidden.{kind}.{} times width", self.column.network_name()), expected, found)
            }
            other => other,
        })
    }

    /// The task on frames that are there.
    fn task(&self, device: Device) -> Result<SmokeTask> {
        let SmokeSettings { data, model } = &self.run.settings;
        if device.is_cuda() {
            Cuda::cudnn_set_benchmark(true);
        }
        let frames = self.shared.get(&self.run.settings, device)?;
        SmokeTask::new(frames, model, symmetry(data.kind), data.rollouts(), self.run.seed)
    }

    fn arrays(&self, task: &SmokeTask) -> Result<BTreeMap<String, Vec<f32>>> {
        let mut arrays = BTreeMap::new();
        let length = self.run.settings.data.rollout;
        for (name, part) in [("future", Part::Future), ("domain", Part::Domain)] {
            for (what, errors) in
                [("rmse", task.errors(part, length)?), ("persistence", task.persistence(part, length)?)]
            {
                let steps = errors.by_step().iter().map(|&value| value as f32).collect();
                arrays.insert(format!("by_step/{name}/{what}"), steps);
            }
        }
        if self.drawn {
            let window = task.data().windows(Part::Future).len() / 2;
            let rollout = task.rollout(Part::Future, window, length)?;
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

/// Metrics of the selected weights, those of the last and the best under "last/" and "best/", and what the run was.
fn metrics(summary: &Summary, task: &SmokeTask) -> Metrics {
    let mut metrics = summary.metrics().clone();
    for (name, of) in [("last", &summary.last_metrics), ("best", &summary.best_metrics)] {
        metrics.extend(of.iter().map(|(metric, value)| (format!("{name}/{metric}"), *value)));
    }
    metrics.extend([
        ("parameters".into(), task.parameters().len() as f64),
        ("epochs".into(), summary.epochs as f64),
        ("steps".into(), summary.steps as f64),
        ("stopped_early".into(), f64::from(u8::from(summary.stopped_early))),
        ("best/epoch".into(), summary.best.map_or(f64::NAN, |best| best.epoch as f64)),
    ]);
    metrics
}

/// Metrics whose curves are kept.
const CURVES: [&str; 4] = ["train/loss", "validation/rmse", "penalty", "learning_rate"];

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

    /// A run whose loss stops being finite is a finding of the table, not the end of it: "diverged" is 1 then, and the failure says why.
    fn train(&self, session: &PointSession<'_>) -> Result<Option<Trained>> {
        let task = self.task(session.device)?;
        let (mut journal, mut failures) = (session.journal(&self.run), BTreeMap::new());
        let RunConfig { train: loop_settings, penalty, .. } = &self.run;
        let (metrics, mut arrays) =
            match train(&task, loop_settings, penalty, &mut journal, &mut Silent, session.interrupt) {
                Ok(Ending::Interrupted { .. }) => return Ok(None),
                Ok(Ending::Finished(summary)) => (metrics(&summary, &task), self.arrays(&task)?),
                Err(error @ Error::NotFinite { .. }) => {
                    let parameters = task.parameters().len() as f64;
                    let metrics = [("diverged".to_string(), 1.0), ("parameters".to_string(), parameters)];
                    failures.insert("training".to_string(), error.to_string());
                    (Metrics::from(metrics), BTreeMap::new())
                }
                Err(error) => return Err(error),
            };
        arrays.extend(curves(&journal.records, &CURVES));
        Ok(Some(Trained { metrics, arrays, failures }))
    }

    fn suffices(&self, trained: &Trained) -> bool {
        !self.drawn || trained.metrics.contains_key("diverged") || trained.arrays.contains_key(PREDICTION)
    }
}

/// How many frames a model sees; for notes.
pub(super) const SEEN: usize = INPUT_FRAMES;
