//! A run that was stopped at any step goes on as if it had not been.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use reynolds::penalty::Form;
use reynolds_torch::anneal::{Anneal, Shape};
use reynolds_train::config::{PenaltySettings, PenaltyStep, Rule, Selection, TargetBy};
use reynolds_train::experiment::Experiment;
use reynolds_train::interrupt::Interrupt;
use reynolds_train::run::Outcome;

use crate::logistic::{self, Config, Fault, Logistic, go_on};

/// Minibatches of the run below.
const MINIBATCHES: usize = 5 * 4;

/// Stopped by a plateau after the fifth of eight epochs, for no later epoch is better than the first by so much.
fn config() -> Config {
    let mut config = Logistic::default().defaults();
    config.seed = 11;
    config.train.epochs = 8;
    config.train.accumulate = 2;
    config.train.checkpoint_every = 2;
    config.train.clip = 0.5;
    config.train.schedule.shape = reynolds_train::schedule::Shape::Cosine;
    config.train.schedule.warmup_steps = 5;
    config.train.weights = Selection::Best;
    let stopping = &mut config.train.early_stopping;
    (stopping.rule, stopping.after, stopping.window, stopping.min_delta) = (Rule::Plateau, 4, 2, 10.0);
    config.penalty.lambda_perp = 0.01;
    config.penalty.anneal.shape = Shape::Cosine;
    config.penalty.anneal.epochs = 3.0;
    config
}

/// A folder for the run, and the root to keep.
fn place() -> (tempfile::TempDir, PathBuf) {
    let root = tempfile::tempdir().unwrap();
    let folder = root.path().join("run");
    (root, folder)
}

fn begin(fault: Fault, folder: &Path) -> reynolds_train::Result<Outcome> {
    logistic::begin(fault, &config(), folder)
}

fn finish(folder: &Path) {
    let outcome = go_on(Fault::None, folder).unwrap();
    assert!(outcome.summary().is_some(), "{outcome:?}");
}

/// Everything that must not depend on where a run was stopped, byte for byte. Checkpoints name the lengths of files with wall-clock times,
/// so they are compared without their header.
fn remains(folder: &Path) -> BTreeMap<&'static str, Vec<u8>> {
    let files = ["config.toml", "metrics.jsonl", "summary.json", "figure.txt"];
    let mut files = BTreeMap::from(files.map(|name| (name, fs::read(folder.join(name)).unwrap())));
    for name in ["checkpoints/last.safetensors", "checkpoints/best.safetensors"] {
        let bytes = fs::read(folder.join(name)).unwrap();
        let header = u64::from_le_bytes(bytes[..8].try_into().unwrap()) as usize;
        files.insert(name, bytes[8 + header..].to_vec());
    }
    files
}

fn uninterrupted() -> BTreeMap<&'static str, Vec<u8>> {
    let (_root, folder) = place();
    let outcome = begin(Fault::None, &folder).unwrap();
    assert!(outcome.summary().is_some_and(|summary| summary.stopped_early && summary.epochs == 5), "{outcome:?}");
    remains(&folder)
}

/// Killed at each of these minibatches, and interrupted there, a run goes on to the same bytes as one that was not.
fn goes_on_from_every_minibatch(config: &Config, minibatches: usize, expected: &BTreeMap<&'static str, Vec<u8>>) {
    let start = |fault: Fault, folder: &Path| logistic::begin(fault, config, folder);
    for at in 0..minibatches {
        let (_root, folder) = place();
        assert!(start(Fault::Killed(at), &folder).is_err());
        // Killed again while it goes on, a few minibatches later, and again.
        let _ = go_on(Fault::Killed(at % 3), &folder);
        let _ = go_on(Fault::Killed(at % 5), &folder);
        finish(&folder);
        assert_eq!(&remains(&folder), expected, "killed at minibatch {at}: {:?}", config.penalty);

        let (_root, folder) = place();
        let outcome = start(Fault::Interrupted(at, Interrupt::new()), &folder).unwrap();
        assert_eq!(outcome, Outcome::Interrupted { folder: folder.clone(), epoch: at / 4 });
        assert!(folder.join("checkpoints/last.safetensors").is_file() && !folder.join("summary.json").exists());
        // The same command again goes on as well as --resume does.
        let again = if at % 2 == 0 { start(Fault::None, &folder) } else { go_on(Fault::None, &folder) };
        assert!(matches!(again.unwrap(), Outcome::Finished { .. }));
        assert_eq!(&remains(&folder), expected, "interrupted at minibatch {at}: {:?}", config.penalty);
    }
}

