//! The targets as a whole, and the committed results, which are those of the models that the targets ask for today with today's keys.

use std::collections::BTreeSet;

use super::settings::TargetSettings;
use super::synthetic::{of, run, table};
use super::target::{TrainingTarget, Trains};
use super::volume_run::VolumeRun;
use super::{ACCURACY, CONFUSION, Efficiency, SENSITIVITY, SHAPES};
use crate::medmnist::rows::Row;
use crate::targets::point::Frame;
use crate::targets::synthetic::{agrees_with_committed, diverged, given};
use crate::targets::{Budget, Chosen, Named, Target};
use reynolds_train::config::{self, Assignment, Settings};

const BUDGETS: [Budget; 3] = [Budget::Quick, Budget::Standard, Budget::Full];

#[test]
fn ids_are_their_own_and_settings_that_are_written_are_read_again() {
    fn check<T: Target>(target: &T, alone: bool) {
        for budget in BUDGETS {
            let settings = target.settings(budget);
            settings.validate().unwrap();
            let points = target.points(&settings).unwrap();
            let ids: BTreeSet<String> = points.iter().map(|point| point.id()).collect();
            assert!(!points.is_empty() && ids.len() == points.len(), "{} {budget:?}", target.name());
            assert!(points.iter().all(|point| point.alone() == alone));
            assert_eq!(config::parse(&settings, &config::text(&settings), "f").unwrap(), settings, "{}", target.name());
        }
    }
    check(&Efficiency, true);
    check(&ACCURACY, false);
    check(&CONFUSION, false);
    check(&SENSITIVITY, false);
    check(&SHAPES, false);
}

