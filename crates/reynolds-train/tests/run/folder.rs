//! Damaged and locked folders: a clear message, and nothing lost.

use std::fs;
use std::path::{Path, PathBuf};

use reynolds_torch::tch::Device;
use reynolds_train::experiment::Experiment;
use reynolds_train::interrupt::Interrupt;
use reynolds_train::metrics::Summary;
use reynolds_train::progress::Silent;
use reynolds_train::run::{Outcome, OutputFolder, resume, run};
use reynolds_train::run_folder::{self, RunFolder};

use crate::logistic::{Fault, Logistic, begin, go_on, session};

const LAST: &str = "checkpoints/last.safetensors";

/// A run of five epochs that was killed in the fourth, with a checkpoint after the second; and the root to keep.
fn killed() -> (tempfile::TempDir, PathBuf) {
    let root = tempfile::tempdir().unwrap();
    let folder = root.path().join("run");
    assert!(begin(Fault::Killed(13), &Logistic::default().defaults(), &folder).is_err());
    (root, folder)
}

/// Resuming fails with this in its message and leaves checkpoint and metrics as they are.
fn refused(folder: &Path, part: &str) {
    let files = || [LAST, "metrics.jsonl", "config.toml"].map(|file| fs::read(folder.join(file)).ok());
    let before = files();
    let message = go_on(Fault::None, folder).unwrap_err().to_string();
    assert!(message.contains(part), "expected {part:?}, found {message:?}");
    assert_eq!(files(), before);
}

/// The default experiment in a new folder under a root.
fn under(root: &Path) -> reynolds_train::Result<Outcome> {
    let (experiment, folder) = (Logistic::default(), OutputFolder::Under(root.into()));
    run(&experiment, &experiment.defaults(), &folder, session(&mut Silent, Device::Cpu, &Interrupt::new()))
}

#[test]
fn a_new_run_leaves_the_documented_files() {
    let root = tempfile::tempdir().unwrap();
    let outcome = under(root.path()).unwrap();
    let folder = outcome.folder();
    assert_eq!(folder.parent().unwrap(), root.path().join("logistic"));
    let entries = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap());
    let mut names: Vec<_> = entries.collect();
    names.sort();
    let expected = "checkpoints config.toml environment.json events.out.tfevents.reynolds figure.txt lock \
                    metrics.jsonl report.html summary.json timing.jsonl";
    assert_eq!(names.join(" "), expected);
    assert_eq!(run_folder::experiment(folder).unwrap(), "logistic");
    assert_eq!(run_folder::summary::<Summary>(folder).unwrap().as_ref(), outcome.summary());
    let environment = fs::read_to_string(folder.join("environment.json")).unwrap();
    for part in
        ["\"reynolds\": \"0.1.0\"", "\"tch\": \"0.24.0\"", "\"libtorch\": \"2.", "\"rustc\": \"rustc 1.", "\"cpu\""]
    {
        assert!(environment.contains(part), "{part} in {environment}");
    }
    // Parameters and statistics stand in the checkpoint under their own names.
    let best = fs::read(folder.join("checkpoints/best.safetensors")).unwrap();
    let best = safetensors::SafeTensors::deserialize(&best).unwrap();
    let mut tensors = best.names();
    tensors.sort();
    assert_eq!(tensors, ["bias", "phase", "seen", "weight"]);
    assert_eq!(best.tensor("phase").unwrap().dtype(), safetensors::Dtype::C64);
    assert_eq!(best.tensor("weight").unwrap().shape(), [1, 2]);
}

#[test]
fn a_folder_that_another_process_writes_is_refused() {
    let (_root, folder) = killed();
    let held = RunFolder::at(&folder).unwrap();
    refused(&folder, "found one locked by another process");
    drop(held);
    assert!(go_on(Fault::None, &folder).is_ok());
}

/// Damage to a file.
enum Damage {
    /// Only this many bytes are left.
    Cut(usize),
    /// This many bytes are missing at the end.
    Short(usize),
    /// A flipped bit in the byte at this place, counted from the end of a checkpoint's header.
    Flipped(usize),
    /// The first text is replaced by the second; of equal length in a checkpoint, whose header holds its label as an escaped text.
    Replaced(&'static str, &'static str),
}

impl Damage {
    fn to(&self, good: &[u8]) -> Vec<u8> {
        let mut bytes = good.to_vec();
        match *self {
            Self::Cut(length) => bytes.truncate(length),
            Self::Short(missing) => bytes.truncate(good.len() - missing),
            Self::Flipped(at) => bytes[8 + u64::from_le_bytes(good[..8].try_into().unwrap()) as usize + at] ^= 0x40,
            Self::Replaced(from, to) => {
                let at = good.windows(from.len()).position(|window| window == from.as_bytes()).unwrap();
                bytes.splice(at..at + from.len(), to.bytes());
            }
        }
        bytes
    }
}

