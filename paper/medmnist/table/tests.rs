//! The targets as a whole.

use std::collections::BTreeSet;

use super::settings::Setup;
use super::synthetic::{diverged, models, run, settings, setup};
use super::{ACCURACY, CONFUSION, EFFICIENCY, MedTarget, SENSITIVITY, SHAPES};
use crate::targets::point::Frame;
use crate::targets::{Budget, Target};

const ALL: [MedTarget; 5] = [ACCURACY, EFFICIENCY, SENSITIVITY, CONFUSION, SHAPES];

#[test]
fn ids_are_their_own_and_measurements_come_alone() {
    for target in ALL {
        let wanted = target.models(&settings(&target, &[])).unwrap();
        let ids: BTreeSet<String> = wanted.iter().map(|model| model.id()).collect();
        assert_eq!(ids.len(), wanted.len(), "{}", target.name);
        assert!(wanted.iter().all(|model| model.alone() == (target.name == EFFICIENCY.name)));
    }
}

#[test]
fn the_plan_is_what_is_trained_in_the_end() {
    for (target, given) in [
        (
            ACCURACY,
            vec![("sets", "vessel,organ,shapes"), ("learning_rates", "1e-3,1e-4"), ("lambda_perp", "1e-3,1e-1,1")],
        ),
        (ACCURACY, vec![("sets", "vessel"), ("tuning", "grid"), ("seeds", "3"), ("lambda_g", "1e-3,1e-4")]),
        (SENSITIVITY, vec![("sets", "vessel,organ")]),
        (CONFUSION, vec![("sets", "shapes")]),
        (SHAPES, vec![]),
    ] {
        let setup = setup(&target, &given);
        let all = models(&target, &setup, |point| run(0.8 - point.strengths.lambda_perp / 10.0, 0.1));
        let (count, steps) = target.amount(&setup).unwrap();
        assert_eq!(count, all.len(), "{}", target.name);
        let plan = target.plan(&settings(&target, &given)).unwrap().unwrap();
        assert_eq!(plan, format!("{count} models of 5 epochs, {steps} steps in all"));
    }
    let plan = EFFICIENCY.plan(&settings(&EFFICIENCY, &[])).unwrap().unwrap();
    assert_eq!(plan, "9 rows to measure, a process each");
    // 1335 volumes in minibatches of 32 are 42.
    assert_eq!(setup(&ACCURACY, &[("sets", "vessel")]).steps("vessel"), 5 * 42);
}

#[test]
fn every_budget_can_be_set_up_and_the_full_one_is_the_published_protocol() {
    for budget in [Budget::Quick, Budget::Standard, Budget::Full] {
        for target in ALL {
            assert!(!target.models(&target.settings(budget)).unwrap().is_empty(), "{} {budget:?}", target.name);
        }
    }
    let full = Setup::new(&ACCURACY.settings(Budget::Full)).unwrap();
    assert_eq!((full.seeds, full.epochs, full.data.batch, full.tuning.staged), (3, 100, 32, false));
    assert_eq!(full.tuning.learning_rates, [5e-6, 1e-5, 5e-5, 1e-4, 5e-4]);
    assert_eq!(full.tuning.lambdas().len(), 8);
    let sweep = Setup::new(&SENSITIVITY.settings(Budget::Full)).unwrap();
    assert_eq!((sweep.tuning.lambdas().len(), sweep.seeds), (25, 3));
}

#[test]
fn tables_and_figures_are_of_the_sets_that_are_present() {
    for budget in [Budget::Quick, Budget::Standard, Budget::Full] {
        let [table, sweep, confusion] =
            [ACCURACY, SENSITIVITY, CONFUSION].map(|target| target.settings(budget)["sets"].clone());
        assert!(table == sweep && table == confusion, "{table} {sweep} {confusion}");
    }
}

#[test]
fn the_figure_has_the_models_of_the_table() {
    let of = |target: &MedTarget| -> BTreeSet<(String, String)> {
        let models = target.models(&settings(target, &[("sets", "shapes")])).unwrap();
        models.iter().map(|model| (model.id(), model.config().to_string())).collect()
    };
    assert!(of(&CONFUSION).is_subset(&of(&ACCURACY)));
}