#[test]
fn the_plan_is_what_is_trained_in_the_end() {
    fn check<O: Trains>(target: &TrainingTarget<O>, assignments: &[(&str, &str)]) {
        let settings = given(target.settings(Budget::Quick), assignments);
        let all = of(&settings, |one| run(0.8 - one.strengths().lambda_perp / 10.0, 0.1));
        let (count, steps) = O::amount(&settings);
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
    let plan = Efficiency.plan(&Efficiency.settings(Budget::Quick)).unwrap().unwrap();
    assert_eq!(plan, "9 rows to measure, each alone");
    // 1335 volumes in minibatches of 32 are 42.
    let wanted = Trains::wanted(&table(&[("sets", "vessel")]), &Frame::default());
    assert!(wanted.iter().all(|run| run.steps() == 5 * 42));
}

#[test]
fn findings_are_made_of_whatever_was_run() {
    fn check<O: Trains>(target: &TrainingTarget<O>) {
        let settings = given(target.settings(Budget::Quick), &[("seeds", "2")]);
        let nothing = target.findings(&settings, &Frame::default()).unwrap();
        assert!(nothing.checks.is_empty() && nothing.csv.lines().count() == 1, "{}", target.name());
        for lost in [false, true] {
            let all = of(&settings, |_| if lost { diverged() } else { run(0.8, 0.1) });
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
    let nothing = Efficiency.findings(&Efficiency.settings(Budget::Quick), &Frame::default()).unwrap();
    assert!(nothing.checks.is_empty() && nothing.csv.lines().count() == 1);
}

#[test]
fn generated_shapes_are_called_so_and_the_papers_sets_are_named() {
    let settings = table(&[("sets", "shapes,vessel")]);
    let findings = ACCURACY.findings(&settings, &of(&settings, |_| run(0.8, 0.1))).unwrap();
    assert!(findings.notes[0].contains("generated shapes are no medical data"), "{}", findings.notes[0]);
    assert!(findings.notes[0].contains("the paper's are Nodule, Synapse and Organ"), "{}", findings.notes[0]);
    let names: Vec<&str> = findings.figures.iter().map(|figure| figure.name).collect();
    assert_eq!(names, ["accuracy", "convergence"]);
    // Accuracies, the two sets, and what was tried for them.
    assert_eq!((findings.tables.len(), findings.csv.lines().count()), (4, 1 + 2 * 9));
    assert_eq!(findings.more["cells"].as_array().unwrap().len(), 18);
}

#[test]
fn all_seeds_follow_on_the_one_of_the_run() {
    let settings = table(&[("sets", "vessel"), ("rows", "cnn"), ("seed", "7"), ("seeds", "3")]);
    let all = of(&settings, |_| run(0.8, 0.1));
    assert_eq!(all.iter().map(|entry| entry.settings["seed"].clone()).collect::<Vec<_>>(), [7, 8, 9]);
    assert_eq!(super::cells::cells(&settings, &all)[0].runs.len(), 3);
}

/// What is said of one setting that is refused.
fn refused<T: Target>(target: &T, key: &str, value: &str) -> String {
    let settings = target.settings(Budget::Quick);
    config::load(&settings, None, &[Assignment::new(key, value)]).unwrap_err().to_string()
}

#[test]
fn what_cannot_be_run_is_refused_by_its_key() {
    let of_table = |key, value| refused(&ACCURACY, key, value);
    for (message, expected) in [
        (
            of_table("sets", "retina"),
            "sets: expected some of nodule, synapse, organ, vessel, adrenal, fracture, shapes, or all",
        ),
        (of_table("rows", "unet"), "rows: expected some of cnn, so3-scnn"),
        (of_table("seeds", "0"), "seeds: expected at least 1"),
        (of_table("learning_rates", "0"), "learning_rates: expected finite numbers above 0, found 0"),
        (of_table("learning_rates", ""), "learning_rates: expected finite numbers"),
        (of_table("lambda_perp", "-1"), "lambda_perp: expected finite numbers, at least 0, found -1"),
        (of_table("tuning", "random"), "tuning: expected `staged` or `grid`"),
        (of_table("train.precision", "f16"), "train.precision: expected `f32` or `bf16`"),
        (of_table("train.epochs", "0"), "train.epochs: expected at least 1"),
        // What other keys decide.
        (
            of_table("data.set", "organ"),
            "data.set: expected its default (set by the target's key sets), found \"organ\"",
        ),
        (
            of_table("penalty.lambda_perp", "1"),
            "penalty.lambda_perp: expected its default (set by the target's key lambda_perp)",
        ),
        (refused(&SENSITIVITY, "groups", "u1"), "groups: expected some of so3, o3, or all"),
        (refused(&SHAPES, "breakings", "2"), "breakings: expected numbers from 0 to 1, found 2"),
        (refused(&Efficiency, "steps", "0"), "steps: expected at least 1"),
        (refused(&Efficiency, "inference_batch", "1"), "inference_batch: expected from 2 to 4096"),
        (refused(&Efficiency, "model.nonlinearity", "relu"), "model.nonlinearity: expected `pointwise` or `gated`"),
        // Old keys.
        (of_table("epochs", "1"), "unknown key \"epochs\": now called \"train.epochs\""),
        (of_table("data.seed", "1"), "unknown key \"data.seed\": now called \"data.shapes.seed\""),
        (
            refused(&SENSITIVITY, "learning_rates", "1"),
            "unknown key \"learning_rates\": now called \"train.learning_rate\"",
        ),
        (refused(&SHAPES, "lambda_g", "1"), "unknown key \"lambda_g\": now called \"penalty.lambda_g\""),
        (refused(&Efficiency, "train_batch", "2"), "unknown key \"train_batch\": now called \"data.batch\""),
    ] {
        assert!(message.starts_with(&format!("--set: {expected}")), "{message}");
    }
}

#[test]
fn a_target_takes_the_keys_of_a_run() {
    let shapes = given(SHAPES.settings(Budget::Quick), &[("data.shapes.train", "12"), ("train.precision", "bf16")]);
    let all = Trains::wanted(&shapes, &Frame::default());
    assert!(all.iter().all(|run| run.config.settings.data.shapes.train == 12));
    assert!(all.iter().all(|run| run.config.train.precision.name() == "bf16"));
    let table = table(&[("rows", "o3-rpp,cnn"), ("model.rpp.dense", "0.5")]);
    assert_eq!(table.own.rows, Chosen::new(&[Row::CNN, Row::ALL[6]]));
    let dense = |run: &VolumeRun| run.config.settings.model.rpp.dense;
    // What is of one network does not reach the others.
    let wanted = Trains::wanted(&table, &Frame::default());
    assert!(wanted.iter().all(|run| dense(run) == if run.row() == Row::CNN { 1e-3 } else { 0.5 }));
}

const TABLE: [(&str, &str); 6] = [
    ("train.precision", "bf16"),
    ("seeds", "3"),
    ("learning_rates", "5e-4"),
    ("lambda_g", "1e-5,1e-3"),
    ("lambda_perp", "1e-4,1e-2"),
    ("data.turned", "8"),
];

fn agrees<O: Trains>(target: &TrainingTarget<O>, name: &str, assignments: &[(&str, &str)])
where
    TargetSettings<O>: Settings,
{
    agrees_with_committed(target, Budget::Standard, assignments, &format!("medmnist/{name}"), &[]);
}

#[test]
fn committed_tables_and_confusions_are_of_the_same_models() {
    let files = [&TABLE[..], &[("sets", "vessel,adrenal"), ("train.epochs", "6")]].concat();
    agrees(&ACCURACY, "table-medmnist", &files);
    agrees(&CONFUSION, "fig-confusion", &files);
    let shapes = [&TABLE[..], &[("sets", "shapes"), ("train.epochs", "5"), ("data.batch", "16")]].concat();
    agrees(&ACCURACY, "table-shapes", &shapes);
    agrees(&CONFUSION, "fig-confusion-shapes", &shapes);
}

#[test]
fn committed_maps_are_of_the_same_models() {
    let keys = [
        ("sets", "vessel,adrenal"),
        ("train.precision", "bf16"),
        ("train.epochs", "6"),
        ("train.learning_rate", "5e-4"),
        ("data.turned", "8"),
    ];
    agrees(&SENSITIVITY, "fig-sensitivity", &keys);
}

#[test]
fn committed_shapes_are_of_the_same_models() {
    let keys = [
        ("train.precision", "bf16"),
        ("train.epochs", "40"),
        ("data.turned", "8"),
        ("data.shapes.seed", "2"),
        ("breakings", "0,1"),
        ("lambda_perp", "1e-3,1e-2,1e-1,1"),
    ];
    agrees(&SHAPES, "fig-shapes", &keys);
}
