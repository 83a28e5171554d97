//! However a run ends, it goes on to the same bytes.

use std::fs;
use std::path::Path;
use std::process::Command;
use std::thread::sleep;
use std::time::{Duration, Instant};

use reynolds::random::Random;

use super::support::{SMALL, assert_same_run, command, done, started};

const KILLS: usize = 20;

/// The settings of a small run.
fn settings(epochs: &'static str, checkpoint_every: &'static str) -> Vec<&'static str> {
    [SMALL, &["--set", epochs, "--set", checkpoint_every, "--set", "penalty.lambda_perp=0.1"]].concat()
}

/// The arguments that go on with `folder` if it is a run yet, else those that begin it.
fn going_on<'a>(folder: &Path, name: &'a str, settings: &[&'a str]) -> Vec<&'a str> {
    match folder.join(name).join("config.toml").exists() {
        true => vec!["run", "so2", "--resume", name],
        false => [&["run", "so2", "--folder", name][..], settings].concat(),
    }
}

#[test]
fn killed_twenty_times_a_run_ends_in_the_same_bytes() {
    let folder = tempfile::tempdir().unwrap();
    let settings = settings("train.epochs=60", "train.checkpoint_every=1");
    let begun = Instant::now();
    let mut child = started(folder.path(), &[&["run", "so2", "--folder", "whole"][..], &settings].concat());
    wait_for_lines(&mut child, &folder.path().join("whole/metrics.jsonl"), 1);
    let starting = begun.elapsed();
    assert!(child.wait().unwrap().success());
    let training = begun.elapsed() - starting;
    let mut random = Random::new(4);
    let (mut kills, mut finished) = (0, 0);
    let mut name = String::from("killed");
    while kills < KILLS {
        let mut child = started(folder.path(), &going_on(folder.path(), &name, &settings));
        // Progress adds up, so each go is given a part of the whole; every fourth is killed while it is starting.
        let moment = random.uniform();
        sleep(if kills % 4 == 0 { starting.mul_f64(moment) } else { starting + training.mul_f64(moment / 6.0) });
        child.kill().unwrap();
        if !child.wait().unwrap().success() {
            kills += 1;
            continue;
        }
        // Done before all kills were dealt: another run takes the rest.
        assert_same_run(&folder.path().join("whole"), &folder.path().join(&name));
        finished += 1;
        assert!(finished < 100, "{kills} kills only: this machine is too uneven to aim at");
        name = format!("killed{finished}");
    }
    done(folder.path(), &going_on(folder.path(), &name, &settings));
    assert_same_run(&folder.path().join("whole"), &folder.path().join(&name));
}

/// Waits until a file has so many lines, for as long as the child lives.
fn wait_for_lines(child: &mut std::process::Child, file: &Path, lines: usize) {
    while fs::read_to_string(file).unwrap_or_default().lines().count() < lines {
        assert!(child.try_wait().unwrap().is_none(), "it ended before it was stopped");
        sleep(Duration::from_millis(5));
    }
}

#[cfg(unix)]
#[test]
fn ctrl_c_saves_says_how_to_go_on_and_exits_with_130() {
    let folder = tempfile::tempdir().unwrap();
    let settings = settings("train.epochs=150", "train.checkpoint_every=20");
    done(folder.path(), &[&["run", "so2", "--folder", "whole"][..], &settings].concat());
    let mut run = command(folder.path(), &[&["run", "so2", "--folder", "stopped"][..], &settings].concat());
    let mut child = run.stdout(std::process::Stdio::null()).stderr(std::process::Stdio::piped()).spawn().unwrap();
    wait_for_lines(&mut child, &folder.path().join("stopped/metrics.jsonl"), 5);
    assert!(Command::new("kill").args(["-INT", &child.id().to_string()]).status().unwrap().success());
    let output = child.wait_with_output().unwrap();
    let error = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(130), "{error}");
    assert!(error.contains("go on with: reynolds run so2 --resume stopped"), "{error}");
    assert!(!folder.path().join("stopped/summary.json").exists());
    done(folder.path(), &["run", "so2", "--resume", "stopped"]);
    assert_same_run(&folder.path().join("whole"), &folder.path().join("stopped"));
}

#[test]
fn a_run_has_one_writer_at_a_time() {
    let folder = tempfile::tempdir().unwrap();
    let settings = settings("train.epochs=5000", "train.checkpoint_every=20");
    let mut child = started(folder.path(), &[&["run", "so2", "--folder", "here"][..], &settings].concat());
    wait_for_lines(&mut child, &folder.path().join("here/metrics.jsonl"), 1);
    let output = command(folder.path(), &["run", "so2", "--resume", "here"]).output().unwrap();
    assert!(child.try_wait().unwrap().is_none(), "the first still runs");
    child.kill().unwrap();
    child.wait().unwrap();
    let error = String::from_utf8(output.stderr).unwrap();
    assert!(output.status.code() == Some(2) && error.contains("here"), "{error}");
}
