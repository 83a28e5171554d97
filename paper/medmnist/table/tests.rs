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
            assert!(!lost || findings.checks.iter().all(|check| !check.is_held()), "{:?}", findings.checks);
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
    type Refused = fn(&str, &str) -> String;
    let table: Refused = |key, value| refused(&ACCURACY, key, value);
    let sensitivity: Refused = |key, value| refused(&SENSITIVITY, key, value);
    let shapes: Refused = |key, value| refused(&SHAPES, key, value);
    let efficiency: Refused = |key, value| refused(&Efficiency, key, value);
    for (refused, key, value, expected) in [
        (table, "sets", "retina", "some of nodule, synapse, organ, vessel, adrenal, fracture, shapes, or all"),
        (table, "rows", "unet", "some of cnn, so3-scnn"),
        (table, "seeds", "0", "at least 1"),
        (table, "learning_rates", "0", "finite numbers above 0, found 0"),
        (table, "learning_rates", "", "finite numbers"),
        (table, "lambda_perp", "-1", "finite numbers, at least 0, found -1"),
        (table, "tuning", "random", "`staged` or `grid`"),
        (table, "train.precision", "f16", "`f32` or `bf16`"),
        (table, "train.epochs", "0", "at least 1"),
        (table, "data.set", "organ", "its default (set by the target's key sets), found \"organ\""),
        (table, "penalty.lambda_perp", "1", "its default (set by the target's key lambda_perp)"),
        (sensitivity, "groups", "u1", "some of so3, o3, or all"),
        (shapes, "breakings", "2", "numbers from 0 to 1, found 2"),
        (efficiency, "steps", "0", "at least 1"),
        (efficiency, "inference_batch", "1", "from 2 to 4096"),
        (efficiency, "model.nonlinearity", "relu", "`pointwise` or `gated`"),
    ] {
        let message = refused(key, value);
        assert!(message.starts_with(&format!("--set: {key}: expected {expected}")), "{message}");
    }
    for (refused, old, new) in [
        (table, "epochs", "train.epochs"),
        (table, "data.seed", "data.shapes.seed"),
        (sensitivity, "learning_rates", "train.learning_rate"),
        (shapes, "lambda_g", "penalty.lambda_g"),
        (efficiency, "train_batch", "data.batch"),
    ] {
        let message = refused(old, "1");
        assert!(message.starts_with(&format!("--set: unknown key \"{old}\": now called \"{new}\"")), "{message}");
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
    agrees_with_committed(target, Budget::Standard, &assignments, &format!("medmnist/{name}"), &[], &[]);
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
