//! The target as a whole.

use super::*;
use crate::smoke::SmokeExperiment;
use crate::smoke::networks::Architecture::{Conv, Rgroup, Rsteer};
use crate::targets::synthetic::{self, agrees_with_committed, diverged, finished, loaded, reproduced};
use crate::targets::synthetic::{request, trained, with_arrays};
use crate::targets::{OutputFolder, Request};
use columns::Column;
use reynolds_train::config;

/// The quick budget with these settings.
pub(super) fn with(given: &[(&str, &str)]) -> Result<TableSettings> {
    loaded(TableSettings::of_budget(Budget::Quick), given)
}

/// The quick budget with these rows, columns and seeds.
pub(super) fn settings(kinds: &str, columns: &str, seeds: u64) -> TableSettings {
    with(&[("kinds", kinds), ("columns", columns), ("seeds", &seeds.to_string())]).unwrap()
}

/// A run with these errors on both tests and on the validation part; persistence has 1.
pub(super) fn run(rmse: f64, validation: f64) -> Trained {
    let mut metrics: Vec<(String, f64)> =
        [("validation/rmse", validation), ("parameters", 1234.0), ("epochs", 6.0), ("best/epoch", 5.0)]
            .map(|(name, value)| (name.into(), value))
            .to_vec();
    for test in ["future", "domain"] {
        for (name, value) in
            [("rmse", rmse), ("mse", rmse * rmse), ("persistence_rmse", 1.0), ("gain", 1.0 - rmse), ("gain_se", 0.01)]
        {
            metrics.push((format!("test/{test}/{name}"), value));
            metrics.push((format!("last/test/{test}/{name}"), value));
        }
    }
    let arrays = [
        ("curve/epoch", vec![1.0, 2.0]),
        ("curve/validation/rmse", vec![1.0, validation as f32]),
        ("by_step/future/rmse", vec![rmse as f32; 20]),
        ("by_step/domain/rmse", vec![rmse as f32; 20]),
        ("by_step/future/persistence", vec![1.0; 20]),
        ("by_step/domain/persistence", vec![1.0; 20]),
    ];
    with_arrays(trained(metrics), arrays)
}

/// Every point that the settings ask for, with these results.
pub(super) fn models(settings: &TableSettings, result: impl Fn(&SmokePoint) -> Trained) -> Frame {
    synthetic::models(|frame| wanted(settings, frame), result)
}

#[test]
fn the_first_phase_sweeps_with_one_seed_and_the_second_trains_what_was_selected() {
    let settings = settings("translation,rotation", "all", 3);
    // Translation: 5 columns of 3 seeds and a sweep of 3; rotation: 7 and two sweeps.
    let first = wanted(&settings, &Frame::default()).len();
    assert_eq!(first, 5 * 3 + 3 + 7 * 3 + 2 * 3);
    let all = models(&settings, |model| run(0.7, model.run.penalty.lambda_perp));
    assert_eq!(all.len(), first + 6);
    let later = |id: &&str| id.contains("-reg-") && !id.ends_with("seed0");
    let names = ["rotation-rgroup", "rotation-rsteer", "translation-rgroup"];
    let expected = names.iter().flat_map(|name| [1, 2].map(|seed| format!("{name}-reg-p0.000001-seed{seed}")));
    assert_eq!(
        all.iter().map(|entry| entry.id.as_str()).filter(later).collect::<Vec<_>>(),
        expected.collect::<Vec<_>>()
    );
}

#[test]
fn every_network_of_every_budget_can_be_built() {
    for budget in [Budget::Quick, Budget::Standard, Budget::Full] {
        let mut settings = TableSettings::of_budget(budget);
        settings.seeds = 1;
        assert_eq!(TableSmoke.points(&settings).unwrap().len(), 5 + 3 + 2 * (7 + 2 * 3));
    }
}

#[test]
fn findings_are_made_of_whatever_was_run() {
    let settings = settings("rotation", "conv,rsteer,rsteer+reg", 2);
    let all = models(&settings, |model| run(if model.run.penalty.lambda_perp > 0.0 { 0.6 } else { 0.7 }, 0.5));
    let findings = TableSmoke.findings(&settings, &all).unwrap();
    assert_eq!(findings.tables.len(), 3);
    assert!(findings.notes[0].contains("tested on rollouts of 20."), "{}", findings.notes[0]);
    assert_eq!(findings.checks.len(), 4);
    assert!(findings.checks.iter().all(|check| check.is_held()), "{:?}", findings.checks);
    assert_eq!(findings.more["cells"].as_array().unwrap().len(), 3);
    assert_eq!(findings.more["curves"].as_object().unwrap().len(), all.len());
    let (kinds, all) = (with(&[("kinds", "translation,rotation")]).unwrap(), Frame::default());
    assert!(cells(&kinds, &all).is_empty());
    let nothing = TableSmoke.findings(&settings, &Frame::default()).unwrap();
    assert!(nothing.checks.is_empty() && nothing.csv.lines().count() == 1);
}

