//! The target as a whole.

use super::synthetic::{diverged, models, run, settings, with};
use super::*;
use crate::smoke::SmokeExperiment;
use crate::smoke::columns::Column;
use crate::smoke::data::Kind;
use crate::smoke::networks::Architecture::{Rgroup, Rsteer};
use crate::targets::engine::{Outcome, Place, Request, reproduce};
use crate::targets::findings::Reproduction;
use reynolds_torch::tch::Device;
use reynolds_train::config::{self, Assignment, Selection};
use reynolds_train::experiment::Experiment;
use reynolds_train::interrupt::Interrupt;
use reynolds_train::progress::Silent;

#[test]
fn the_first_phase_sweeps_with_one_seed_and_the_second_trains_what_was_selected() {
    let settings = settings("translation,rotation", "all", 3);
    // Translation: 5 columns of 3 seeds and a sweep of 3; rotation: 7 and two sweeps.
    assert_eq!(sooner(&settings).len(), 5 * 3 + 3 + 7 * 3 + 2 * 3);
    let all = models(&settings, |model| run(0.7, model.run.penalty.lambda_perp));
    let ids: Vec<String> = later(&settings, &all).iter().map(Point::id).collect();
    let names = ["translation-rgroup", "rotation-rgroup", "rotation-rsteer"];
    let expected = names.iter().flat_map(|name| [1, 2].map(|seed| format!("{name}-reg-p0.000001-seed{seed}")));
    assert_eq!(ids, expected.collect::<Vec<_>>());
    let mut distinct: Vec<String> = all.iter().map(|entry| entry.id.clone()).collect();
    distinct.dedup();
    assert_eq!(distinct.len(), sooner(&settings).len() + 6);
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
    assert!(findings.checks.iter().all(|check| check.held), "{:?}", findings.checks);
    assert_eq!(findings.more["cells"].as_array().unwrap().len(), 3);
    assert_eq!(findings.more["curves"].as_object().unwrap().len(), all.len());
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

fn finished(request: &Request) -> Reproduction {
    let session = Session { device: Device::Cpu, interrupt: Interrupt::new(), observer: &mut Silent };
    match reproduce(&TableSmoke, request, session).unwrap() {
        Outcome::Finished(reproduction) => *reproduction,
        Outcome::Interrupted { .. } => panic!("nobody interrupts a test"),
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
    let assignments = given.map(|(key, value)| Assignment::new(key, value)).to_vec();
    let place = Place::Under(root.path().join("runs"));
    let request = Request { budget: Budget::Quick, assignments, place, workers: 1 };
    let first = finished(&request);
    assert!(first.speed.starts_with("4 models"), "{}", first.speed);
    let files = ["table.csv", "validation_curves.csv", "errors_by_step.csv", "report.html", "results.json"];
    let figures = ["rollout-rotation", "error-by-step", "lambda-sweep", "validation"];
    for file in files.map(String::from).into_iter().chain(figures.map(|name| format!("figures/{name}.svg"))) {
        assert!(first.folder.join(&file).is_file(), "{file}");
    }
    let text = first.to_string();
    // One window has no spread over simulations, so that nothing can be said to be trained.
    assert!(text.contains("not trained") && text.contains("hidden.rotation.rgroup = 2"), "{text}");
    let again = finished(&Request { place: Place::Resume(first.folder.clone()), assignments: Vec::new(), ..request });
    assert_eq!(again.speed, "all 4 models were trained before");
    assert_eq!(again.findings.csv, first.findings.csv);
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
        let assignments = given.iter().map(|(key, value)| Assignment::new(key, value)).collect();
        let place = Place::Under(root.path().into());
        let request = Request { budget: Budget::Quick, assignments, place, workers: 1 };
        let session = Session { device: Device::Cpu, interrupt: Interrupt::new(), observer: &mut Silent };
        let message = reproduce(&TableSmoke, &request, session).unwrap_err().to_string();
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

/// Whether all that `theirs` has is the same in `ours`.
fn agree(path: &str, ours: &Value, theirs: &Value) {
    match theirs {
        Value::Object(theirs) => {
            theirs.iter().for_each(|(key, value)| agree(&format!("{path}.{key}"), &ours[key], value))
        }
        theirs => assert_eq!(ours, theirs, "{path}"),
    }
}

/// `results/smoke`: made before RPP had an α of its own.
#[test]
fn points_are_those_that_the_committed_results_were_made_of() {
    let results = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../results/smoke");
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
        let text = std::fs::read_to_string(results.join(kind).join("results.json")).unwrap();
        let theirs: Value = serde_json::from_str(&text).unwrap();
        let assignments: Vec<Assignment> =
            given.iter().chain(&[("kinds", kind)]).map(|(key, value)| Assignment::new(key, value)).collect();
        let settings = config::load(&TableSettings::of_budget(budget), None, &assignments).unwrap();
        let own = serde_json::to_value(&settings).unwrap();
        for key in ["alpha", "banks", "batch", "columns", "hidden", "learning_rate", "lambda_perp", "seeds", "width"] {
            assert_eq!(own[key], theirs["settings"][key], "{key}");
        }
        let validation = |id: &str| {
            let models = theirs["models"].as_array().unwrap();
            let metrics = &models.iter().find(|model| model["id"] == id).unwrap()["metrics"];
            run(0.7, metrics["validation/rmse"].as_f64().unwrap())
        };
        let ours = models(&settings, |point| validation(&point.id()));
        assert_eq!(ours.len(), theirs["models"].as_array().unwrap().len());
        for (entry, theirs) in ours.iter().zip(theirs["models"].as_array().unwrap()) {
            assert_eq!(entry.id, theirs["id"].as_str().unwrap());
            agree(&entry.id, &entry.settings, &theirs["config"]);
        }
    }
}

/// Of the same network a run tests the last weights, the table the best.
#[test]
fn the_published_runs_of_configs_are_points_of_the_full_table() {
    let configs = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../configs");
    for (kind, column) in [
        (Kind::Translation, Column::of(Rgroup, false)),
        (Kind::Rotation, Column::of(Rsteer, false)),
        (Kind::Scaling, Column::of(Rsteer, false)),
    ] {
        let file = configs.join(format!("smoke-{kind}.toml"));
        let mut run = config::load(&SmokeExperiment.defaults(), Some(&file), &[]).unwrap();
        run.train.weights = Selection::Best;
        assert_eq!(run, TableSettings::of_budget(Budget::Full).point(kind, column, 0.0, 0).run, "{kind}");
    }
}