#[test]
fn damaged_files_are_refused_and_kept() {
    use Damage::{Cut, Flipped, Replaced, Short};
    let (_root, folder) = killed();
    let (whole, sum) =
        ("last.safetensors: expected a whole checkpoint, found ", "expected a whole checkpoint, found checksum ");
    let cases = [
        (LAST, Cut(0), whole),
        (LAST, Cut(7), whole),
        (LAST, Cut(100), whole),
        (LAST, Short(1), whole),
        (LAST, Flipped(0), sum),
        (LAST, Flipped(30), sum),
        (LAST, Replaced(r#"\"epoch\":2"#, r#"\"epoch\":3"#), sum),
        (LAST, Replaced(r#"\"steps\":8"#, r#"\"steps\":9"#), sum),
        (
            LAST,
            Replaced(r#"{\"version\":\"0.1.0\""#, r#"{\"version\":\"9.1.0\""#),
            "expected a checkpoint of version 0.1.0, found 9.1.0",
        ),
        (
            LAST,
            Replaced("\"weight\":{\"dtype\"", "\"heavy1\":{\"dtype\""),
            "expected tensor \"weight\" of F32 [1, 2], found none of that name",
        ),
        (LAST, Replaced("[1,2]", "[2,1]"), "of F32 [1, 2], found F32 [2, 1]"),
        ("metrics.jsonl", Cut(0), "metrics.jsonl: expected at least "),
        (
            "metrics.jsonl",
            Replaced("\"epoch\":1", "\"epoch\":7"),
            "metrics.jsonl: expected the records that the checkpoint was made after, found checksum ",
        ),
        (
            "config.toml",
            Replaced("epochs = 5", "epochs = 6"),
            "last.safetensors: expected a checkpoint made with train.epochs = 6, as in config.toml, found 5",
        ),
        (
            "config.toml",
            Replaced("epochs = 5", "epoch = 5"),
            "config.toml: unknown key \"train.epoch\": did you mean \"train.epochs\"?",
        ),
        (
            "config.toml",
            Replaced("\"logistic\"", "\"rings\""),
            "config.toml: experiment: expected \"logistic\", found \"rings\"",
        ),
        (
            "environment.json",
            Replaced("\"reynolds\": \"0.1.0\"", "\"reynolds\": \"9.1.0\""),
            "environment.json: expected a run of version 0.1.0, found 9.1.0",
        ),
    ];
    for (name, damage, message) in cases {
        let file = folder.join(name);
        let good = fs::read(&file).unwrap();
        fs::write(&file, damage.to(&good)).unwrap();
        refused(&folder, message);
        fs::write(&file, good).unwrap();
    }
    // What was recorded after the checkpoint is cut and recorded again.
    let file = folder.join("metrics.jsonl");
    fs::write(&file, Replaced("\"epoch\":3", "\"epoch\":7").to(&fs::read(&file).unwrap())).unwrap();
    assert!(go_on(Fault::None, &folder).is_ok());
}

#[test]
fn a_non_finite_number_keeps_the_last_good_checkpoint() {
    for fault in [Fault::NotANumber(13), Fault::Infinite(15)] {
        let root = tempfile::tempdir().unwrap();
        let folder = root.path().join("run");
        let message = begin(fault, &Logistic::default().defaults(), &folder).unwrap_err().to_string();
        assert!(message.starts_with("epoch 4: "), "{message}");
        let kept = format!("the last good checkpoint is {}, after epoch 2", folder.join(LAST).display());
        assert!(message.ends_with(&kept), "{message}");
        // It is good: the run goes on from there, and past the fault.
        assert_eq!(go_on(Fault::None, &folder).unwrap().summary().unwrap().epochs, 5);
    }
}

#[test]
fn an_interrupt_does_not_save_non_finite_numbers() {
    let (_root, folder) = killed();
    let before = fs::read(folder.join(LAST)).unwrap();
    let interrupt = Interrupt::new();
    interrupt.request();
    let experiment = Logistic { fault: Fault::NotANumber(0) };
    let error = resume(&experiment, &folder, session(&mut Silent, Device::Cpu, &interrupt)).unwrap_err();
    assert!(error.to_string().starts_with("epoch 3: the loss is not finite"), "{error}");
    assert_eq!(fs::read(folder.join(LAST)).unwrap(), before);
}

#[cfg(unix)]
#[test]
fn a_place_that_cannot_be_written_is_named() {
    // A file where a folder should be: refused for every user, root included.
    let root = tempfile::tempdir().unwrap();
    fs::write(root.path().join("logistic"), b"").unwrap();
    let error = under(root.path()).unwrap_err();
    assert!(error.to_string().contains("logistic: cannot create: "), "{error}");
}
