//! `examples/own-experiment`, a cargo project outside the workspace, builds and does what its first lines say.

#![allow(clippy::unwrap_used, reason = "a failed set-up should fail the test")]

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The workspace's profiles, so that what the workspace has built is not built again; our own crates are unoptimised, as in the workspace
/// they are members, which `package."*"` leaves out.
fn profiles(root: &Path) -> String {
    let manifest: toml::Table = fs::read_to_string(root.join("Cargo.toml")).unwrap().parse().unwrap();
    let mut profile = manifest["profile"].clone();
    let packages = profile["dev"]["package"].as_table_mut().unwrap();
    for folder in fs::read_dir(root.join("crates")).unwrap() {
        let name = folder.unwrap().file_name().into_string().unwrap();
        packages.insert(name, toml::Table::from_iter([("opt-level".to_string(), 0.into())]).into());
    }
    toml::Table::from_iter([("profile".to_string(), profile)]).to_string()
}

/// A copy of the project below the workspace's target folder, with the workspace's Cargo.lock.
fn project(root: &Path) -> PathBuf {
    let copy = Path::new(env!("CARGO_TARGET_TMPDIR")).join("own-experiment");
    fs::create_dir_all(copy.join("src")).unwrap();
    let original = root.join("examples/own-experiment");
    for file in ["build.rs", "src/main.rs"] {
        write(&copy.join(file), &fs::read_to_string(original.join(file)).unwrap());
    }
    let manifest = fs::read_to_string(original.join("Cargo.toml")).unwrap();
    write(&copy.join("Cargo.toml"), &manifest.replace("../..", root.to_str().unwrap()));
    write(&copy.join("profiles.toml"), &profiles(root));
    // Cargo takes what the project does not need out of its own copy.
    let lock = fs::read_to_string(root.join("Cargo.lock")).unwrap();
    if write(&copy.join("workspace.lock"), &lock) {
        fs::write(copy.join("Cargo.lock"), lock).unwrap();
    }
    copy
}

/// Writes a file unless it is the same, so that nothing is built again for it; whether it was not.
fn write(file: &Path, text: &str) -> bool {
    let differs = fs::read_to_string(file).ok().as_deref() != Some(text);
    if differs {
        fs::write(file, text).unwrap();
    }
    differs
}

#[test]
fn a_project_outside_the_workspace_trains_its_own_experiment() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().unwrap();
    let project = project(&root);
    // target/tmp is in the target folder.
    let target = Path::new(env!("CARGO_TARGET_TMPDIR")).parent().unwrap();
    let runs = tempfile::tempdir().unwrap();
    let own = |arguments: &[&str]| {
        let mut cargo = Command::new(env!("CARGO"));
        cargo.args(["run", "--quiet", "--offline", "--config", "profiles.toml", "--target-dir"]).arg(target).arg("--");
        let output = cargo.args(arguments).current_dir(&project).output().unwrap();
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        let (out, error) = (text(&output.stdout), text(&output.stderr));
        assert!(output.status.success(), "{arguments:?}: {out}{error}");
        out
    };
    let list = own(&["run", "list"]);
    assert_eq!(list, "mine\n");
    let accuracy = |lambda: &str| -> f64 {
        let setting = format!("penalty.lambda_perp={lambda}");
        let place = runs.path().join(lambda);
        let out = own(&["run", "mine", "--set", &setting, "--runs", place.to_str().unwrap()]);
        let line = out.lines().find(|line| line.contains("test/accuracy")).unwrap_or_else(|| panic!("{out}"));
        line.split_whitespace().last().unwrap().parse().unwrap()
    };
    let (free, regularised) = (accuracy("0"), accuracy("0.1"));
    assert!(regularised > free + 0.2, "what was seen in one orientation is known in all: {free} {regularised}");
    let grid = "sweep mine --grid penalty.lambda_perp=0,1 --set train.epochs=2 --runs";
    let swept = own(&[grid.split(' ').collect(), vec![runs.path().to_str().unwrap()]].concat());
    let table = fs::read_to_string(swept.lines().last().unwrap()).unwrap();
    assert_eq!(table.lines().filter(|line| line.contains("finished")).count(), 2, "{table}");
}
