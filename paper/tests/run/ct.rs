//! Tiny runs of the experiment "ct" on phantoms, from pairs to figures, in all five modes.

use std::path::Path;

use super::support::{assert_resumes, finished, weights};
use reynolds_paper::ct::{CtExperiment, CtSettings};
use reynolds_torch::parametrisation::Parametrisation;
use reynolds_train::config::RunConfig;
use reynolds_train::experiment::Experiment;

/// Pairs of 32² in `folder`, of which patches of 24² are seen; two stages of one block; two epochs of two minibatches.
fn config(folder: &Path) -> RunConfig<CtSettings> {
    let mut config = CtExperiment.defaults();
    let CtSettings { data, model, .. } = &mut config.settings;
    data.folder = folder.join("pairs").display().to_string();
    (data.side, data.patch, data.batch, data.steps) = (32, 24, 2, 2);
    (data.train, data.validation, data.test) = (3, 1, 2);
    (model.stages, model.blocks) = (2, 1);
    (config.train.epochs, config.train.threads, config.train.checkpoint_every) = (2, 1, 1);
    config
}

#[test]
fn each_of_the_five_modes_trains_and_leaves_figures() {
    let root = tempfile::tempdir().unwrap();
    let mode = |name: &str, change: fn(&mut RunConfig<CtSettings>)| {
        let mut config = config(root.path());
        change(&mut config);
        let folder = root.path().join(name);
        let summary = finished(&CtExperiment, &config, &folder);
        (summary, weights(&folder), folder)
    };
    let (plain, plain_weights, folder) = mode("plain", |_| {});
    let metrics = &plain.last_metrics;
    let validation = "validation/psnr validation/ssim validation/loss validation/weights/distance";
    let test = "test/psnr test/ssim test/psnr_se test/input/psnr test/input/ssim test/interpolated/psnr test/interpolated/ssim \
                test/gain/psnr test/gain/psnr_se test/equivariance_error test/weights/distance test/weights/relative_distance";
    for name in validation.split(' ').chain(test.split(' ')) {
        assert!(metrics.get(name).is_some_and(|value| value.is_finite()), "{name}: {metrics:?}");
    }
    let gain = metrics["test/psnr"] - metrics["test/interpolated/psnr"];
    assert!((metrics["test/gain/psnr"] - gain).abs() < 1e-9, "{metrics:?}");
    assert!(
        metrics["test/equivariance_error"] > 1e-3 && metrics["test/weights/relative_distance"] > 0.5,
        "{metrics:?}"
    );
    for figure in ["test", "pelvis"] {
        let svg = std::fs::read_to_string(folder.join(format!("figures/{figure}.svg"))).unwrap();
        assert!(svg.starts_with("<svg") && svg.matches("<image ").count() == 7);
    }
    let records = std::fs::read_to_string(folder.join("metrics.jsonl")).unwrap();
    assert_eq!(records.matches("validation/psnr").count(), 2, "{records}");

    // Trained as the plain one, tested with P(W): the validation and what is saved know nothing of it.
    let (projected, weights, _) = mode("projected", |config| config.settings.projected = true);
    assert!(weights == plain_weights);
    let tested = &projected.last_metrics;
    assert!(
        tested["test/weights/relative_distance"] < 1e-5 && tested["test/psnr"] != metrics["test/psnr"],
        "{tested:?}"
    );
    for name in ["validation/psnr", "validation/weights/relative_distance", "test/interpolated/psnr"] {
        assert_eq!(tested[name], metrics[name], "{name}");
    }

    let (_, sample, _) = mode("sample", |config| config.settings.sample.weight = 1e-6);
    let (_, residual, _) = mode("rpp", |config| {
        config.train.parametrisation.kind = Parametrisation::Residual;
        config.train.parametrisation.lambda_residual = 1e-3;
    });
    let (penalty, penalised, folder) = mode("penalty", |config| config.penalty.lambda_perp = 1e6);
    assert!([&sample, &residual, &penalised].iter().all(|weights| **weights != plain_weights));
    assert!(penalty.last_metrics["test/weights/distance"] < metrics["test/weights/distance"]);
    assert!(std::fs::read_to_string(folder.join("metrics.jsonl")).unwrap().contains("\"penalty\""));
}

#[test]
fn a_run_that_was_stopped_at_any_step_goes_on_to_the_same_weights() {
    let root = tempfile::tempdir().unwrap();
    let mut config = config(root.path());
    config.settings.sample.weight = 1e-6;
    config.penalty.lambda_perp = 0.01;
    let whole = root.path().join("whole");
    finished(&CtExperiment, &config, &whole);
    for stop in 1..4 {
        assert_resumes(&CtExperiment, &config, &whole, &root.path().join(format!("stopped-{stop}")), stop);
    }
}
