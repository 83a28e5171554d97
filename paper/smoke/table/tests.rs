//! The target as a whole.

use super::column::Column;
use super::synthetic::{diverged, models, run, settings, setup};
use super::*;
use crate::targets::engine::{Outcome, Place, Request, reproduce};
use crate::targets::findings::Reproduction;
use reynolds_torch::tch::Device;
use reynolds_train::config::Assignment;
use reynolds_train::interrupt::Interrupt;
use reynolds_train::progress::Silent;

#[test]
fn the_first_phase_sweeps_with_seed_0_and_the_second_trains_what_was_selected() {
    let setup = setup("translation,rotation", "all", 3);
    // Translation: 5 columns of 3 seeds and a sweep of 3; rotation: 7 and two sweeps.
    assert_eq!(sooner(&setup).unwrap().len(), 5 * 3 + 3 + 7 * 3 + 2 * 3);
    let all = models(&setup, |model| run(0.7, model.config.penalty.lambda_perp));
    let ids: Vec<String> = later(&setup, &all).unwrap().iter().map(Point::id).collect();
    let names = ["translation-rgroup", "rotation-rgroup", "rotation-rsteer"];
    let expected = names.iter().flat_map(|name| [1, 2].map(|seed| format!("{name}-reg-p0.000001-seed{seed}")));
    assert_eq!(ids, expected.collect::<Vec<_>>());
    let mut distinct: Vec<String> = all.iter().map(|entry| entry.id.clone()).collect();
    distinct.dedup();
    assert_eq!(distinct.len(), sooner(&setup).unwrap().len() + 6);
}

#[test]
fn every_network_of_every_budget_can_be_built() {
    for budget in [Budget::Quick, Budget::Standard, Budget::Full] {
        let mut settings = of_budget(budget);
        Assignment::new("seeds", "1").apply(&mut settings).unwrap();
        assert_eq!(TableSmoke.models(&settings).unwrap().len(), 5 + 3 + 2 * (7 + 2 * 3));
    }
}

#[test]
fn findings_are_made_of_whatever_was_run() {
    let (settings, setup) =
        (settings("rotation", "conv,rsteer,rsteer+reg", 2), setup("rotation", "conv,rsteer,rsteer+reg", 2));
    let all = models(&setup, |model| run(if model.config.penalty.lambda_perp > 0.0 { 0.6 } else { 0.7 }, 0.5));
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
    let of = ("rotation", "rsteer,rsteer+reg", 2);
    let (settings, setup) = (settings(of.0, of.1, of.2), setup(of.0, of.1, of.2));
    for divergent in [Column::Rsteer, Column::RsteerReg] {
        let all = models(&setup, |model| if model.column == divergent { diverged() } else { run(0.7, 0.5) });
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
    match reproduce(request, session).unwrap() {
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
        ("epochs", "1"),
        ("train_windows", "1"),
        ("evaluation_windows", "1"),
        ("out_length", "1"),
        ("rollout", "5"),
        ("lambda_perp", "1e-2"),
        ("hidden.rotation.rgroup", "2"),
        ("width", "1"),
        ("data", &data),
    ];
    let assignments = given.map(|(key, value)| Assignment::new(key, value)).to_vec();
    let place = Place::Under(root.path().join("runs"));
    let request = Request { target: "table-smoke".into(), budget: Budget::Quick, assignments, place, workers: 1 };
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
        (&[("evaluation_windows", "99999")][..], "config: evaluation_windows: expected at most"),
        (&[("train_windows", "99999")], "config: train_windows: expected at most"),
        (
            &[("kinds", "translation"), ("columns", "rsteer,conv")],
            "config: columns: expected a column that translation has, found conv, rsteer",
        ),
    ] {
        let assignments = given.iter().map(|(key, value)| Assignment::new(key, value)).collect();
        let place = Place::Under(root.path().into());
        let request = Request { target: "table-smoke".into(), budget: Budget::Quick, assignments, place, workers: 1 };
        let session = Session { device: Device::Cpu, interrupt: Interrupt::new(), observer: &mut Silent };
        let message = reproduce(&request, session).unwrap_err().to_string();
        assert!(message.starts_with(expected), "{message}");
    }
    assert_eq!(std::fs::read_dir(root.path()).unwrap().count(), 0);
}

#[test]
fn a_network_beyond_the_cap_is_refused_by_the_key_of_the_table() {
    let mut settings = settings("rotation", "rsteer", 1);
    Assignment::new("width", "3").apply(&mut settings).unwrap();
    let message = TableSmoke.models(&settings).err().unwrap().to_string();
    assert!(
        message.contains("hidden.rotation.rsteer times width: expected a network of at most 10000000"),
        "{message}"
    );
}
