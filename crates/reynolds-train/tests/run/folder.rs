//! Folders that are not what they should be: a clear message, and nothing lost.

use std::path::{Path, PathBuf};

use reynolds_train::experiment::Experiment;
use reynolds_train::interrupt::Interrupt;
use reynolds_train::progress::Silent;
use reynolds_train::run::{Outcome, Place, resume, run};
use reynolds_train::run_folder::{self, RunFolder};

use crate::logistic::{Fault, Logistic, session};

/// A run of five epochs that was killed in the fourth, with a checkpoint after the second; and the root to keep.
fn killed() -> (tempfile::TempDir, PathBuf) {
    let root = tempfile::tempdir().unwrap();
    let folder = root.path().join("run");
    let experiment = Logistic { fault: Fault::Killed(13) };
    let place = Place::Exactly(folder.clone());
    let ending = run(&experiment, &experiment.defaults(), &place, session(&mut Silent, &Interrupt::new()));
    assert!(ending.is_err());
    (root, folder)
}

fn go_on(folder: &Path) -> Result<Outcome, String> {
    let interrupt = Interrupt::new();
    resume(&Logistic::default(), folder, session(&mut Silent, &interrupt)).map_err(|error| error.to_string())
}

fn last(folder: &Path) -> PathBuf {
    folder.join("checkpoints/last.safetensors")
}

/// Resuming fails with this in its message and leaves checkpoint and metrics as they are.
fn refused(folder: &Path, part: &str) {
    let files = [last(folder), folder.join("metrics.jsonl"), folder.join("config.toml")];
    let before = files.each_ref().map(|file| std::fs::read(file).ok());
    let message = go_on(folder).unwrap_err();
    assert!(message.contains(part), "{message}");
    assert_eq!(files.each_ref().map(|file| std::fs::read(file).ok()), before);
}

#[test]
fn a_new_run_leaves_the_documented_files() {
    let root = tempfile::tempdir().unwrap();
    let experiment = Logistic::default();
    let place = Place::Under(root.path().into());
    let outcome = run(&experiment, &experiment.defaults(), &place, session(&mut Silent, &Interrupt::new())).unwrap();
    let folder = outcome.folder();
    assert_eq!(folder.parent().unwrap(), root.path().join("logistic"));
    let mut names: Vec<_> =
        std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    let expected = [
        "checkpoints",
        "config.toml",
        "environment.json",
        "events.out.tfevents.reynolds",
        "figure.txt",
        "lock",
        "metrics.jsonl",
        "report.html",
        "summary.json",
        "timing.jsonl",
    ];
    assert_eq!(names, expected);
    assert_eq!(run_folder::experiment(folder).unwrap(), "logistic");
    assert_eq!(run_folder::summary(folder).unwrap().as_ref(), outcome.summary());
    let environment = std::fs::read_to_string(folder.join("environment.json")).unwrap();
    for part in
        ["\"reynolds\": \"0.1.0\"", "\"tch\": \"0.24.0\"", "\"libtorch\": \"2.", "\"rustc\": \"rustc 1.", "\"cpu\""]
    {
        assert!(environment.contains(part), "{part} in {environment}");
    }
    // Parameters stand in the checkpoint under their own names.
    let best = std::fs::read(folder.join("checkpoints/best.safetensors")).unwrap();
    let best = safetensors::SafeTensors::deserialize(&best).unwrap();
    let mut tensors = best.names();
    tensors.sort();
    assert_eq!(tensors, ["bias", "phase", "weight"]);
    assert_eq!(best.tensor("phase").unwrap().dtype(), safetensors::Dtype::C64);
    assert_eq!(best.tensor("weight").unwrap().shape(), [1, 2]);
}

#[test]
fn a_folder_that_another_process_writes_is_refused() {
    let (_root, folder) = killed();
    let held = RunFolder::at(&folder).unwrap();
    refused(&folder, "found another process that is writing it");
    drop(held);
    assert!(go_on(&folder).is_ok());
}