#[test]
fn stopped_at_every_minibatch_a_run_goes_on_to_the_same_bytes() {
    goes_on_from_every_minibatch(&config(), MINIBATCHES, &uninterrupted());
}

#[test]
fn stopped_in_every_evaluation_a_run_goes_on_to_the_same_bytes() {
    let expected = uninterrupted();
    // That of the metric's name, one after each epoch, those of the selected weights and that of `finish`.
    let mut evaluations = 0;
    loop {
        let (_root, folder) = place();
        let outcome = begin(Fault::Evaluating(evaluations, Interrupt::new()), &folder).unwrap();
        let stopped = matches!(outcome, Outcome::Interrupted { .. });
        assert!(stopped != folder.join("summary.json").exists() && folder.join("config.toml").is_file());
        finish(&folder);
        assert_eq!(remains(&folder), expected, "interrupted in evaluation {evaluations}");
        if !stopped {
            break;
        }
        evaluations += 1;
    }
    assert!(evaluations > 1 + 5 + 1, "{evaluations}");
}

#[test]
fn weights_that_change_after_the_optimisers_step_go_on_to_the_same_bytes() {
    type Edit = fn(&mut PenaltySettings);
    let cases: [(Edit, &str); 4] = [
        (|_| (), "\"residual\":"),
        (
            |penalty| (penalty.form, penalty.lambda_perp) = (Form::Plain, 50.0),
            "\"exact_since\": {\n    \"weight\": 2\n",
        ),
        (|penalty| (penalty.target, penalty.lambda_perp) = (Some(0.2), 0.0), "\"weight/lambda_perp\":"),
        (
            |penalty| (penalty.target, penalty.lambda_perp, penalty.target_by) = (Some(0.2), 0.0, TargetBy::Dual),
            "\"weight/lambda_perp\":",
        ),
    ];
    for (edit, recorded) in cases {
        let mut config = config();
        (config.train.epochs, config.penalty.step) = (3, PenaltyStep::Decoupled);
        edit(&mut config.penalty);
        if config.penalty.has_target() {
            config.penalty.anneal = Anneal::default();
        }
        let (_root, folder) = place();
        logistic::begin(Fault::None, &config, &folder).unwrap();
        let expected = remains(&folder);
        let text = ["metrics.jsonl", "summary.json"].map(|file| String::from_utf8_lossy(&expected[file]).into_owned());
        assert!(text.concat().contains(recorded), "{recorded} in {text:?}");
        goes_on_from_every_minibatch(&config, 12, &expected);
    }
}

#[test]
fn a_torn_last_line_and_a_torn_temporary_file_are_forgotten() {
    let (_root, folder) = place();
    assert!(begin(Fault::Killed(15), &folder).is_err());
    let metrics = folder.join("metrics.jsonl");
    let text = fs::read_to_string(&metrics).unwrap() + "{\"epoch\":4,\"st";
    fs::write(&metrics, text).unwrap();
    fs::write(folder.join("checkpoints/.last.safetensors.tmp"), b"half").unwrap();
    fs::remove_file(folder.join("events.out.tfevents.reynolds")).unwrap();
    finish(&folder);
    assert_eq!(remains(&folder), uninterrupted());
    // The event file was written anew: header, then a record for each of five epochs.
    let events = fs::read(folder.join("events.out.tfevents.reynolds")).unwrap();
    let (mut at, mut records) = (0, 0);
    while at < events.len() {
        at += 16 + u64::from_le_bytes(events[at..at + 8].try_into().unwrap()) as usize;
        records += 1;
    }
    assert_eq!((at, records), (events.len(), 6));
}

