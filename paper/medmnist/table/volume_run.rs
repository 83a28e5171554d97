//! A model of the tables: the settings of its run, trained, and what tables and figures need of it.

use std::collections::HashMap;
use std::ops::Range;
use std::sync::{Arc, Mutex, PoisonError};

use reynolds_torch::Precision;
use reynolds_torch::tch::{Cuda, Device};

use crate::medmnist::rows::{Row, Strengths};
use crate::medmnist::sets::Set;
use crate::medmnist::{MedData, MedSettings, MedTask};
use crate::targets::curves::curves;
use crate::targets::point::{Frame, Point, PointSession, Trained};
use crate::targets::runs::Run;
use crate::targets::{Named, boxed};
use reynolds_train::config::RunConfig;
use reynolds_train::error::{Error, Result};
use reynolds_train::metrics::Summary;
use reynolds_train::progress::Silent;
use reynolds_train::task::{Metrics, Task};
use reynolds_train::train::{Ending, train};

/// Metrics whose curves are kept.
pub(super) const CURVES: [&str; 5] =
    ["train/loss", "validation/loss", "validation/accuracy", "validation/auc", "penalty"];

/// The volumes on a device, loaded once for all models that want the same.
#[derive(Debug, Default)]
struct SharedVolumes(Mutex<HashMap<String, MedData>>);

impl SharedVolumes {
    fn get(&self, settings: &MedSettings, precision: Precision, device: Device) -> Result<MedData> {
        let key = format!("{device:?} {precision:?} {:?}", settings.data);
        // What another worker left there is whole: entries are only ever added.
        let mut loaded = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(volumes) = loaded.get(&key) {
            return Ok(volumes.clone());
        }
        let volumes = MedData::open(&settings.data, precision, device)?;
        Ok(loaded.entry(key).or_insert(volumes).clone())
    }
}

/// One model of the tables.
#[derive(Debug, Clone)]
pub(crate) struct VolumeRun {
    /// Complete.
    pub(super) config: RunConfig<MedSettings>,
    volumes: Arc<SharedVolumes>,
}

impl VolumeRun {
    /// The run of a row on a set with these strengths, all else as in `base`.
    pub(super) fn new(base: &RunConfig<MedSettings>, set: Set, row: Row, strengths: Strengths) -> Self {
        let mut config = row.run(base, strengths);
        config.settings.data.set = set;
        Self { config, volumes: Arc::default() }
    }

    /// The same with another seed.
    pub(super) fn seeded(&self, seed: u64) -> Self {
        let mut other = self.clone();
        other.config.seed = seed;
        other
    }

    /// The same with generated shapes whose symmetry is broken by this much.
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

    /// How far the generated set breaks its symmetry; nothing to any other.
    pub(super) fn breaking(&self) -> f64 {
        self.config.settings.data.shapes.breaking
    }

    /// Steps of its training, as far as the number of volumes says.
    pub(super) fn steps(&self) -> usize {
        let data = &self.config.settings.data;
        let volumes = match data.set {
            Set::Shapes => data.shapes.train,
            Set::File(set) => set.counts()[0],
        };
        self.config.train.epochs * volumes.div_ceil(data.batch.max(1))
    }

    /// What came of it with these seeds, as far as they were run.
    pub(super) fn over_seeds<'a>(&self, frame: &'a Frame, seeds: Range<u64>) -> Vec<Run<'a>> {
        seeds.filter_map(|seed| frame.find(&self.seeded(seed)).map(|run| (seed, run))).collect()
    }

    fn task(&self, device: Device) -> Result<MedTask> {
        if device.is_cuda() {
            Cuda::cudnn_set_benchmark(true);
        }
        let RunConfig { settings, train, seed, .. } = &self.config;
        let volumes = self.volumes.get(settings, train.precision, device)?;
        MedTask::new(volumes, settings, train.precision, *seed)
    }
}

/// Runs as points that load the volumes they have in common once.
pub(super) fn together(runs: Vec<VolumeRun>) -> Vec<Box<dyn Point>> {
    let volumes = Arc::default();
    boxed(runs.into_iter().map(|run| VolumeRun { volumes: Arc::clone(&volumes), ..run }))
}

