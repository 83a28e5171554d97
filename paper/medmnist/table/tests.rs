//! The targets as a whole.

use std::collections::BTreeSet;

use super::settings::{TableSettings, Tuning};
use super::synthetic::{diverged, given, models, run, table};
use super::target::Training;
use super::volume_run::VolumeRun;
use super::{ACCURACY, CONFUSION, EFFICIENCY, SENSITIVITY, SHAPES, budget};
use crate::medmnist::rows::Row;
use crate::medmnist::sets::Set;
use crate::targets::point::{Frame, Point};
use crate::targets::{Budget, Chosen, Named, Target};
use reynolds_train::config::{self, Assignment, Settings};

const BUDGETS: [Budget; 3] = [Budget::Quick, Budget::Standard, Budget::Full];

fn ids(points: &[Box<dyn Point>]) -> BTreeSet<String> {
    points.iter().map(|point| point.id()).collect()
}

#[test]
fn ids_are_their_own_and_measurements_come_alone() {
    fn check<T: Target>(target: &T, alone: bool) {
        for budget in BUDGETS {
            let settings = target.settings(budget);
            settings.validate().unwrap();
            let points = target.points(&settings).unwrap();
            assert!(!points.is_empty() && ids(&points).len() == points.len(), "{} {budget:?}", target.name());
            assert!(points.iter().all(|point| point.alone() == alone));
        }
    }
    check(&EFFICIENCY, true);
    check(&ACCURACY, false);
    check(&CONFUSION, false);
    check(&SENSITIVITY, false);
    check(&SHAPES, false);
}

#[test]
fn the_plan_is_what_is_trained_in_the_end() {
    fn check<S: Training>(target: &impl Target<Settings = S>, assignments: &[(&str, &str)]) {
        let settings = given(target.settings(Budget::Quick), assignments);
        let all = models(&settings, |one| run(0.8 - one.strengths().lambda_perp / 10.0, 0.1));
        let (count, steps) = settings.amount();
        assert_eq!(count, all.len(), "{}", target.name());
        let plan = target.plan(&settings).unwrap().unwrap();
        assert_eq!(plan, format!("{count} models of 5 epochs, {steps} steps in all"));
    }
    check(
        &ACCURACY,
        &[("sets", "vessel,organ,shapes"), ("learning_rates", "1e-3,1e-4"), ("lambda_perp", "1e-3,1e-1,1")],
    );
    check(&ACCURACY, &[("sets", "vessel"), ("tuning", "grid"), ("seeds", "3"), ("lambda_g", "1e-3,1e-4")]);
    check(&SENSITIVITY, &[("sets", "vessel,organ")]);
    check(&CONFUSION, &[("sets", "shapes")]);
    check(&SHAPES, &[]);
    let plan = EFFICIENCY.plan(&EFFICIENCY.settings(Budget::Quick)).unwrap().unwrap();
    assert_eq!(plan, "9 rows to measure, each alone");
    // 1335 volumes in minibatches of 32 are 42.
    assert!(table(&[("sets", "vessel")]).wanted(&Frame::default()).iter().all(|run| run.steps() == 5 * 42));
}

#[test]
fn the_full_budget_is_the_published_protocol() {
    let full = ACCURACY.settings(Budget::Full);
    let (epochs, batch) = (full.run.train.epochs, full.run.settings.data.batch);
    assert_eq!((full.seeds, epochs, batch, full.tuning), (3, 100, 32, Tuning::Grid));
    assert_eq!(full.learning_rates.as_slice(), [5e-6, 1e-5, 5e-5, 1e-4, 5e-4]);
    assert_eq!(full.lambdas().len(), 8);
    let sweep = SENSITIVITY.settings(Budget::Full);
    assert_eq!((sweep.strengths(Set::Shapes, crate::medmnist::networks::Symmetry::So3).len(), sweep.seeds), (25, 3));
}

#[test]
fn tables_and_figures_are_of_the_sets_that_are_present() {
    for budget in BUDGETS {
        let (table, sweep, confusion) = (budget::table(budget), budget::sensitivity(budget), budget::confusion(budget));
        assert!(table.sets == sweep.sets && table.sets == confusion.sets);
    }
}

#[test]
fn the_figure_has_the_models_of_the_table() {
    let of = |settings: TableSettings| -> BTreeSet<(String, String)> {
        let settings = given(settings, &[("sets", "shapes")]);
        settings.wanted(&Frame::default()).iter().map(|run| (run.id(), run.settings().to_string())).collect()
    };
    for budget in BUDGETS {
        assert!(of(budget::confusion(budget)).is_subset(&of(budget::table(budget))));
    }
}

#[test]
fn findings_are_made_of_whatever_was_run() {
    fn check<S: Training>(target: &impl Target<Settings = S>) {
        let settings = given(target.settings(Budget::Quick), &[("seeds", "2")]);
        let nothing = target.findings(&settings, &Frame::default()).unwrap();
        assert!(nothing.checks.is_empty() && nothing.csv.lines().count() == 1, "{}", target.name());
        for lost in [false, true] {
            let all = models(&settings, |_| if lost { diverged() } else { run(0.8, 0.1) });
            let findings = target.findings(&settings, &all).unwrap();
            assert!(findings.figures.iter().all(|figure| !figure.svg.contains("NaN")), "{}", target.name());
            assert!(!lost || findings.checks.iter().all(|check| !check.held), "{:?}", findings.checks);
            assert!(findings.notes.iter().all(|note| !note.is_empty()));
        }
    }
    check(&ACCURACY);
    check(&CONFUSION);
    check(&SENSITIVITY);
    check(&SHAPES);
    let nothing = EFFICIENCY.findings(&EFFICIENCY.settings(Budget::Quick), &Frame::default()).unwrap();
    assert!(nothing.checks.is_empty() && nothing.csv.lines().count() == 1);
}

