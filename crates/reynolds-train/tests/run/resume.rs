//! A run that was stopped at any step goes on as if it had not been.

use std::collections::BTreeMap;
use std::path::Path;

use reynolds_train::config::RunConfig;
use reynolds_train::experiment::Experiment;
use reynolds_train::interrupt::Interrupt;
use reynolds_train::progress::Silent;
use reynolds_train::run::{Outcome, Place, resume, run};

use crate::logistic::{Fault, Logistic, LogisticSettings, session};

/// Minibatches of the run below.
const MINIBATCHES: usize = 6 * 4;

fn config() -> RunConfig<LogisticSettings> {
    let mut config = Logistic::default().defaults();
    config.seed = 11;
    config.train.epochs = 6;
    config.train.accumulate = 2;
    config.train.checkpoint_every = 2;
    config.train.clip = 0.5;
    config.train.schedule.shape = reynolds_train::schedule::Shape::Cosine;
    config.train.schedule.warmup_steps = 5;
    config.penalty.lambda_perp = 0.01;
    config.penalty.anneal.shape = reynolds_torch::anneal::Shape::Cosine;
    config.penalty.anneal.epochs = 3.0;
    config
}

fn begin(fault: Fault, place: &Path) -> reynolds_train::Result<Outcome> {
    let interrupt = match &fault {
        Fault::Interrupted(_, interrupt) => interrupt.clone(),
        _ => Interrupt::new(),
    };
    let place = Place::Exactly(place.into());
    run(&Logistic { fault }, &config(), &place, session(&mut Silent, &interrupt))
}

fn go_on(fault: Fault, folder: &Path) -> reynolds_train::Result<Outcome> {
    let interrupt = match &fault {
        Fault::Interrupted(_, interrupt) => interrupt.clone(),
        _ => Interrupt::new(),
    };
    resume(&Logistic { fault }, folder, session(&mut Silent, &interrupt))
}

/// Everything that must not depend on where a run was stopped, byte for byte. Checkpoints name the lengths of files with wall-clock times,
/// so they are compared without their header.
fn remains(folder: &Path) -> BTreeMap<String, Vec<u8>> {
    let mut files = BTreeMap::new();
    for name in ["config.toml", "metrics.jsonl", "summary.json", "figure.txt"] {
        files.insert(name.to_string(), std::fs::read(folder.join(name)).unwrap());
    }
    for name in ["last", "best"] {
        let bytes = std::fs::read(folder.join(format!("checkpoints/{name}.safetensors"))).unwrap();
        let header = u64::from_le_bytes(bytes[..8].try_into().unwrap()) as usize;
        files.insert(name.into(), bytes[8 + header..].to_vec());
    }
    files
}

fn uninterrupted() -> BTreeMap<String, Vec<u8>> {
    let root = tempfile::tempdir().unwrap();
    let outcome = begin(Fault::None, &root.path().join("run")).unwrap();
    assert!(matches!(outcome, Outcome::Finished { .. }));
    remains(outcome.folder())
}

#[test]
fn killed_at_every_minibatch_a_run_goes_on_to_the_same_bytes() {
    let expected = uninterrupted();
    for at in 0..MINIBATCHES {
        let root = tempfile::tempdir().unwrap();
        let folder = root.path().join("run");
        assert!(begin(Fault::Killed(at), &folder).is_err());
        // Killed again while it goes on, a few minibatches later, and again.
        let _ = go_on(Fault::Killed(at % 3), &folder);
        let _ = go_on(Fault::Killed(at % 5), &folder);
        let outcome = go_on(Fault::None, &folder).unwrap();
        assert!(matches!(outcome, Outcome::Finished { .. }));
        assert_eq!(remains(&folder), expected, "killed at minibatch {at}");
    }
}

#[test]
fn interrupted_at_every_minibatch_a_run_saves_and_goes_on_to_the_same_bytes() {
    let expected = uninterrupted();
    for at in 0..MINIBATCHES {
        let root = tempfile::tempdir().unwrap();
        let folder = root.path().join("run");
        let outcome = begin(Fault::Interrupted(at, Interrupt::new()), &folder).unwrap();
        assert_eq!(outcome, Outcome::Interrupted { folder: folder.clone(), epoch: at / 4 });
        assert!(folder.join("checkpoints/last.safetensors").is_file() && !folder.join("summary.json").exists());
        // The same command again goes on as well as --resume does.
        let again = if at % 2 == 0 { begin(Fault::None, &folder) } else { go_on(Fault::None, &folder) };
        assert!(matches!(again.unwrap(), Outcome::Finished { .. }));
        assert_eq!(remains(&folder), expected, "interrupted at minibatch {at}");
    }
}