#[test]
fn a_damaged_checkpoint_is_refused() {
    let (_root, folder) = killed();
    let good = std::fs::read(last(&folder)).unwrap();
    let header = u64::from_le_bytes(good[..8].try_into().unwrap()) as usize;
    for length in [0, 7, 100, 8 + header, good.len() - 1] {
        std::fs::write(last(&folder), &good[..length]).unwrap();
        refused(&folder, "last.safetensors: expected a whole checkpoint, found ");
    }
    for at in [8 + header, good.len() - 1] {
        let mut flipped = good.clone();
        flipped[at] ^= 0x40;
        std::fs::write(last(&folder), &flipped).unwrap();
        refused(&folder, "last.safetensors: expected a whole checkpoint, found checksum ");
    }
    std::fs::write(last(&folder), &good).unwrap();
    assert!(go_on(&folder).is_ok());
}

#[test]
fn a_checkpoint_that_says_another_moment_is_refused() {
    let (_root, folder) = killed();
    let good = std::fs::read(last(&folder)).unwrap();
    // The header's JSON holds the label's JSON as a text; a digit for a digit keeps the header whole.
    for (from, to) in [(r#"\"epoch\":2"#, r#"\"epoch\":3"#), (r#"\"steps\":8"#, r#"\"steps\":9"#)] {
        let at = good.windows(from.len()).position(|window| window == from.as_bytes()).unwrap();
        let mut edited = good.clone();
        edited[at..at + to.len()].copy_from_slice(to.as_bytes());
        std::fs::write(last(&folder), &edited).unwrap();
        refused(&folder, "last.safetensors: expected a whole checkpoint, found checksum ");
    }
    std::fs::write(last(&folder), &good).unwrap();
    assert!(go_on(&folder).is_ok());
}

#[test]
fn metrics_that_were_edited_are_refused() {
    let (_root, folder) = killed();
    let file = folder.join("metrics.jsonl");
    let good = std::fs::read_to_string(&file).unwrap();
    std::fs::write(&file, good.replacen("\"epoch\":1", "\"epoch\":7", 1)).unwrap();
    refused(&folder, "metrics.jsonl: expected the records that the checkpoint was made after, found checksum ");
    // What was recorded after the checkpoint is cut and recorded again.
    std::fs::write(&file, good.replacen("\"epoch\":3", "\"epoch\":7", 1)).unwrap();
    assert!(go_on(&folder).is_ok());
}

#[test]
fn changed_settings_are_refused_by_key() {
    let (_root, folder) = killed();
    let file = folder.join("config.toml");
    let text = std::fs::read_to_string(&file).unwrap();
    std::fs::write(&file, text.replace("epochs = 5", "epochs = 6")).unwrap();
    refused(&folder, "last.safetensors: expected a checkpoint made with train.epochs = 6, as in config.toml, found 5");
    std::fs::write(&file, text.replace("epochs = 5", "epoch = 5")).unwrap();
    refused(&folder, "config.toml: unknown key \"train.epoch\": did you mean \"train.epochs\"?");
    std::fs::write(&file, text.replace("\"logistic\"", "\"rings\"")).unwrap();
    refused(&folder, "config.toml: experiment: expected \"logistic\", found \"rings\"");
}

#[test]
fn other_settings_for_the_same_folder_are_refused_by_key() {
    let (_root, folder) = killed();
    let experiment = Logistic::default();
    let mut config = experiment.defaults();
    config.seed = 5;
    let place = Place::Exactly(folder.clone());
    let error = run(&experiment, &config, &place, session(&mut Silent, &Interrupt::new())).unwrap_err();
    assert!(error.to_string().ends_with("config.toml: seed: expected 5, as asked for, found 0"), "{error}");
}

#[test]
fn a_checkpoint_of_another_version_is_refused() {
    let (_root, folder) = killed();
    let bytes = std::fs::read(last(&folder)).unwrap();
    // The header's JSON holds the label's JSON as a text: same length, other version.
    let (from, to) = (br#"{\"version\":\"0.1.0\""#, br#"{\"version\":\"9.1.0\""#);
    let at = bytes.windows(from.len()).position(|window| window == from).unwrap();
    let mut other = bytes.clone();
    other[at..at + to.len()].copy_from_slice(to);
    std::fs::write(last(&folder), other).unwrap();
    refused(&folder, "expected a checkpoint of version 0.1.0, found 9.1.0");
    std::fs::write(last(&folder), bytes).unwrap();
    let file = folder.join("environment.json");
    let text = std::fs::read_to_string(&file).unwrap().replace("\"reynolds\": \"0.1.0\"", "\"reynolds\": \"9.1.0\"");
    std::fs::write(&file, text).unwrap();
    refused(&folder, "environment.json: expected a run of version 0.1.0, found 9.1.0");
}

#[test]
fn tensors_that_do_not_fit_are_refused_by_name() {
    let (_root, folder) = killed();
    let good = std::fs::read(last(&folder)).unwrap();
    // Names of equal length keep the header whole.
    let renamed = |from: &str, to: &str| {
        let text = |text: &str| format!("\"{text}\":{{\"dtype\"").into_bytes();
        let (from, to) = (text(from), text(to));
        let at = good.windows(from.len()).position(|window| window == from).unwrap();
        let mut bytes = good.clone();
        bytes[at..at + to.len()].copy_from_slice(&to);
        bytes
    };
    std::fs::write(last(&folder), renamed("weight", "heavy1")).unwrap();
    refused(&folder, "expected tensor \"weight\" of F32 [1, 2], found none of that name");
    let bytes = renamed("weight", "weight");
    let at = bytes.windows(5).position(|window| window == b"[1,2]").unwrap();
    let mut turned = bytes.clone();
    turned[at..at + 5].copy_from_slice(b"[2,1]");
    std::fs::write(last(&folder), turned).unwrap();
    refused(&folder, "of F32 [1, 2], found F32 [2, 1]");
}

#[test]
fn metrics_shorter_than_the_checkpoint_knows_are_refused() {
    let (_root, folder) = killed();
    std::fs::write(folder.join("metrics.jsonl"), "").unwrap();
    refused(&folder, "metrics.jsonl: expected at least ");
}

#[test]
fn a_number_that_is_none_keeps_the_last_good_checkpoint() {
    let root = tempfile::tempdir().unwrap();
    let folder = root.path().join("run");
    for fault in [Fault::NotANumber(13), Fault::Infinite(15)] {
        let experiment = Logistic { fault };
        let place = Place::Exactly(folder.clone());
        let error =
            run(&experiment, &experiment.defaults(), &place, session(&mut Silent, &Interrupt::new())).unwrap_err();
        let message = error.to_string();
        assert!(message.starts_with("epoch 4: "), "{message}");
        assert!(message.ends_with(&format!("the last good checkpoint is {}, after epoch 2", last(&folder).display())));
        // It is good: the run goes on from there, and past the fault.
        let outcome = go_on(&folder).unwrap();
        assert_eq!(outcome.summary().unwrap().epochs, 5);
        std::fs::remove_dir_all(&folder).unwrap();
    }
}

#[test]
fn an_interrupt_after_a_number_that_is_none_does_not_save_it() {
    let (_root, folder) = killed();
    let before = std::fs::read(last(&folder)).unwrap();
    let interrupt = Interrupt::new();
    interrupt.request();
    let experiment = Logistic { fault: Fault::NotANumber(0) };
    let error = resume(&experiment, &folder, session(&mut Silent, &interrupt)).unwrap_err();
    assert!(error.to_string().starts_with("epoch 3: the loss is not finite"), "{error}");
    assert_eq!(std::fs::read(last(&folder)).unwrap(), before);
}

#[cfg(unix)]
#[test]
fn a_place_that_cannot_be_written_is_named() {
    // A file where a folder should be: refused for every user, root included.
    let root = tempfile::tempdir().unwrap();
    std::fs::write(root.path().join("logistic"), b"").unwrap();
    let experiment = Logistic::default();
    let place = Place::Under(root.path().into());
    let error = run(&experiment, &experiment.defaults(), &place, session(&mut Silent, &Interrupt::new())).unwrap_err();
    assert!(error.to_string().contains("logistic: cannot create: "), "{error}");
}
