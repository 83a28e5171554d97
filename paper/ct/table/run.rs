//! A run of a row: trains it, and keeps what tables and figures need of it.

use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, Mutex, PoisonError};

use reynolds::norm::Norm;
use reynolds_torch::Precision;
use reynolds_torch::tch::{Cuda, Device};

use super::cost::spelt;
use super::row::{Mode, Row};
use crate::ct::{CaseImages, CaseQuality, CtData, CtPart, CtSettings, CtTask, Measured, open_pairs, pairs_folder};
use crate::targets::curves::curves;
use crate::targets::point::{Point, PointSession, Trained};
use reynolds_train::config::RunConfig;
use reynolds_train::error::{Error, Result};
use reynolds_train::metrics::Summary;
use reynolds_train::progress::Silent;
use reynolds_train::task::{Metrics, Split, Task};
use reynolds_train::train::{Ending, train};

/// Metrics whose curves are kept.
pub(super) const CURVES: [&str; 6] =
    ["train/loss", "validation/psnr", "validation/ssim", "validation/held/relative", "penalty", "learning_rate"];

/// Cases of which pictures are kept: the slice of the figure, and the first of the test.
pub(super) const PICTURED: [(CtPart, &str); 2] = [(CtPart::Figure, "figure"), (CtPart::Test, "test")];

/// Images that a plain model keeps beside its own: what every network sees, and should make of it.
pub(super) const SEEN: [&str; 4] = ["truth", "input", "interpolated", "keep"];

/// The array of an image, `[side · side]` from the top, from 0 to 255: "picture/figure/network".
pub(super) fn picture(case: &str, image: &str) -> String {
    format!("picture/{case}/{image}")
}

/// Whether an array is an image.
pub(super) fn is_picture(name: &str) -> bool {
    name.starts_with("picture/")
}

/// The pairs on a device, loaded once for all models that want the same.
#[derive(Debug, Default)]
pub(super) struct SharedData(Mutex<HashMap<String, CtData>>);

impl SharedData {
    fn get(&self, settings: &CtSettings, device: Device) -> Result<CtData> {
        let data = &settings.data;
        let counts = (data.train, data.validation, data.test);
        let key = format!("{device:?} {counts:?} {}", pairs_folder(data).display());
        // What another worker left there is whole: entries are only ever added.
        let mut loaded = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(pairs) = loaded.get(&key) {
            return Ok(pairs.clone());
        }
        let pairs = open_pairs(data, device)?;
        Ok(loaded.entry(key).or_insert(pairs).clone())
    }
}

/// One model of a row.
#[derive(Debug, Clone)]
pub(super) struct CtRun {
    pub(super) row: Row,
    /// Complete, in the mode of the row.
    pub(super) run: RunConfig<CtSettings>,
    /// Whether pictures are kept for the figure.
    pub(super) drawn: bool,
    pub(super) shared: Arc<SharedData>,
}

impl CtRun {
    fn task(&self, device: Device, projected: bool, precision: Precision) -> Result<CtTask> {
        if device.is_cuda() {
            Cuda::cudnn_set_benchmark(true);
        }
        let settings = CtSettings { projected, ..self.run.settings.clone() };
        let pairs = self.shared.get(&settings, device)?;
        CtTask::new(pairs, &settings, precision, self.run.seed)
    }

    /// The network of `task`, with P(W) for held kernels at the test if `projected`, and in a precision.
    fn again(&self, task: &CtTask, device: Device, projected: bool, precision: Precision) -> Result<CtTask> {
        let again = self.task(device, projected, precision)?;
        again.parameters().assign(task.parameters().flat())?;
        again.parameters().statistics().shallow_clone().f_copy_(task.parameters().statistics())?;
        Ok(again)
    }

    /// What the same weights make of the test in the other precision: "f32/test/psnr" of a network in bf16. Where there is one.
    fn test_precision(&self, task: &CtTask, device: Device, trained: &mut Trained) -> Result<()> {
        let other = match self.run.train.precision {
            Precision::F32 => Precision::Bf16,
            Precision::Bf16 => Precision::F32,
        };
        if other.check(device).is_err() {
            return Ok(());
        }
        let quality = self.again(task, device, false, other)?.quality(CtPart::Test, Measured::Network)?;
        for (metric, values) in [("psnr", &quality.psnr), ("ssim", &quality.ssim)] {
            trained.metrics.insert(format!("{}/test/{metric}", other.name()), CaseQuality::mean(values).0);
        }
        Ok(())
    }