#[test]
fn a_torn_last_line_and_a_torn_temporary_file_are_forgotten() {
    let expected = uninterrupted();
    let root = tempfile::tempdir().unwrap();
    let folder = root.path().join("run");
    assert!(begin(Fault::Killed(15), &folder).is_err());
    let metrics = folder.join("metrics.jsonl");
    let mut text = std::fs::read_to_string(&metrics).unwrap();
    text.push_str("{\"epoch\":4,\"st");
    std::fs::write(&metrics, text).unwrap();
    std::fs::write(folder.join("checkpoints/.last.safetensors.tmp"), b"half").unwrap();
    std::fs::remove_file(folder.join("events.out.tfevents.reynolds")).unwrap();
    go_on(Fault::None, &folder).unwrap();
    assert_eq!(remains(&folder), expected);
    // The event file was written anew: header, then a record for each of six epochs.
    let events = std::fs::read(folder.join("events.out.tfevents.reynolds")).unwrap();
    let (mut at, mut records) = (0, 0);
    while at < events.len() {
        at += 16 + u64::from_le_bytes(events[at..at + 8].try_into().unwrap()) as usize;
        records += 1;
    }
    assert_eq!((at, records), (events.len(), 7));
}

#[test]
fn killed_before_the_first_checkpoint_a_run_begins_again() {
    let expected = uninterrupted();
    let root = tempfile::tempdir().unwrap();
    let folder = root.path().join("run");
    assert!(begin(Fault::Killed(5), &folder).is_err());
    assert!(!folder.join("checkpoints/last.safetensors").exists());
    assert_eq!(std::fs::read_to_string(folder.join("metrics.jsonl")).unwrap().lines().count(), 1);
    go_on(Fault::None, &folder).unwrap();
    assert_eq!(remains(&folder), expected);
}

#[test]
fn a_finished_run_is_left_alone() {
    let root = tempfile::tempdir().unwrap();
    let folder = root.path().join("run");
    let first = begin(Fault::None, &folder).unwrap();
    let everything = |folder: &Path| -> Vec<_> {
        let files = ["environment.json", "timing.jsonl", "events.out.tfevents.reynolds", "summary.json"];
        files.map(|name| std::fs::read(folder.join(name)).unwrap()).to_vec()
    };
    let before = (everything(&folder), remains(&folder));
    let again = go_on(Fault::None, &folder).unwrap();
    assert!(matches!(&again, Outcome::AlreadyFinished { .. }), "{again:?}");
    assert_eq!(again.summary(), first.summary());
    assert_eq!((everything(&folder), remains(&folder)), before);
}

#[test]
fn killed_between_the_last_step_and_the_summary_a_run_is_finished_by_resume() {
    let root = tempfile::tempdir().unwrap();
    let folder = root.path().join("run");
    begin(Fault::None, &folder).unwrap();
    let expected = remains(&folder);
    std::fs::remove_file(folder.join("summary.json")).unwrap();
    std::fs::remove_file(folder.join("figure.txt")).unwrap();
    // No step is left to take: the fault at the first minibatch is never met.
    assert!(matches!(go_on(Fault::Killed(0), &folder).unwrap(), Outcome::Finished { .. }));
    assert_eq!(remains(&folder), expected);
}

#[test]
fn a_run_stopped_early_stays_stopped() {
    let root = tempfile::tempdir().unwrap();
    let folder = root.path().join("run");
    let mut config = config();
    config.train.epochs = 400;
    config.train.learning_rate = 0.5;
    config.train.early_stopping.patience = 2;
    let place = Place::Exactly(folder.clone());
    let first = run(&Logistic::default(), &config, &place, session(&mut Silent, &Interrupt::new())).unwrap();
    assert!(first.summary().unwrap().stopped_early);
    std::fs::remove_file(folder.join("summary.json")).unwrap();
    let again = go_on(Fault::Killed(0), &folder).unwrap();
    assert_eq!(again.summary(), first.summary());
}
