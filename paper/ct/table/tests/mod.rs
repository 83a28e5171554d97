//! The targets as a whole; synthetic results of models and measurements.

mod claims;
mod findings;
mod settings;

use std::collections::BTreeSet;
use std::path::Path;

use super::cells::cells;
use super::row::Row;
use super::run::{CtRun, SEEN, picture};
use super::settings::TargetSettings;
use super::{CtTarget, FIGURE, NORMS, TABLE};
use crate::targets::engine::{OutputFolder, Request};
use crate::targets::point::{Frame, Point, Trained};
use crate::targets::synthetic::{agrees_with_committed, finished, given, reproduced, request, trained};
use crate::targets::{Budget, Target};

/// PSNR of the synthetic LI.
const LI: f64 = 35.0;

/// "key=value key=value".
fn pairs(text: &str) -> Vec<(&str, &str)> {
    text.split_whitespace().map(|pair| pair.split_once('=').unwrap()).collect()
}

/// The quick budget of a target with these settings.
fn settings(target: &CtTarget, assignments: &str) -> TargetSettings {
    given(target.settings(Budget::Quick), &pairs(assignments))
}

fn table(assignments: &str) -> TargetSettings {
    settings(&TABLE, assignments)
}

/// The result of a run with this PSNR; the projected weights lose 10 dB. SSIM follows PSNR, distances follow the defect.
fn run(psnr: f64, defect: f64) -> Trained {
    let of = |prefix: &'static str, psnr: f64| {
        [
            ("psnr", psnr),
            ("ssim", psnr / 45.0),
            ("psnr_se", 0.25),
            ("input/psnr", 30.0),
            ("interpolated/psnr", LI),
            ("input/ssim", 0.8),
            ("interpolated/ssim", 0.9),
            ("gain/psnr", psnr - LI),
            ("gain/psnr_se", 0.1),
            ("equivariance_error", defect),
            ("weights/distance", 10.0 * defect),
            ("weights/relative_distance", defect),
        ]
        .map(|(name, value)| (format!("{prefix}test/{name}"), value))
    };
    let parameters = ("parameters".to_string(), 4_300_175.0);
    let run = trained(of("", psnr).into_iter().chain(of("projected/", psnr - 10.0)).chain([parameters]));
    let curve = [30.0, psnr as f32];
    let curves = [("epoch", [1.0, 2.0]), ("train/loss", [9.0, 3.0]), ("validation/psnr", curve)];
    let arrays = curves.map(|(name, values)| (format!("curve/{name}"), values.to_vec()));
    Trained { arrays: arrays.into(), ..run }
}

