//! Bad input: exit code 2, a message that says what to mend, and nothing changed on disk.

use std::fs;

use super::support::{Folder, SMALL};

#[test]
fn settings_that_are_not_there_or_do_not_fit_are_named() {
    let folder = Folder::new();
    folder.refused("run so3", &["unknown experiment \"so3\"", "did you mean \"so2\"?", "rings"]);
    folder.refused("run mnist", &["unknown experiment \"mnist\"", "so2"]);
    for (assignment, needles) in [
        ("penalty.lamda_perp=0.1", &["--set: unknown key", "did you mean \"penalty.lambda_perp\"?"][..]),
        ("train.epochs=many", &["--set: train.epochs: expected a whole number", "many"]),
        ("train.epochs=0", &["train.epochs: expected at least 1, found 0"]),
        ("penalty.lambda_perp=-0.1", &["penalty.lambda_perp", "at least 0", "-0.1"]),
        ("penalty.lambda_g=nan", &["penalty.lambda_g", "at least 0"]),
        ("train.epochs", &["expected key=value"]),
    ] {
        folder.refused(&format!("run so2 --set {assignment}"), needles);
    }
    for (text, needles) in [
        ("[train]\nepoch = 3\n", &["mine.toml: unknown key \"train.epoch\"", "did you mean \"train.epochs\"?"][..]),
        ("[train]\nepochs = \"3\"\n", &["mine.toml: train.epochs: expected a whole number", "\"3\""]),
        ("experiment = \"rings\"\n", &["mine.toml", "expected \"so2\"", "\"rings\""]),
        ("[train\n", &["mine.toml", "line 1", "expected TOML"]),
    ] {
        folder.write("mine.toml", text);
        folder.refused("run so2 --config mine.toml", needles);
    }
    folder.refused("run so2 --config none.toml", &["none.toml: cannot read"]);
    folder.refused("run so2 --seeds 0", &["--seeds"]);
    assert_eq!(folder.done("run so2 --seeds 1000000 --show"), folder.done("run so2 --show"));
    folder.refused(
        "sweep so2 --grid seed=1 --seeds 1000000 --grid train.epochs=1,2",
        &["--grid: seed: expected a key that is given once"],
    );
    folder.refused(
        "sweep so2 --seeds 1000000 --grid train.epochs=1,2",
        &["--grid: number of runs: expected at most 100000, found 2000000"],
    );
    for command in ["run", "sweep"] {
        let line = format!("{command} so2 --set seed=9223372036854775807 --seeds 3");
        folder.refused(&line, &["--seeds: expected seeds of at most", "3 from 9223372036854775807 on"]);
    }
}

#[test]
fn what_a_model_cannot_be_trained_with_is_refused_before_there_is_a_folder() {
    let folder = Folder::new();
    let held = "this model has no regularised parameters";
    for (set, needles) in [
        ("--set model.network=mlp --set penalty.lambda_perp=0.1", &["penalty.lambda_perp: expected 0", held][..]),
        (
            "--set model.network=mlp --set train.parametrisation.kind=constrained",
            &["train.parametrisation.kind: expected \"free\"", held, "constrained"],
        ),
        ("--set train.early_stopping.metric=los", &["train.early_stopping.metric: expected one of", "\"loss\""]),
    ] {
        for place in ["--runs runs", "--folder mine"] {
            folder.refused(&format!("run so2 {SMALL} {place} {set}"), needles);
        }
    }
}

#[test]
fn a_device_that_is_not_there_is_named() {
    let folder = Folder::new();
    folder.refused("run so2 --device tpu", &["device \"tpu\"", "expected cpu or cuda:N"]);
    folder.refused("run so2 --device cuda:99", &["device \"cuda:99\"", "expected"]);
}

#[test]
fn a_place_that_cannot_be_written_is_named() {
    let folder = Folder::new();
    folder.write("file", "mine");
    for (place, needle) in [
        ("--runs file", "file/so2: cannot create"),
        ("--runs /proc/reynolds", "/proc/reynolds"),
        ("--folder file", "file"),
    ] {
        folder.refused(&format!("run so2 --set train.epochs=1 {SMALL} {place}"), &[needle]);
    }
}

/// A run that was stopped before it was marked as finished.
fn unfinished(folder: &Folder, name: &str, more: &str) {
    folder.done(&format!("run so2 --folder {name} --set train.epochs=2 {SMALL} {more}"));
    fs::remove_file(folder.path(name).join("summary.json")).unwrap();
}

#[test]
fn a_folder_that_is_no_run_of_this_experiment_and_version_is_refused() {
    let folder = Folder::new();
    folder.refused("run so2 --resume none", &["none", "expected a run folder", "no such folder"]);
    fs::create_dir(folder.path("empty")).unwrap();
    folder.refused("run so2 --resume empty", &["empty: expected a run folder with a config.toml"]);
    folder.refused("run --resume empty", &["empty: expected a run folder with a config.toml"]);
    folder.refused("run so2 --resume none --set seed=1", &["cannot be used with"]);
    unfinished(&folder, "mine", "");
    folder.refused("run rings --resume mine", &["mine/config.toml", "\"so2\""]);
    let text = folder.text("mine/environment.json");
    let version = format!("\"reynolds\": \"{}\"", env!("CARGO_PKG_VERSION"));
    assert!(text.contains(&version), "{text}");
    folder.write("mine/environment.json", text.replace(&version, "\"reynolds\": \"0.0.1\""));
    folder.refused("run so2 --resume mine", &["mine/environment.json", "expected a run of version", "0.0.1"]);
    folder.write("mine/environment.json", text);
    folder.done("run so2 --resume mine");
}

#[test]
fn a_checkpoint_that_is_damaged_or_does_not_fit_is_refused() {
    let folder = Folder::new();
    unfinished(&folder, "mine", "");
    unfinished(&folder, "wider", "--set model.so2.hidden_channels=3");
    let file = "mine/checkpoints/last.safetensors";
    let whole = folder.read(file);
    let last = |bytes: &[u8], needle: &str| {
        folder.write(file, bytes);
        folder.refused("run so2 --resume mine", &[&format!("{file}: expected"), needle]);
    };
    last(&folder.read("wider/checkpoints/last.safetensors"), "tensor \"");
    for length in [0, 1, 8, 100, whole.len() / 2, whole.len() - 1] {
        last(&whole[..length], "a whole checkpoint");
    }
    let mut flipped = whole.clone();
    *flipped.last_mut().unwrap() ^= 1;
    last(&flipped, "checksum");
    folder.write(file, whole);
    folder.done("run so2 --resume mine");
}
