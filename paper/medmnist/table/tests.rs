//! The targets as a whole, and the committed results, which are those of the models that the targets ask for today with today's keys.

use std::collections::BTreeSet;

use super::synthetic::{of, run, table};
use super::target::TrainingTarget;
use super::*;
use crate::targets::synthetic::{agrees_with_committed, diverged, given};
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
fn plans_count_models_and_steps() {
    let plan = |settings: TargetSettings<_>| ACCURACY.plan(&settings).unwrap().unwrap();
    // 1335 volumes in minibatches of 32 are 42 steps; nine rows of two seeds, with two pairs of λ for each of two of them.
    assert_eq!(plan(table(&[("sets", "vessel")])), format!("20 models of 5 epochs, {} steps in all", 20 * 5 * 42));
    let plan = Efficiency.plan(&Efficiency.settings(Budget::Quick)).unwrap().unwrap();
    assert_eq!(plan, "9 rows to measure, each alone");
}

#[test]
fn findings_are_made_of_any_points() {
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
fn findings_of_the_table_are_complete() {
    let settings = table(&[("sets", "shapes,vessel")]);
    let findings = ACCURACY.findings(&settings, &of(&settings, |_| run(0.8, 0.1))).unwrap();
    for text in ["generated shapes are no medical data", "the paper's are Nodule, Synapse and Organ"] {
        assert!(findings.notes[0].contains(text), "{}", findings.notes[0]);
    }
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

fn refused<T: Target>(target: &T, key: &str, value: &str) -> String {
    let settings = target.settings(Budget::Quick);
    config::load(&settings, None, &[Assignment::new(key, value)]).unwrap_err().to_string()
}

#[test]
fn settings_are_refused_by_key() {
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

fn agrees<O: Trains>(target: &TrainingTarget<O>, name: &str, assignments: &[&[(&str, &str)]])
where
    TargetSettings<O>: Settings,
{
    let assignments = [&[("train.precision", "bf16"), ("data.turned", "8")], assignments.concat().as_slice()].concat();
    agrees_with_committed(target, Budget::Standard, &assignments, &format!("medmnist/{name}"), &[]);
}

#[test]
fn committed_results_are_of_the_same_models() {
    let tuning: &[_] =
        &[("seeds", "3"), ("learning_rates", "5e-4"), ("lambda_g", "1e-5,1e-3"), ("lambda_perp", "1e-4,1e-2")];
    let files: &[_] = &[("sets", "vessel,adrenal"), ("train.epochs", "6")];
    agrees(&ACCURACY, "table-medmnist", &[tuning, files]);
    agrees(&CONFUSION, "fig-confusion", &[tuning, files]);
    agrees(&SENSITIVITY, "fig-sensitivity", &[files, &[("train.learning_rate", "5e-4")]]);
    let shapes: &[_] = &[("sets", "shapes"), ("train.epochs", "5"), ("data.batch", "16")];
    agrees(&ACCURACY, "table-shapes", &[tuning, shapes]);
    agrees(&CONFUSION, "fig-confusion-shapes", &[tuning, shapes]);
    let broken = [("breakings", "0,1"), ("lambda_perp", "1e-3,1e-2,1e-1,1")];
    agrees(&SHAPES, "fig-shapes", &[&[("train.epochs", "40"), ("data.shapes.seed", "2")], &broken]);
}