/// Pictures of 16² in shades of grey, with metal in two places.
fn with_pictures(mut run: Trained) -> Trained {
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

/// A cost with `speed` training images a second at batch 4, a tenth more at 12, and twice as many in inference.
fn cost(speed: f64, parameters: f64) -> Trained {
    let of = |(batch, factor): (u8, f64)| {
        [
            ("train_ms", 1e3 * f64::from(batch) / (factor * speed)),
            ("train_images_per_s", factor * speed),
            ("inference_ms", 1.0),
            ("inference_images_per_s", 2.0 * speed),
            ("peak_memory_mib", 1024.0 * f64::from(batch)),
        ]
        .map(|(name, value)| (format!("batch{batch}/{name}"), value))
    };
    trained([(4, 1.0), (12, 1.1)].into_iter().flat_map(of).chain([("parameters".to_string(), parameters)]))
}

/// Every point that a target needs, with these results.
fn frame(
    settings: &TargetSettings,
    result: impl Fn(&CtRun) -> Trained,
    measured: impl Fn(Row) -> Option<Trained>,
) -> Frame {
    let mut frame = Frame::new(settings.runs().into_iter().map(|run| (run.clone(), result(&run))));
    for (row, cost) in settings.trained().into_iter().zip(settings.measurements()) {
        if let Some(trained) = measured(row) {
            frame.insert(&cost, trained);
        }
    }
    frame
}

#[test]
fn the_committed_numbers_give_the_committed_tables() {
    let of_run = "data.source=slices data.folder=ct-pairs data.slices=carry/ct data.train=320 data.validation=16 data.test=48 \
                  train.precision=bf16 train.learning_rate=5e-4 train.epochs=1 decay_at=[0.4,0.6,0.75,0.85,0.93] measured_batches=[4]";
    // What a measurement was written as before it was that of a run.
    let old = ["whole", "blocks", "mode", "network", "norm", "precision", "side", "stages", "steps"];
    let modes = format!("{of_run} epochs.dicdnet=7 efficiency=false");
    agrees_with_committed(&TABLE, Budget::Standard, &pairs(&modes), "ct/table-ct", &old[..1], &[]);
    let trained = "norms=spectral,frobenius,max,(1,1),(2,2),(3,3)";
    let norms = format!("{of_run} {trained} epochs.dicdnet=0 data.steps=60 measured_steps=6");
    agrees_with_committed(&NORMS, Budget::Standard, &pairs(&norms), "ct/table-norms", &old, &[]);
    let phantoms = format!(
        "{trained} model.stages=3 model.blocks=1 penalty.form=squared train.learning_rate=1e-3 train.epochs=6 \
         decay_at=[0.5,0.7,0.85] efficiency=false"
    );
    agrees_with_committed(&NORMS, Budget::Quick, &pairs(&phantoms), "ct/table-norms-phantoms", &old[..1], &[]);
}

fn ids(points: &[Box<dyn Point>]) -> BTreeSet<String> {
    points.iter().map(|point| point.id()).collect()
}

#[test]
fn fifteen_rows_are_twelve_runs_and_twelve_measurements_that_come_alone_and_ids_are_their_own() {
    let points = |target: &CtTarget, given| target.points(&settings(target, given)).unwrap();
    let wanted = points(&TABLE, "seeds=2");
    let alone = wanted.iter().filter(|point| point.alone()).count();
    assert_eq!((wanted.len(), alone), (12 * 2 + 12, 12));
    assert_eq!(ids(&wanted).len(), wanted.len());
    assert_eq!(table("").rows().len(), 15);
    assert_eq!(ids(&points(&NORMS, "")).len(), 13 + 13);
    let figure = points(&FIGURE, "seeds=3 modes=penalty");
    assert_eq!(figure.len(), 3 * 2, "the plain models keep what every network sees");
    assert_eq!(points(&FIGURE, "seed=7 networks=oscnet modes=plain")[0].id(), "oscnet-plain-seed7");
}

#[test]
fn every_network_of_every_budget_can_be_built_and_the_figure_has_models_of_the_table() {
    for budget in [Budget::Quick, Budget::Standard, Budget::Full] {
        let [figure, table, norms] = [&FIGURE, &TABLE, &NORMS].map(|target| -> BTreeSet<(String, String)> {
            let points = target.points(&target.settings(budget)).unwrap();
            points.iter().map(|point| (point.id(), point.settings().to_string())).collect()
        });
        assert!(!figure.is_empty() && figure.is_subset(&table) && !norms.is_empty(), "{budget:?}");
    }
}

#[test]
fn a_tiny_table_is_simulated_trained_and_written() {
    let root = tempfile::tempdir().unwrap();
    let folder = root.path().join("pairs").display().to_string();
    let tiny = "networks=dicdnet seeds=1 sample_batch=2 train.epochs=1 model.stages=2 model.blocks=1 data.steps=1 data.batch=2 \
                data.patch=16 data.side=32 data.train=2 data.validation=1 data.test=2 efficiency=false";
    let tiny = [pairs(tiny), vec![("data.folder", &folder)]].concat();
    let request = request(OutputFolder::Under(root.path().join("runs")), &tiny);
    let first = finished("table-ct", &request);
    assert!(first.speed.starts_with("4 models"), "{}", first.speed);
    let files = ["table.csv", "validation_curves.csv", "report.html", "results.json", "figures/convergence.svg"];
    for file in files.into_iter().chain(["figures/fig-ct.svg", "figures/fig-ct-test.svg"]) {
        assert!(first.folder.join(file).is_file(), "{file}");
    }
    let text = first.to_string();
    // One step teaches nothing.
    assert!(text.contains("not trained") && text.contains("test-time projection"), "{text}");
    let folder = OutputFolder::Resume(first.folder.clone());
    let again = finished("table-ct", &Request { folder, assignments: Vec::new(), ..request });
    assert_eq!(again.speed, "all 4 models were trained before");
    assert_eq!((again.findings.csv, again.findings.checks), (first.findings.csv, first.findings.checks));
}

/// The message with which a target refuses a setting.
fn refused(root: &Path, target: &str, key: &str, value: &str) -> String {
    reproduced(target, &request(OutputFolder::Under(root.into()), &[(key, value)])).unwrap_err().to_string()
}