#[test]
fn in_place_of_a_damaged_checkpoint_a_run_goes_on_from_the_one_before_it_to_the_same_bytes() {
    type Damage = fn(&[u8]) -> Vec<u8>;
    let expected = uninterrupted();
    let damages: [Damage; 5] = [
        |_| Vec::new(),
        |whole| whole[..whole.len() / 2].to_vec(),
        |whole| [&whole[..whole.len() - 9], &[whole[whole.len() - 9] ^ 4], &whole[whole.len() - 8..]].concat(),
        |whole| String::from_utf8_lossy(whole).replacen("steps", "stops", 1).into_bytes(),
        |_| b"{}".to_vec(),
    ];
    // Killed in the fifth epoch, after the checkpoints of the second and the fourth.
    let killed = || {
        let (root, folder) = place();
        assert!(begin(Fault::Killed(17), &folder).is_err());
        let [last, previous] = ["last", "previous"].map(|name| folder.join(format!("checkpoints/{name}.safetensors")));
        (root, folder, last, previous)
    };
    for (number, damage) in damages.iter().map(Some).chain([None]).enumerate() {
        for again in [0, 3, 9] {
            let (_root, folder, last, previous) = killed();
            match damage {
                Some(damage) => fs::write(&last, damage(&fs::read(&last).unwrap())).unwrap(),
                None => fs::remove_file(&last).unwrap(),
            }
            assert!(go_on(Fault::Killed(again), &folder).is_err());
            finish(&folder);
            assert_eq!(remains(&folder), expected, "damage {number}, killed again at minibatch {again}");
            assert!(!previous.exists());
        }
        let (_root, folder, last, previous) = killed();
        let Some(damage) = damage else { continue };
        for file in [&last, &previous] {
            fs::write(file, damage(&fs::read(file).unwrap())).unwrap();
        }
        let message = go_on(Fault::None, &folder).unwrap_err().to_string();
        assert!(message.contains("last.safetensors: expected "), "{message}");
        assert!(message.ends_with("; without this file the run starts from the beginning"), "{message}");
        assert!(last.exists() && previous.exists());
    }
}

#[test]
fn killed_before_the_first_checkpoint_a_run_begins_again() {
    let (_root, folder) = place();
    assert!(begin(Fault::Killed(5), &folder).is_err());
    assert!(!folder.join("checkpoints/last.safetensors").exists());
    assert_eq!(fs::read_to_string(folder.join("metrics.jsonl")).unwrap().lines().count(), 1);
    finish(&folder);
    assert_eq!(remains(&folder), uninterrupted());
}

#[test]
fn a_finished_run_is_left_alone_and_one_without_a_summary_is_finished_without_a_step() {
    let (_root, folder) = place();
    let first = begin(Fault::None, &folder).unwrap();
    let everything = || {
        let files = ["environment.json", "timing.jsonl", "events.out.tfevents.reynolds", "summary.json"];
        (files.map(|name| fs::read(folder.join(name)).unwrap()), remains(&folder))
    };
    let before = everything();
    let again = go_on(Fault::None, &folder).unwrap();
    assert!(matches!(&again, Outcome::AlreadyFinished { .. }), "{again:?}");
    assert_eq!((again.summary(), everything()), (first.summary(), before.clone()));
    // Killed after the last step. The fault at the first minibatch is never met: a run that was stopped early stays stopped.
    fs::remove_file(folder.join("summary.json")).unwrap();
    fs::remove_file(folder.join("figure.txt")).unwrap();
    assert!(matches!(go_on(Fault::Killed(0), &folder).unwrap(), Outcome::Finished { .. }));
    assert_eq!(remains(&folder), before.1);
}

#[test]
fn the_best_weights_are_tested_and_saved_with_the_statistics_of_their_moment() {
    let (_root, folder) = place();
    let outcome = begin(Fault::None, &folder).unwrap();
    let summary = outcome.summary().unwrap();
    assert_eq!(summary.best.unwrap().epoch, 1);
    let text = fs::read_to_string(folder.join("metrics.jsonl")).unwrap();
    let record: serde_json::Value = serde_json::from_str(text.lines().next().unwrap()).unwrap();
    assert_eq!(summary.best_metrics["validation/seen"], record["validation/seen"].as_f64().unwrap());
    assert_ne!(summary.best_metrics["test/seen"], summary.last_metrics["test/seen"]);
    let bytes = fs::read(folder.join("checkpoints/last.safetensors")).unwrap();
    let tensors = safetensors::SafeTensors::deserialize(&bytes).unwrap();
    assert_ne!(tensors.tensor("seen").unwrap().data(), tensors.tensor("optimizer.best_weights.seen").unwrap().data());
}

#[test]
fn a_run_of_other_settings_is_refused_by_key() {
    let (_root, folder) = place();
    assert!(begin(Fault::Killed(0), &folder).is_err());
    let other = Config { seed: 5, ..config() };
    let error = logistic::begin(Fault::None, &other, &folder).unwrap_err();
    assert!(error.to_string().ends_with("config.toml: seed: expected 5, as asked for, found 11"), "{error}");
}
