//! Models of the tables that nobody trained and costs that nobody measured, for tests of what is made of them.

use std::collections::BTreeMap;

use reynolds::norm::Norm;

use super::cells::{Asked, Cell};
use super::cost::RowCost;
use super::row::Row;
use super::run::{CtRun, SEEN, picture};
use super::settings::{Costs, Free, Modes, Norms, TargetSettings};
use super::{FigCt, TableCt, TableNorms};
use crate::targets::point::{Frame, Trained};
use crate::targets::{Budget, Target};
use reynolds_train::config::{self, Assignment};
use reynolds_train::task::Metrics;

/// PSNR of the synthetic LI.
pub(super) const LI: f64 = 35.0;

/// The quick budget of a target with these settings.
pub(super) fn settings<T: Target>(target: &T, given: &[(&str, &str)]) -> T::Settings {
    let given: Vec<Assignment> = given.iter().map(|(key, value)| Assignment::new(key, value)).collect();
    config::load(&target.settings(Budget::Quick), None, &given).unwrap()
}

pub(super) fn table(given: &[(&str, &str)]) -> TargetSettings<Modes, Costs> {
    settings(&TableCt, given)
}

pub(super) fn norms(given: &[(&str, &str)]) -> TargetSettings<Norms, Costs> {
    settings(&TableNorms, given)
}

pub(super) fn figure(given: &[(&str, &str)]) -> TargetSettings<Modes, Free> {
    settings(&FigCt, given)
}

/// The cells of `table-ct`.
pub(super) fn cells<'a>(settings: &'a TargetSettings<Modes, Costs>, frame: &'a Frame) -> Vec<Cell<'a>> {
    settings.asked().cells(frame, &settings.rows())
}

/// What came of a run with this PSNR; the projected weights lose 10 dB. SSIM follows PSNR, defects too.
pub(super) fn run(psnr: f64, defect: f64) -> Trained {
    let mut metrics = Metrics::from([("parameters".into(), 4_300_175.0)]);
    for (prefix, psnr) in [("", psnr), ("projected/", psnr - 10.0)] {
        for (name, value) in [
            ("psnr", psnr),
            ("ssim", psnr / 45.0),
            ("psnr_se", 0.25),
            ("input/psnr", 30.0),
            ("interpolated/psnr", LI),
            ("input/ssim", 0.8),
            ("interpolated/ssim", 0.9),
            ("gain/psnr", psnr - LI),
            ("gain/psnr_se", 0.1),
            ("defect", defect),
            ("held/residual", 10.0 * defect),
            ("held/relative", defect),
        ] {
            metrics.insert(format!("{prefix}test/{name}"), value);
        }
    }
    let arrays = [
        ("curve/epoch", vec![1.0, 2.0]),
        ("curve/train/loss", vec![9.0, 3.0]),
        ("curve/validation/psnr", vec![30.0, psnr as f32]),
    ];
    let arrays = arrays.map(|(name, values)| (name.to_string(), values)).into();
    Trained { metrics, arrays, ..Trained::default() }
}

/// What comes of a run whose loss stopped being finite.
pub(super) fn diverged() -> Trained {
    Trained { metrics: [("diverged".to_string(), 1.0)].into(), ..Trained::default() }
}

/// Pictures of 16² in shades of grey, with metal in two places.
pub(super) fn with_pictures(mut run: Trained) -> Trained {
    let image = |grey: f32| vec![grey; 256];
    let mut keep = vec![1.0; 256];
    (keep[6 * 16 + 3], keep[8 * 16 + 13]) = (0.0, 0.0);
    let seen = [image(50.0), image(80.0), image(60.0), keep];
    for case in ["figure", "test"] {
        run.arrays.extend(SEEN.into_iter().zip(seen.clone()).map(|(name, image)| (picture(case, name), image)));
        run.arrays.insert(picture(case, "network"), image(52.0));
        run.arrays.insert(picture(case, "projected"), image(55.0));
    }
    run
}

/// A cost at batches 4 and 12: so many training images a second at 4, a tenth more at 12, and twice in inference.
pub(super) fn cost(speed: f64, parameters: f64) -> Trained {
    let mut metrics = BTreeMap::from([("parameters".to_string(), parameters)]);
    for (batch, factor) in [(4, 1.0), (12, 1.1)] {
        for (name, value) in [
            ("train_ms", 1e3 * f64::from(batch) / (factor * speed)),
            ("train_images_per_s", factor * speed),
            ("inference_ms", 1.0),
            ("inference_images_per_s", 2.0 * speed),
            ("peak_memory_mib", 1024.0 * f64::from(batch)),
        ] {
            metrics.insert(format!("batch{batch}/{name}"), value);
        }
    }
    Trained { metrics, ..Trained::default() }
}

/// Every point that these rows need, and what is said to have come of it.
pub(super) fn frame(
    asked: Asked<'_>,
    rows: &[(Row, Norm)],
    result: impl Fn(&CtRun) -> Trained,
    measured: impl Fn(&RowCost) -> Option<Trained>,
) -> Frame {
    let mut frame = Frame::default();
    for run in asked.runs(rows, asked.training.seeds) {
        frame.insert(&run, result(&run));
    }
    for cost in asked.costs(rows) {
        if let Some(trained) = measured(&cost) {
            frame.insert(&cost, trained);
        }
    }
    frame
}

/// The same of `table-ct`.
pub(super) fn models(
    settings: &TargetSettings<Modes, Costs>,
    result: impl Fn(&CtRun) -> Trained,
    measured: impl Fn(&RowCost) -> Option<Trained>,
) -> Frame {
    frame(settings.asked(), &settings.rows(), result, measured)
}