#[test]
fn a_column_that_diverged_stands_beside_one_that_did_not() {
    let settings = settings("rotation", "rsteer,rsteer+reg", 2);
    for divergent in [Column::of(Rsteer, false), Column::of(Rsteer, true)] {
        let all = models(&settings, |model| if model.column == divergent { diverged() } else { run(0.7, 0.5) });
        let findings = TableSmoke.findings(&settings, &all).unwrap();
        let text = findings.tables[0].to_string();
        assert!(text.contains("diverged, not trained") && text.contains("0.700 ± 0.000"), "{text}");
        let names: Vec<&str> = findings.figures.iter().map(|figure| figure.name).collect();
        assert_eq!(names, ["error-by-step", "lambda-sweep", "validation"]);
        assert!(findings.figures.iter().all(|figure| !figure.svg.contains("NaN")));
    }
}

#[test]
fn a_tiny_table_is_simulated_trained_and_written() {
    let root = tempfile::tempdir().unwrap();
    let data = root.path().join("data").display().to_string();
    let given = [
        ("kinds", "rotation"),
        ("columns", "rgroup,rgroup+reg"),
        ("seeds", "2"),
        ("train.epochs", "1"),
        ("data.train_windows", "1"),
        ("data.evaluation_windows", "1"),
        ("data.out_length", "1"),
        ("data.rollout", "5"),
        ("lambda_perp", "1e-2"),
        ("hidden.rotation.rgroup", "2"),
        ("width", "1"),
        ("data.folder", &data),
    ];
    let request = request(OutputFolder::Under(root.path().join("runs")), &given);
    let first = finished("table-smoke", &request);
    assert!(first.speed.starts_with("4 models"), "{}", first.speed);
    let files = ["table.csv", "validation_curves.csv", "errors_by_step.csv", "report.html", "results.json"];
    let figures = ["rollout-rotation", "error-by-step", "lambda-sweep", "validation"];
    for file in files.map(String::from).into_iter().chain(figures.map(|name| format!("figures/{name}.svg"))) {
        assert!(first.folder.join(&file).is_file(), "{file}");
    }
    let text = first.to_string();
    // One window has no spread over simulations, so that nothing can be said to be trained.
    assert!(text.contains("not trained") && text.contains("hidden.rotation.rgroup = 2"), "{text}");
    std::fs::remove_dir_all(&data).unwrap();
    let folder = OutputFolder::Resume(first.folder.clone());
    let again = finished("table-smoke", &Request { folder, assignments: Vec::new(), ..request });
    assert_eq!(again.speed, "all 4 models were trained before");
    assert_eq!(again.findings.csv, first.findings.csv);
    assert!(!std::path::Path::new(&data).exists(), "finished models need no data");
}

#[test]
fn what_cannot_be_run_is_refused_by_its_own_key_and_leaves_nothing() {
    let root = tempfile::tempdir().unwrap();
    for (given, expected) in [
        (&[("data.evaluation_windows", "99999")][..], "config: data.evaluation_windows: expected at most"),
        (&[("data.train_windows", "99999")], "config: data.train_windows: expected at most"),
        (&[("penalty.form", "plain")], "config: penalty.form: expected \"squared\""),
        (&[("epochs", "1")], "--set: unknown key \"epochs\": now called \"train.epochs\""),
        (
            &[("kinds", "translation"), ("columns", "rsteer,conv")],
            "--set: columns: expected a column that translation has, found conv, rsteer",
        ),
    ] {
        let request = request(OutputFolder::Under(root.path().into()), given);
        let message = reproduced("table-smoke", &request).unwrap_err().to_string();
        assert!(message.starts_with(expected), "{message}");
    }
    assert_eq!(std::fs::read_dir(root.path()).unwrap().count(), 0);
}

#[test]
fn a_network_beyond_the_cap_is_refused_by_the_keys_of_the_table() {
    let settings = with(&[("kinds", "rotation"), ("columns", "rsteer"), ("width", "3")]).unwrap();
    let message = TableSmoke.points(&settings).err().unwrap().to_string();
    assert!(
        message.contains("hidden.rotation.rsteer times width: expected a network of at most 10000000"),
        "{message}"
    );
}

