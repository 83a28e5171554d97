//! The program, a small experiment, and folders compared byte by byte.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

/// So few points that an epoch takes a few milliseconds, one thread so that sums are the same to the last bit, and best weights.
#[rustfmt::skip]
pub(crate) const SMALL: &[&str] = &[
    "--set", "data.points=24",
    "--set", "data.turns=4",
    "--set", "model.so2.hidden_channels=2",
    "--set", "train.threads=1",
    "--set", "train.early_stopping.metric=loss",
];

/// A run of the program in `folder`, with nothing of the environment that would colour or lengthen what it says.
pub(crate) fn command(folder: &Path, arguments: &[&str]) -> Command {
    let mut command = Command::new(assert_cmd::cargo::cargo_bin("reynolds-paper"));
    command.args(arguments).current_dir(folder).stdin(Stdio::null());
    let proxies = ["http_proxy", "HTTP_PROXY", "https_proxy", "HTTPS_PROXY", "all_proxy", "ALL_PROXY"];
    for name in proxies.into_iter().chain(["RUST_BACKTRACE", "REYNOLDS_DATA"]) {
        command.env_remove(name);
    }
    command
}

/// Exit code, standard output, standard error.
pub(crate) fn reynolds(folder: &Path, arguments: &[&str]) -> (i32, String, String) {
    let output = command(folder, arguments).output().unwrap();
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
    (output.status.code().unwrap(), text(output.stdout), text(output.stderr))
}

/// Runs it and demands that it does what it was asked for.
pub(crate) fn done(folder: &Path, arguments: &[&str]) -> String {
    let (code, out, error) = reynolds(folder, arguments);
    assert_eq!(code, 0, "{arguments:?}: {out}{error}");
    out
}

/// Runs it and demands exit code 2, a message of one line that holds every needle, and that no file changed.
pub(crate) fn refused(folder: &Path, arguments: &[&str], needles: &[&str]) {
    let before = contents(folder);
    let (code, out, error) = reynolds(folder, arguments);
    assert_eq!(code, 2, "{arguments:?}: {out}{error}");
    for needle in needles {
        assert!(error.contains(needle), "{arguments:?}: no \"{needle}\" in: {error}");
    }
    assert!(!error.contains("panicked") && !error.contains("fault of reynolds"), "{error}");
    assert!(!error.contains("Exception raised from"), "libtorch's stack: {error}");
    let after = contents(folder);
    let changed: Vec<_> = before.keys().chain(after.keys()).filter(|key| before.get(*key) != after.get(*key)).collect();
    assert!(changed.is_empty(), "{arguments:?} changed {changed:?}");
}

/// A child whose output nobody reads.
pub(crate) fn started(folder: &Path, arguments: &[&str]) -> Child {
    command(folder, arguments).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap()
}

/// Every file below a folder, by its path there.
pub(crate) fn contents(folder: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let mut found = BTreeMap::new();
    let mut folders = vec![folder.to_path_buf()];
    while let Some(next) = folders.pop() {
        for entry in fs::read_dir(&next).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path.clone());
                found.insert(path, Vec::new());
            } else {
                found.insert(path.clone(), fs::read(&path).unwrap());
            }
        }
    }
    found
}

/// What two finished runs of the same settings must have in common to the last byte.
pub(crate) fn assert_same_run(one: &Path, other: &Path) {
    let files = [
        "config.toml",
        "metrics.jsonl",
        "checkpoints/last.safetensors",
        "checkpoints/best.safetensors",
        "summary.json",
    ];
    for name in files {
        let [a, b] = [one, other].map(|folder| fs::read(folder.join(name)).unwrap_or_else(|e| panic!("{name}: {e}")));
        assert!(a == b, "{name} differs between {} and {}", one.display(), other.display());
    }
}

/// The one run folder below `runs/EXPERIMENT`.
pub(crate) fn only_run(runs: &Path, experiment: &str) -> PathBuf {
    let mut folders: Vec<PathBuf> = fs::read_dir(runs.join(experiment)).unwrap().map(|e| e.unwrap().path()).collect();
    assert_eq!(folders.len(), 1, "{folders:?}");
    folders.remove(0)
}