/// Metrics of the best weights, and what the run was.
fn metrics(summary: &Summary, task: &MedTask) -> Metrics {
    let mut metrics = summary.metrics().clone();
    metrics.extend([
        ("parameters".into(), task.parameters().len() as f64),
        ("epochs".into(), summary.epochs as f64),
        ("steps".into(), summary.steps as f64),
        ("best/epoch".into(), summary.best.map_or(f64::NAN, |best| best.epoch as f64)),
        ("last/test/accuracy".into(), summary.last_metrics.get("test/accuracy").copied().unwrap_or(f64::NAN)),
    ]);
    metrics
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

    /// A run whose loss stops being finite is a finding of the table, not the end of it: "diverged" is 1 then.
    fn train(&self, session: &PointSession<'_>) -> Result<Option<Trained>> {
        let task = self.task(session.device)?;
        let mut journal = session.journal(&self.config);
        let RunConfig { train: loop_settings, penalty, .. } = &self.config;
        let metrics = match train(&task, loop_settings, penalty, &mut journal, &mut Silent, session.interrupt) {
            Ok(Ending::Interrupted { .. }) => return Ok(None),
            Ok(Ending::Finished(summary)) => metrics(&summary, &task),
            Err(Error::NotFinite { .. }) => {
                Metrics::from([("diverged".to_string(), 1.0), ("parameters".into(), task.parameters().len() as f64)])
            }
            Err(error) => return Err(error),
        };
        Ok(Some(Trained { metrics, arrays: curves(&journal.records, &CURVES), ..Trained::default() }))
    }
}

#[cfg(test)]
mod tests {
    use reynolds::penalty::Form;
    use reynolds_train::config::Selection;

    use super::super::budget;
    use super::super::settings::TableSettings;
    use super::super::synthetic::given;
    use super::*;
    use crate::medmnist::data::MedSet;
    use crate::medmnist::networks::{Nonlinearity, Symmetry};
    use crate::targets::Budget;

    #[test]
    fn strengths_seed_and_set_arrive_in_the_run() {
        let settings: TableSettings = given(
            budget::table(Budget::Quick),
            &[
                ("train.epochs", "7"),
                ("penalty.form", "plain"),
                ("model.nonlinearity", "gated"),
                ("model.rpp.dense", "0.1"),
            ],
        );
        let strengths = Strengths { learning_rate: 3e-4, lambda_g: 2e-3, lambda_perp: 0.7 };
        let vessel = Set::File(MedSet::Vessel);
        let config = |row| VolumeRun::new(&settings.run, vessel, row, strengths).seeded(5).config;
        for &group in Symmetry::ALL {
            let ours = config(Row::ours(group));
            assert_eq!((ours.train.learning_rate, ours.train.epochs, ours.seed), (3e-4, 7, 5));
            assert_eq!((ours.penalty.lambda_g, ours.penalty.lambda_perp), (2e-3, 0.7));
            assert_eq!((ours.penalty.form, ours.settings.model.group), (Form::Plain, group));
            assert_eq!((ours.settings.data.set, ours.train.weights), (vessel, Selection::Best));
            assert_eq!(ours.settings.model.nonlinearity, Nonlinearity::Gated);
        }
        // Rows that hold nothing have the learning rate alone, and what is of one network does not reach the others.
        let cnn = config(Row::CNN);
        assert_eq!((cnn.train.learning_rate, cnn.penalty.lambda_g, cnn.penalty.lambda_perp), (3e-4, 0.0, 0.0));
        assert_eq!((cnn.penalty.form, cnn.settings.model.nonlinearity), (Form::Squared, Nonlinearity::Pointwise));
        assert_eq!(config(Row::ALL[2]).settings.model.rpp.dense, 0.1);
    }

    #[test]
    fn ids_say_what_differs() {
        let base = budget::table(Budget::Quick).run;
        let strengths = Strengths { learning_rate: 1e-4, lambda_g: 1e-3, lambda_perp: 1.0 };
        let id = |set, row| VolumeRun::new(&base, set, row, strengths).broken(0.5).id();
        let vessel = Set::File(MedSet::Vessel);
        assert_eq!(id(vessel, Row::ours(Symmetry::So3)), "vessel-so3-ours-lr1e-4-g1e-3-p1e0-seed0");
        assert_eq!(id(Set::Shapes, Row::CNN), "shapes-b0.5-cnn-lr1e-4-seed0");
    }
}