#[test]
fn the_committed_results_give_their_tables_byte_for_byte() {
    // Made before RPP had an α of its own.
    for (kind, budget, given) in [
        ("rotation", Budget::Standard, &[("train.epochs", "12"), ("alpha_rpp.rotation", "1e-5")][..]),
        (
            "scaling",
            Budget::Standard,
            &[
                ("train.epochs", "4"),
                ("data.evaluation_windows", "150"),
                ("lambda_perp", "1e-2,1e-4"),
                ("alpha_rpp.scaling", "1e-6"),
            ],
        ),
        ("translation", Budget::Quick, &[("seeds", "3")]),
    ] {
        let given = [given, &[("kinds", kind)]].concat();
        agrees_with_committed(&TableSmoke, budget, &given, &format!("smoke/{kind}"), &[], &[]);
    }
}

/// Of the same network a run tests the last weights, the table the best.
#[test]
fn the_published_runs_of_configs_are_points_of_the_full_table() {
    let configs = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../configs");
    for (kind, column) in [
        (Symmetry::Translation, Column::of(Rgroup, false)),
        (Symmetry::Rotation, Column::of(Rsteer, false)),
        (Symmetry::Scaling, Column::of(Rsteer, false)),
    ] {
        let file = configs.join(format!("smoke-{kind}.toml"));
        let mut run = config::load(&SmokeExperiment.defaults(), Some(&file), &[]).unwrap();
        run.train.weights = Selection::Best;
        assert_eq!(run, TableSettings::of_budget(Budget::Full).point(kind, column, 0.0, 0).run, "{kind}");
    }
}

#[test]
fn ours_stands_above_the_papers_and_what_was_not_run_nowhere() {
    let settings = settings("translation,rotation", "equiv,rsteer", 2);
    let models = models(&settings, |model| match model.column.network {
        Rsteer => run(0.75, 0.5),
        _ => run(0.99, 0.5),
    });
    let cells = cells(&settings, &models);
    let text = tables::errors(&settings, &cells).to_string();
    let head: Vec<&str> = text.lines().nth(1).unwrap().split_whitespace().collect();
    assert_eq!(head, ["data", "test", "Equiv", "RSteer", "persistence"]);
    let line = |number: usize| text.lines().nth(number).unwrap().split_whitespace().collect::<Vec<_>>().join(" ");
    assert_eq!(line(2), "translation Future ours 0.990 ± 0.000 not trained – 1.00");
    assert_eq!(line(3), "paper 0.94 ± 0.02 – –");
    assert_eq!(line(6), "rotation Future ours 0.990 ± 0.000 not trained 0.750 ± 0.000 1.00");
    assert_eq!(line(7), "paper 1.05 ± 0.06 0.80 ± 0.00 –");
    assert!(!text.contains("Conv") && !text.contains("scaling"));
    assert!(tables::mean_squares(&settings, &cells).to_string().contains("0.562 ± 0.000"));
    assert!(tables::networks(&cells).to_string().contains("1234"));
    let csv = tables::csv(&cells);
    let fields = |line: &str| line.split(',').count();
    assert_eq!(csv.lines().count(), 4);
    assert!(csv.lines().all(|line| fields(line) == fields(csv.lines().next().unwrap())), "{csv}");
}

#[test]
fn what_diverged_has_no_deviation_and_persistence_is_known_from_the_others() {
    let settings = settings("rotation", "conv,rsteer", 2);
    let models =
        models(&settings, |model| if model.column == Column::of(Conv, false) { diverged() } else { run(0.75, 0.5) });
    let cells = cells(&settings, &models);
    let csv = tables::csv(&cells);
    let mut lines = csv.lines().map(|line| line.split(',').collect::<Vec<_>>());
    let (head, lost) = (lines.next().unwrap(), lines.next().unwrap());
    let of = |name: &str| lost[head.iter().position(|other| *other == name).unwrap()];
    assert_eq!(["future_rmse_mean", "future_rmse_sd", "validation_rmse_sd"].map(of), ["", "", ""]);
    assert_eq!((of("diverged"), of("domain_persistence_rmse")), ("2", "1"));
}

#[test]
fn curves_have_a_line_for_each_model_and_place() {
    let settings = settings("rotation", "rsteer+reg", 2);
    let findings = TableSmoke.findings(&settings, &models(&settings, |_| run(0.75, 0.5))).unwrap();
    // Three strengths at the first seed, the selected one at the second; two epochs and 20 steps each.
    let lines: Vec<usize> = findings.files.iter().map(|(_, text)| text.lines().count()).collect();
    assert_eq!(lines, [1 + 4 * 2, 1 + 4 * 20]);
}