    /// Metrics, PSNR and SSIM case by case, and pictures.
    fn tested(&self, task: &CtTask, summary: &Summary) -> Result<Trained> {
        let quality = task.quality(CtPart::Test, Measured::Network)?;
        let mut metrics = self.metrics(summary, task);
        metrics.insert("test/ssim_se".into(), CaseQuality::mean(&quality.ssim).1);
        let single = |values: &[f64]| values.iter().map(|&value| value as f32).collect();
        let mut arrays = BTreeMap::from([
            ("case/psnr".to_string(), single(&quality.psnr)),
            ("case/ssim".to_string(), single(&quality.ssim)),
        ]);
        for (part, case) in PICTURED.into_iter().filter(|(part, _)| self.drawn && task.data().count(*part) > 0) {
            arrays.insert(picture(case, "network"), rounded(task.reduce(part, 0)?));
            if self.row.mode == Mode::Plain {
                let CaseImages { truth, corrupted, interpolated, keep, .. } = task.data().images(part, 0)?;
                for (name, image) in SEEN.into_iter().zip([truth, corrupted, interpolated, keep]) {
                    arrays.insert(picture(case, name), rounded(image));
                }
            }
        }
        Ok(Trained { metrics, arrays, ..Trained::default() })
    }

    /// What test-time projection makes of a plain network: metrics under "projected/test/…" and its picture.
    fn test_projected(&self, task: &CtTask, device: Device, trained: &mut Trained) -> Result<()> {
        let projected = self.again(task, device, true, self.run.train.precision)?;
        let metrics = projected.evaluate(Split::Test)?;
        trained.metrics.extend(metrics.into_iter().map(|(name, value)| (format!("projected/test/{name}"), value)));
        for (part, case) in PICTURED.into_iter().filter(|(part, _)| self.drawn && task.data().count(*part) > 0) {
            trained.arrays.insert(picture(case, "projected"), rounded(projected.reduce(part, 0)?));
        }
        Ok(())
    }

    /// Metrics of the last weights, and what the run was.
    fn metrics(&self, summary: &Summary, task: &CtTask) -> Metrics {
        let mut metrics = summary.metrics().clone();
        metrics.extend([
            ("parameters".into(), self.parameters(task)),
            ("epochs".into(), summary.epochs as f64),
            ("steps".into(), summary.steps as f64),
        ]);
        metrics
    }

    fn parameters(&self, task: &CtTask) -> f64 {
        task.trained_numbers(self.run.train.parametrisation.kind) as f64
    }
}

/// To hundredths, a fifth of a Hounsfield unit: files stay small.
fn rounded(image: Vec<f32>) -> Vec<f32> {
    image.into_iter().map(|value| (100.0 * value).round() / 100.0).collect()
}

impl Point for CtRun {
    fn id(&self) -> String {
        let (seed, norm) = (self.run.seed, self.run.penalty.norm);
        let norm = if norm == Norm::Frobenius { String::new() } else { format!("-{}", spelt(norm)) };
        format!("{}{norm}-seed{seed}", self.row.name())
    }

    fn settings(&self) -> serde_json::Value {
        serde_json::to_value(&self.run).expect("settings are tables of plain values")
    }

    /// A run whose loss stops being finite is a finding of the table, not the end of it: "diverged" is 1 then.
    fn train(&self, session: &PointSession<'_>) -> Result<Option<Trained>> {
        let task = self.task(session.device, false, self.run.train.precision)?;
        let mut journal = session.journal(&self.run);
        let RunConfig { train: loop_settings, penalty, .. } = &self.run;
        let mut trained = match train(&task, loop_settings, penalty, &mut journal, &mut Silent, session.interrupt) {
            Ok(Ending::Interrupted { .. }) => return Ok(None),
            Ok(Ending::Finished(summary)) => self.tested(&task, &summary)?,
            Err(Error::NotFinite { .. }) => {
                let metrics = [("diverged".to_string(), 1.0), ("parameters".to_string(), self.parameters(&task))];
                Trained { metrics: Metrics::from(metrics), ..Trained::default() }
            }
            Err(error) => return Err(error),
        };
        if !trained.metrics.contains_key("diverged") {
            self.test_precision(&task, session.device, &mut trained)?;
            if self.row.mode == Mode::Plain {
                self.test_projected(&task, session.device, &mut trained)?;
            }
        }
        trained.arrays.extend(curves(&journal.records, &CURVES));
        Ok(Some(trained))
    }
}
