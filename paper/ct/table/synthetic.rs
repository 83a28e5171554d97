//! Models of the tables that nobody trained and costs that nobody measured, for tests of what is made of them.

use std::collections::BTreeMap;

use toml::Table;

use super::CtTarget;
use super::budget::of_budget;
use super::ct_model::{CtModel, SEEN, picture};
use super::measured::Measured;
use super::settings::Setup;
use crate::targets::Budget;
use crate::targets::point::{Frame, Point, Trained};
use reynolds_train::config::Assignment;
use reynolds_train::task::Metrics;

/// PSNR of the synthetic LI.
pub(super) const LI: f64 = 35.0;

/// The quick budget of a target with these settings.
pub(super) fn settings(target: &CtTarget, given: &[(&str, &str)]) -> Table {
    let mut settings = of_budget(Budget::Quick, target.of);
    for (key, value) in given {
        Assignment::new(key, value).apply(&mut settings).unwrap();
    }
    settings
}

/// The same in its types.
pub(super) fn setup(target: &CtTarget, given: &[(&str, &str)]) -> Setup {
    target.setup(&settings(target, given)).unwrap()
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
    Trained { metrics, arrays: arrays.map(|(name, values)| (name.to_string(), values)).into() }
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

/// Every model that a target asks for, and what is said to have come of it.
pub(super) fn models(
    target: &CtTarget,
    setup: &Setup,
    result: impl Fn(&CtModel) -> Trained,
    measured: impl Fn(&Measured) -> Option<Trained>,
) -> Frame {
    let mut models = Frame::default();
    for model in target.trained(setup).unwrap() {
        let trained = result(&model);
        models.insert(&model, trained);
    }
    for model in target.measured(setup) {
        if let Some(trained) = measured(&model) {
            models.insert(&model as &dyn Point, trained);
        }
    }
    models
}
