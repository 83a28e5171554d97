//! Tiny runs of the experiment "medmnist" on generated shapes, from volumes to figures.

use super::support::{assert_resumes, finished, session};
use reynolds_paper::medmnist::networks::Architecture;
use reynolds_paper::medmnist::{MedExperiment, MedSettings, beats_majority};
use reynolds_train::config::{RunConfig, Selection};
use reynolds_train::experiment::Experiment;
use reynolds_train::interrupt::Interrupt;
use reynolds_train::progress::Silent;
use reynolds_train::run::{OutputFolder, run};

/// Five training volumes in minibatches of two and three; ours at its narrowest.
fn config() -> RunConfig<MedSettings> {
    let mut config = MedExperiment.defaults();
    let MedSettings { data, model } = &mut config.settings;
    (data.shapes.train, data.shapes.validation, data.shapes.test) = (5, 3, 6);
    (data.batch, data.turned, model.width) = (2, 0, 1);
    (config.train.epochs, config.train.threads, config.train.checkpoint_every) = (2, 1, 1);
    config.train.learning_rate = 1e-3;
    config
}

#[test]
fn a_run_leaves_metrics_a_figure_and_facts_and_resumes_to_the_same_bits() {
    let root = tempfile::tempdir().unwrap();
    let mut config = config();
    config.settings.data.turned = 1;
    (config.penalty.lambda_g, config.penalty.lambda_perp) = (1e-3, 0.1);
    let whole = root.path().join("whole");
    let summary = finished(&MedExperiment, &config, &whole);
    assert_eq!((summary.steps, summary.weights), (4, Selection::Best));
    let best = summary.best.unwrap();
    assert_eq!(best.tie, summary.best_metrics.get("validation/loss").copied());
    let metrics = &summary.last_metrics;
    let names = "validation/accuracy validation/loss validation/weights/distance test/accuracy test/accuracy_se test/loss test/majority \
                 test/gain/accuracy test/gain/accuracy_se test/weights/relative_distance test/pairs/rotation test/pairs/reflection \
                 test/pairs/rotation_count";
    for name in names.split(' ') {
        assert!(metrics.get(name).is_some_and(|value| value.is_finite()), "{name}: {metrics:?}");
    }
    let confusion: f64 =
        metrics.iter().filter(|(name, _)| name.starts_with("test/confusion/")).map(|(_, count)| count).sum();
    assert_eq!(confusion, 6.0);
    // Random weights are far from equivariant, and so are their logits of turned volumes.
    assert!(metrics["test/weights/relative_distance"] > 0.5 && metrics["test/invariance_error"] > 1e-6, "{metrics:?}");
    assert!(metrics["test/invariance_error/reflection"] > 1e-6, "{metrics:?}");
    let svg = std::fs::read_to_string(whole.join("figures/confusion.svg")).unwrap();
    assert!(svg.contains("generated shapes, 6 test volumes") && svg.contains(">helix left</text>"), "{svg}");
    let facts: serde_json::Value = serde_json::from_slice(&std::fs::read(whole.join("facts.json")).unwrap()).unwrap();
    let handed = summary.metrics();
    let learned = beats_majority(handed["test/gain/accuracy"], handed["test/gain/accuracy_se"]);
    assert!(facts["trained"].as_str().unwrap().starts_with(if learned { "yes" } else { "not trained" }), "{facts}");
    let page = std::fs::read_to_string(whole.join("report.html")).unwrap();
    assert!(page.contains("<dt>data set</dt><dd>generated shapes</dd>") && !page.contains("test/confusion/"));

    assert_resumes(&MedExperiment, &config, &whole, &root.path().join("stopped"), 3);
}

#[test]
fn refused_settings_leave_no_folder() {
    let root = tempfile::tempdir().unwrap();
    let refused = |change: fn(&mut RunConfig<MedSettings>)| {
        let mut config = config();
        change(&mut config);
        let folder = OutputFolder::Exactly(root.path().join("run"));
        run(&MedExperiment, &config, &folder, session(&mut Silent, &Interrupt::new())).unwrap_err().to_string()
    };
    let message = refused(|config| {
        config.settings.model.architecture = Architecture::Cnn;
        config.penalty.lambda_perp = 1.0;
    });
    let expected = "config: penalty.lambda_perp: expected 0: this model has no regularised parameters, found 1";
    assert_eq!(message, expected);
    let message = refused(|config| config.settings.model.width = 1000);
    assert!(message.starts_with("config: model.width: expected from 1 to 64, found 1000"), "{message}");
    assert_eq!(std::fs::read_dir(root.path()).unwrap().count(), 0);
}

#[test]
fn every_other_network_can_be_run() {
    for architecture in [Architecture::Scnn, Architecture::Rpp, Architecture::Pscnn] {
        let root = tempfile::tempdir().unwrap();
        let mut config = config();
        config.settings.model.architecture = architecture;
        let data = &mut config.settings.data;
        (data.shapes.train, data.shapes.validation, data.shapes.test) = (2, 2, 2);
        config.train.epochs = 1;
        let summary = finished(&MedExperiment, &config, &root.path().join("run"));
        assert_eq!(summary.steps, 1, "{architecture:?}");
        let metrics = &summary.last_metrics;
        assert!(metrics["test/loss"].is_finite() && !metrics.contains_key("test/weights/distance"), "{metrics:?}");
    }
}
