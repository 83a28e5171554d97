//! Bad input: exit code 2, a message that says what to mend, and nothing changed on disk.

use std::fs;
use std::path::Path;

use super::support::{SMALL, done, refused};

#[test]
fn settings_that_are_not_there_or_do_not_fit_are_named() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path();
    refused(path, &["run", "so3"], &["unknown experiment \"so3\"", "did you mean \"so2\"?", "rings"]);
    refused(path, &["run", "mnist"], &["unknown experiment \"mnist\"", "so2"]);
    let set = |assignment: &str, needles: &[&str]| refused(path, &["run", "so2", "--set", assignment], needles);
    set("penalty.lamda_perp=0.1", &["--set: unknown key", "did you mean \"penalty.lambda_perp\"?"]);
    set("train.epochs=many", &["--set: train.epochs: expected a whole number", "many"]);
    set("train.epochs=0", &["train.epochs: expected at least 1, found 0"]);
    set("penalty.lambda_perp=-0.1", &["penalty.lambda_perp", "at least 0", "-0.1"]);
    set("penalty.lambda_g=nan", &["penalty.lambda_g", "at least 0"]);
    set("train.epochs", &["expected key=value"]);
    let file = path.join("mine.toml");
    let config = |text: &str, needles: &[&str]| {
        fs::write(&file, text).unwrap();
        refused(path, &["run", "so2", "--config", "mine.toml"], needles);
    };
    config("[train]\nepoch = 3\n", &["mine.toml: unknown key \"train.epoch\"", "did you mean \"train.epochs\"?"]);
    config("[train]\nepochs = \"3\"\n", &["mine.toml: train.epochs: expected a whole number", "\"3\""]);
    config("experiment = \"rings\"\n", &["mine.toml", "expected \"so2\"", "\"rings\""]);
    config("[train\n", &["mine.toml", "line 1", "expected TOML"]);
    refused(path, &["run", "so2", "--config", "none.toml"], &["none.toml: cannot read"]);
    refused(path, &["run", "so2", "--seeds", "0"], &["--seeds"]);
    for command in ["run", "sweep"] {
        let arguments = [command, "so2", "--set", "seed=9223372036854775807", "--seeds", "3"];
        refused(path, &arguments, &["--seeds: expected seeds of at most", "3 from 9223372036854775807 on"]);
    }
}

#[test]
fn what_a_model_cannot_be_trained_with_is_refused_before_there_is_a_folder() {
    let folder = tempfile::tempdir().unwrap();
    let held = "this model has no regularised parameters";
    let run = |set: &[&str], needles: &[&str]| {
        for place in [&["--runs", "runs"], &["--folder", "mine"]] {
            refused(folder.path(), &[&["run", "so2"][..], SMALL, place, set].concat(), needles);
        }
    };
    let mlp = ["--set", "model.network=mlp", "--set"];
    run(&[&mlp[..], &["penalty.lambda_perp=0.1"]].concat(), &["penalty.lambda_perp: expected 0", held]);
    let constrained = [&mlp[..], &["train.parametrisation.kind=constrained"]].concat();
    run(&constrained, &["train.parametrisation.kind: expected \"free\"", held, "constrained"]);
    run(&["--set", "train.early_stopping.metric=los"], &["train.early_stopping.metric: expected one of", "\"loss\""]);
}

#[test]
fn a_device_that_is_not_there_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let device = |device: &str, needle: &str| {
        refused(folder.path(), &["run", "so2", "--device", device], &[&format!("device \"{device}\""), needle]);
    };
    device("tpu", "expected cpu or cuda:N");
    device("cuda:99", "expected");
}

#[test]
fn a_place_that_cannot_be_written_is_named() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("file"), "mine").unwrap();
    let run = |place: &[&str], needle: &str| {
        refused(folder.path(), &[&["run", "so2", "--set", "train.epochs=1"][..], SMALL, place].concat(), &[needle]);
    };
    run(&["--runs", "file"], "file/so2: cannot create");
    run(&["--runs", "/proc/reynolds"], "/proc/reynolds");
    run(&["--folder", "file"], "file");
}

/// A run that was stopped before it was marked as finished.
fn unfinished(folder: &Path, name: &str, more: &[&str]) {
    let run = ["run", "so2", "--folder", name, "--set", "train.epochs=2"];
    done(folder, &[&run[..], SMALL, more].concat());
    fs::remove_file(folder.join(name).join("summary.json")).unwrap();
}

#[test]
fn a_folder_that_is_no_run_of_this_experiment_and_version_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path();
    refused(path, &["run", "so2", "--resume", "none"], &["none", "expected a run folder", "no such folder"]);
    fs::create_dir(path.join("empty")).unwrap();
    refused(path, &["run", "so2", "--resume", "empty"], &["empty: expected a run folder with a config.toml"]);
    refused(path, &["run", "--resume", "empty"], &["empty: expected a run folder with a config.toml"]);
    refused(path, &["run", "so2", "--resume", "none", "--set", "seed=1"], &["cannot be used with"]);
    unfinished(path, "mine", &[]);
    refused(path, &["run", "rings", "--resume", "mine"], &["mine/config.toml", "\"so2\""]);
    let environment = path.join("mine/environment.json");
    let text = fs::read_to_string(&environment).unwrap();
    let version = format!("\"reynolds\": \"{}\"", env!("CARGO_PKG_VERSION"));
    assert!(text.contains(&version), "{text}");
    fs::write(&environment, text.replace(&version, "\"reynolds\": \"0.0.1\"")).unwrap();
    refused(
        path,
        &["run", "so2", "--resume", "mine"],
        &["mine/environment.json", "expected a run of version", "0.0.1"],
    );
    fs::write(&environment, text).unwrap();
    done(path, &["run", "so2", "--resume", "mine"]);
}

#[test]
fn a_checkpoint_that_is_damaged_or_does_not_fit_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path();
    unfinished(path, "mine", &[]);
    unfinished(path, "wider", &["--set", "model.so2.hidden_channels=3"]);
    let file = path.join("mine/checkpoints/last.safetensors");
    let whole = fs::read(&file).unwrap();
    let last = |bytes: &[u8], needle: &str| {
        fs::write(&file, bytes).unwrap();
        refused(path, &["run", "so2", "--resume", "mine"], &["mine/checkpoints/last.safetensors: expected", needle]);
    };
    last(&fs::read(path.join("wider/checkpoints/last.safetensors")).unwrap(), "tensor \"");
    for length in [0, 1, 8, 100, whole.len() / 2, whole.len() - 1] {
        last(&whole[..length], "a whole checkpoint");
    }
    let mut flipped = whole.clone();
    *flipped.last_mut().unwrap() ^= 1;
    last(&flipped, "checksum");
    fs::write(&file, whole).unwrap();
    done(path, &["run", "so2", "--resume", "mine"]);
}
