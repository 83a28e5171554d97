//! A model of the tables: trains it, and keeps what tables and figures need of it.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use reynolds_torch::Precision;
use reynolds_torch::tch::{Cuda, Device};
use toml::Table;

use super::settings::Point;
use crate::medmnist::{MedData, MedSettings, MedTask};
use crate::targets::curves::curves;
use crate::targets::point::{Point, Trained};
use reynolds_train::config::{self, RunConfig};
use reynolds_train::error::{Error, Result};
use reynolds_train::interrupt::Interrupt;
use reynolds_train::journal::Memory;
use reynolds_train::metrics::Summary;
use reynolds_train::progress::Silent;
use reynolds_train::task::{Metrics, Task};
use reynolds_train::train::{Ending, train};

/// Metrics whose curves are kept.
pub(super) const CURVES: [&str; 5] =
    ["train/loss", "validation/loss", "validation/accuracy", "validation/auc", "penalty"];

/// The volumes on a device, loaded once for all models that want the same.
#[derive(Debug, Default)]
pub(super) struct SharedData(Mutex<HashMap<String, MedData>>);

impl SharedData {
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
pub(super) struct MedModel {
    pub(super) point: Point,
    pub(super) config: RunConfig<MedSettings>,
    pub(super) shared: Arc<SharedData>,
}

impl MedModel {
    fn task(&self, device: Device) -> Result<MedTask> {
        if device.is_cuda() {
            Cuda::cudnn_set_benchmark(true);
        }
        let RunConfig { settings, train, seed, .. } = &self.config;
        let volumes = self.shared.get(settings, train.precision, device)?;
        MedTask::new(volumes, settings, train.precision, *seed)
    }
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

impl Point for MedModel {
    fn id(&self) -> String {
        self.point.name()
    }

    fn config(&self) -> Table {
        config::tree(&self.config)
    }

    /// A run whose loss stops being finite is a finding of the table, not the end of it: "diverged" is 1 then.
    fn train(&self, device: Device, interrupt: &Interrupt) -> Result<Option<Trained>> {
        let task = self.task(device)?;
        let mut journal = Memory::default();
        let RunConfig { train: loop_settings, penalty, .. } = &self.config;
        let metrics = match train(&task, loop_settings, penalty, &mut journal, &mut Silent, interrupt) {
            Ok(Ending::Interrupted { .. }) => return Ok(None),
            Ok(Ending::Finished(summary)) => metrics(&summary, &task),
            Err(Error::NotFinite { .. }) => {
                Metrics::from([("diverged".to_string(), 1.0), ("parameters".into(), task.parameters().len() as f64)])
            }
            Err(error) => return Err(error),
        };
        Ok(Some(Trained { metrics, arrays: curves(&journal.records, &CURVES) }))
    }
}