#[test]
fn findings_are_made_of_whatever_was_run() {
    for target in ALL {
        let given: &[(&str, &str)] = if target.name == EFFICIENCY.name { &[] } else { &[("seeds", "2")] };
        let (settings, setup) = (settings(&target, given), setup(&target, given));
        let nothing = target.findings(&settings, &Frame::default()).unwrap();
        assert!(nothing.checks.is_empty() && nothing.csv.lines().count() == 1, "{}", target.name);
        for lost in [false, true] {
            let all = models(&target, &setup, |_| if lost { diverged() } else { run(0.8, 0.1) });
            let findings = target.findings(&settings, &all).unwrap();
            assert!(findings.figures.iter().all(|figure| !figure.svg.contains("NaN")), "{}", target.name);
            assert!(!lost || findings.checks.iter().all(|check| !check.held), "{:?}", findings.checks);
            assert!(findings.notes.iter().all(|note| !note.is_empty()));
        }
    }
}

#[test]
fn generated_shapes_are_called_so_and_the_papers_sets_are_named() {
    let given = [("sets", "shapes,vessel")];
    let (settings, setup) = (settings(&ACCURACY, &given), setup(&ACCURACY, &given));
    let findings = ACCURACY.findings(&settings, &models(&ACCURACY, &setup, |_| run(0.8, 0.1))).unwrap();
    assert!(findings.notes[0].contains("generated shapes are no medical data"), "{}", findings.notes[0]);
    assert!(findings.notes[0].contains("the paper's are Nodule, Synapse and Organ"), "{}", findings.notes[0]);
    let names: Vec<&str> = findings.figures.iter().map(|figure| figure.name).collect();
    assert_eq!(names, ["accuracy", "convergence"]);
    // Accuracies, the two sets, and what was tried for them.
    assert_eq!(findings.tables.len(), 4);
    let csv = &findings.csv;
    let fields = |line: &str| line.split(',').count();
    let head = fields(csv.lines().next().unwrap());
    assert!(csv.lines().count() == 1 + 2 * 9 && csv.lines().all(|line| fields(line) == head), "{csv}");
    assert_eq!(findings.more["cells"].as_array().unwrap().len(), 18);
}

#[test]
fn what_cannot_be_run_is_refused_by_its_own_key() {
    for (target, key, value, expected) in [
        (
            ACCURACY,
            "sets",
            "retina",
            "config: sets: expected some of nodule, synapse, organ, vessel, adrenal, fracture, shapes, or all",
        ),
        (ACCURACY, "rows", "unet", "config: rows: expected some of cnn, so3-scnn"),
        (ACCURACY, "seeds", "0", "config: seeds: expected a whole number, at least 1"),
        (ACCURACY, "learning_rates", "0", "config: learning_rates: expected finite numbers above 0, found \"0\""),
        (ACCURACY, "learning_rates", "", "config: learning_rates: expected finite numbers above 0, found nothing"),
        (ACCURACY, "lambda_perp", "-1", "config: lambda_perp: expected finite numbers, at least 0, found \"-1\""),
        (ACCURACY, "tuning", "random", "config: tuning: expected \"staged\" or \"grid\""),
        (ACCURACY, "precision", "f16", "config: precision: expected \"f32\" or \"bf16\""),
        (ACCURACY, "epochs", "0", "config: epochs: expected a whole number, at least 1"),
        (SENSITIVITY, "groups", "u1", "config: groups: expected some of so3, o3, or all"),
        (SHAPES, "breakings", "2", "config: breakings: expected numbers from 0 to 1, found \"2\""),
        (EFFICIENCY, "steps", "0", "config: steps: expected a whole number, at least 1"),
        (EFFICIENCY, "nonlinearity", "relu", "config: nonlinearity: expected \"pointwise\" or \"gated\""),
    ] {
        let message = target.models(&settings(&target, &[(key, value)])).err().unwrap().to_string();
        assert!(message.starts_with(expected), "{message}");
    }
}
