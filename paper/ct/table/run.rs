//! A run of a row, and what tables and figures keep of it.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::row::{Mode, Row};
use crate::ct::{CaseImages, CaseQuality, CtData, CtSettings, CtSubset, CtTask, Measured, open_pairs, pairs_folder};
use crate::targets::point::{Point, PointSession, Trained};
use crate::targets::training::{Shared, trained};
use reynolds_torch::Precision;
use reynolds_torch::tch::Device;
use reynolds_train::config::RunConfig;
use reynolds_train::error::Result;
use reynolds_train::metrics::Summary;
use reynolds_train::task::{Split, Task};

/// Metrics whose curves are kept.
pub(super) const CURVES: [&str; 6] = [
    "train/loss",
    "validation/psnr",
    "validation/ssim",
    "validation/weights/relative_distance",
    "penalty",
    "learning_rate",
];

/// Cases of which pictures are kept: the slice of the figure, and the first of the test.
pub(super) const PICTURED: [(CtSubset, &str); 2] = [(CtSubset::Figure, "figure"), (CtSubset::Test, "test")];

/// Images that a plain model keeps beside its own.
pub(super) const SEEN: [&str; 4] = ["truth", "input", "interpolated", "keep"];

/// The array of an image, `[side · side]` from the top, from 0 to 255: "picture/figure/network".
pub(super) fn picture(case: &str, image: &str) -> String {
    format!("picture/{case}/{image}")
}

/// One model of a row.
#[derive(Debug, Clone)]
pub(super) struct CtRun {
    pub(super) row: Row,
    /// Complete, in the mode of the row.
    pub(super) run: RunConfig<CtSettings>,
    /// Whether pictures are kept for the figure.
    pub(super) drawn: bool,
    pub(super) shared: Arc<Shared<CtData>>,
}

impl CtRun {
    fn task(&self, device: Device, projected: bool, precision: Precision) -> Result<CtTask> {
        let settings = CtSettings { projected, ..self.run.settings.clone() };
        let data = &settings.data;
        let counts = (data.train, data.validation, data.test);
        let key = format!("{device:?} {counts:?} {}", pairs_folder(data).display());
        let pairs = self.shared.get(key, || open_pairs(data, device))?;
        CtTask::new(pairs, &settings, precision, self.run.seed)
    }

    /// The network of `task`, in a precision, tested with P(W) for regularised kernels if `projected`.
    fn again(&self, task: &CtTask, projected: bool, precision: Precision) -> Result<CtTask> {
        let mut again = self.task(task.data().device(), projected, precision)?;
        again.parameters_mut().assign(task.parameters().flat())?;
        again.parameters_mut().assign_statistics(task.parameters().statistics())?;
        Ok(again)
    }

    /// The cases that are drawn.
    fn pictured(&self, task: &CtTask) -> impl Iterator<Item = (CtSubset, &'static str)> {
        PICTURED.into_iter().filter(|(part, _)| self.drawn && task.data().count(*part) > 0)
    }

    /// Metrics, PSNR and SSIM case by case, and pictures.
    fn tested(&self, task: &CtTask, summary: &Summary) -> Result<Trained> {
        let CaseQuality { psnr, ssim } = task.quality(CtSubset::Test, Measured::Network)?;
        let mut metrics = summary.metrics().clone();
        metrics.insert("test/ssim_se".into(), CaseQuality::mean(&ssim).1);
        let single = |values: Vec<f64>| values.into_iter().map(|value| value as f32).collect();
        let mut arrays = BTreeMap::from([("case/psnr".into(), single(psnr)), ("case/ssim".into(), single(ssim))]);
        for (part, case) in self.pictured(task) {
            arrays.insert(picture(case, "network"), rounded(task.reduce(part, 0)?));
            if self.row.mode == Mode::Plain {
                let CaseImages { truth, corrupted, interpolated, keep, .. } = task.data().images(part, 0)?;
                for (name, image) in SEEN.into_iter().zip([truth, corrupted, interpolated, keep]) {
                    arrays.insert(picture(case, name), rounded(image));
                }
            }
        }
        let mut tested = Trained { metrics, arrays, ..Trained::default() };
        self.test_precision(task, &mut tested)?;
        if self.row.mode == Mode::Plain {
            self.test_projected(task, &mut tested)?;
        }
        Ok(tested)
    }

    /// The test of the same weights in the other precision, if the device has it: "f32/test/psnr" of a network in bf16.
    fn test_precision(&self, task: &CtTask, tested: &mut Trained) -> Result<()> {
        let other = match self.run.train.precision {
            Precision::F32 => Precision::Bf16,
            Precision::Bf16 => Precision::F32,
        };
        if other.check(task.data().device()).is_err() {
            return Ok(());
        }
        let CaseQuality { psnr, ssim } = self.again(task, false, other)?.quality(CtSubset::Test, Measured::Network)?;
        let means = [("psnr", psnr), ("ssim", ssim)].map(|(metric, values)| (metric, CaseQuality::mean(&values).0));
        tested.metrics.extend(means.map(|(metric, mean)| (format!("{}/test/{metric}", other.name()), mean)));
        Ok(())
    }

    /// Test-time projection of a plain network: metrics "projected/test/…" and its picture.
    fn test_projected(&self, task: &CtTask, tested: &mut Trained) -> Result<()> {
        let projected = self.again(task, true, self.run.train.precision)?;
        let metrics = projected.evaluate(Split::Test)?;
        tested.metrics.extend(metrics.into_iter().map(|(name, value)| (format!("projected/test/{name}"), value)));
        for (part, case) in self.pictured(task) {
            tested.arrays.insert(picture(case, "projected"), rounded(projected.reduce(part, 0)?));
        }
        Ok(())
    }
}

/// To hundredths, a fifth of a Hounsfield unit, for small files.
fn rounded(image: Vec<f32>) -> Vec<f32> {
    image.into_iter().map(|value| (100.0 * value).round() / 100.0).collect()
}

impl Point for CtRun {
    fn id(&self) -> String {
        format!("{}-seed{}", self.row.id(), self.run.seed)
    }

    fn settings(&self) -> serde_json::Value {
        serde_json::to_value(&self.run).expect("settings are tables of plain values")
    }

    fn train(&self, session: &PointSession<'_>) -> Result<Option<Trained>> {
        let mut task = self.task(session.device, false, self.run.train.precision)?;
        let parameters = task.trained_numbers(self.run.train.parametrisation.kind) as f64;
        trained(&self.run, &mut task, parameters, &CURVES, session, |task, summary| self.tested(task, summary))
    }
}