#[test]
fn generated_shapes_are_called_so_and_the_papers_sets_are_named() {
    let settings = table(&[("sets", "shapes,vessel")]);
    let findings = ACCURACY.findings(&settings, &models(&settings, |_| run(0.8, 0.1))).unwrap();
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
fn all_seeds_follow_on_the_one_of_the_run() {
    let settings = table(&[("sets", "vessel"), ("rows", "cnn"), ("seed", "7"), ("seeds", "3")]);
    let all = models(&settings, |_| run(0.8, 0.1));
    assert_eq!(all.iter().map(|entry| entry.settings["seed"].clone()).collect::<Vec<_>>(), [7, 8, 9]);
    assert_eq!(super::cells::cells(&settings, &all)[0].runs.len(), 3);
}

#[test]
fn settings_that_are_written_are_read_again() {
    fn check<T: Target>(target: &T) {
        let settings = target.settings(Budget::Standard);
        assert_eq!(config::parse(&settings, &config::text(&settings), "f").unwrap(), settings, "{}", target.name());
    }
    check(&ACCURACY);
    check(&EFFICIENCY);
    check(&CONFUSION);
    check(&SENSITIVITY);
    check(&SHAPES);
}

/// What is said of one setting that is refused.
fn refused<T: Target>(target: &T, key: &str, value: &str) -> String {
    let settings = target.settings(Budget::Quick);
    config::load(&settings, None, &[Assignment::new(key, value)]).unwrap_err().to_string()
}

#[test]
fn what_cannot_be_run_is_refused_by_its_key() {
    for (key, value, expected) in [
        ("sets", "retina", "sets: expected some of nodule, synapse, organ, vessel, adrenal, fracture, shapes, or all"),
        ("rows", "unet", "rows: expected some of cnn, so3-scnn"),
        ("seeds", "0", "seeds: expected at least 1"),
        ("learning_rates", "0", "learning_rates: expected finite numbers above 0, found 0"),
        ("learning_rates", "", "learning_rates: expected finite numbers"),
        ("lambda_perp", "-1", "lambda_perp: expected finite numbers, at least 0, found -1"),
        ("tuning", "random", "tuning: expected `staged` or `grid`"),
        ("train.precision", "f16", "train.precision: expected `f32` or `bf16`"),
        ("train.epochs", "0", "train.epochs: expected at least 1"),
        // What other keys decide.
        ("data.set", "organ", "data.set: expected its default, for the target sets it (sets), found \"organ\""),
        ("penalty.lambda_perp", "1", "penalty.lambda_perp: expected its default, for the target sets it (lambda_perp)"),
    ] {
        let message = refused(&ACCURACY, key, value);
        assert!(message.starts_with(&format!("--set: {expected}")), "{message}");
    }
    let groups = refused(&SENSITIVITY, "groups", "u1");
    assert!(groups.starts_with("--set: groups: expected some of so3, o3, or all"), "{groups}");
    let breakings = refused(&SHAPES, "breakings", "2");
    assert!(breakings.starts_with("--set: breakings: expected numbers from 0 to 1, found 2"), "{breakings}");
    let steps = refused(&EFFICIENCY, "steps", "0");
    assert!(steps.starts_with("--set: steps: expected at least 1"), "{steps}");
    let batch = refused(&EFFICIENCY, "inference_batch", "1");
    assert!(batch.starts_with("--set: inference_batch: expected from 2 to 4096"), "{batch}");
    let relu = refused(&EFFICIENCY, "model.nonlinearity", "relu");
    assert!(relu.starts_with("--set: model.nonlinearity: expected `pointwise` or `gated`"), "{relu}");
}

#[test]
fn old_keys_are_answered_with_their_names_of_today() {
    for (key, now) in [
        ("epochs", "train.epochs"),
        ("batch", "data.batch"),
        ("width", "model.width"),
        ("precision", "train.precision"),
        ("form", "penalty.form"),
        ("data.train", "data.shapes.train"),
        ("data.seed", "data.shapes.seed"),
    ] {
        let message = refused(&ACCURACY, key, "1");
        assert_eq!(message, format!("--set: unknown key \"{key}\": now called \"{now}\""));
    }
    assert!(refused(&SENSITIVITY, "learning_rates", "1e-4").ends_with("now called \"train.learning_rate\""));
    assert!(refused(&SHAPES, "lambda_g", "1e-4").ends_with("now called \"penalty.lambda_g\""));
    assert!(refused(&EFFICIENCY, "train_batch", "2").ends_with("now called \"data.batch\""));
}

#[test]
fn a_target_takes_the_keys_of_a_run() {
    let shapes = given(SHAPES.settings(Budget::Quick), &[("data.shapes.train", "12"), ("train.precision", "bf16")]);
    let run = |run: &VolumeRun| (run.config.settings.data.shapes.train, run.config.train.precision.name());
    assert!(shapes.wanted(&Frame::default()).iter().map(run).all(|found| found == (12, "bf16")));
    let table = table(&[("rows", "o3-rpp,cnn"), ("model.rpp.dense", "0.5")]);
    assert_eq!(table.rows, Chosen::new(&[Row::CNN, Row::ALL[6]]));
}
