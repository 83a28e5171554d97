//! `reynolds sweep`: a grid of settings and seeds, stopped and resumed.

use std::fs;
use std::path::{Path, PathBuf};
use std::thread::sleep;
use std::time::Duration;

use super::support::{SMALL, assert_same_run, contents, done, refused, reynolds, started};

const GRID: &[&str] = &["--grid", "penalty.lambda_g=0,0.01", "--grid", "penalty.lambda_perp=0,0.1", "--seeds", "2"];

/// The one sweep below a folder of runs.
fn only_sweep(runs: &Path) -> PathBuf {
    let mut folders: Vec<PathBuf> = fs::read_dir(runs.join("sweeps")).unwrap().map(|e| e.unwrap().path()).collect();
    assert_eq!(folders.len(), 1, "{folders:?}");
    folders.remove(0)
}

/// Runs of a sweep that are marked as finished.
fn finished(sweep: &Path) -> usize {
    let runs = fs::read_dir(sweep).into_iter().flatten().flatten();
    runs.filter(|run| run.path().join("summary.json").exists()).count()
}

#[test]
fn a_sweep_that_is_killed_half_way_goes_on_to_the_same_table() {
    let folder = tempfile::tempdir().unwrap();
    let settings =
        [SMALL, GRID, &["--set", "train.epochs=15", "--set", "train.checkpoint_every=5", "--jobs", "2"]].concat();
    let sweep = [&["sweep", "so2"][..], &settings].concat();
    done(folder.path(), &[&sweep[..], &["--runs", "whole"]].concat());
    let whole = only_sweep(&folder.path().join("whole"));
    let table = fs::read_to_string(whole.join("sweep.csv")).unwrap();
    assert_eq!(table.lines().count(), 1 + 2 * 2 * 2, "{table}");
    let head = table.lines().next().unwrap();
    assert!(head.starts_with("status,folder,penalty.lambda_g,penalty.lambda_perp,seed,"), "{head}");
    assert!(
        head.contains("test/accuracy") && table.lines().skip(1).all(|line| line.starts_with("finished,")),
        "{table}"
    );

    let mut child = started(folder.path(), &[&sweep[..], &["--runs", "killed"]].concat());
    let sweeps = folder.path().join("killed/sweeps");
    let half = || {
        fs::read_dir(&sweeps).into_iter().flatten().flatten().map(|sweep| finished(&sweep.path())).sum::<usize>() >= 4
    };
    while !half() {
        assert!(child.try_wait().unwrap().is_none(), "it ended before it was killed");
        sleep(Duration::from_millis(5));
    }
    child.kill().unwrap();
    child.wait().unwrap();
    let killed = only_sweep(&folder.path().join("killed"));
    assert!(finished(&killed) < 8, "it was killed half-way");
    let relative = killed.strip_prefix(folder.path()).unwrap().to_str().unwrap();
    done(folder.path(), &["sweep", "so2", "--resume", relative, "--jobs", "2"]);
    assert_eq!(fs::read_to_string(killed.join("sweep.csv")).unwrap(), table);
    for line in table.lines().skip(1) {
        // Cells with commas stand in quotes.
        let run = line.split('"').nth(1).unwrap();
        assert_same_run(&whole.join(run), &killed.join(run));
        assert!(killed.join(run).join("report.html").exists());
    }
    let before = contents(&killed);
    done(folder.path(), &["sweep", "--resume", relative]);
    assert_eq!(contents(&killed), before, "a finished sweep is left alone");
}

#[test]
fn a_run_that_fails_is_reported_and_the_others_go_on() {
    let folder = tempfile::tempdir().unwrap();
    let grid = ["--grid", "train.learning_rate=0.003,1e300", "--set", "train.epochs=3"];
    let (code, out, error) = reynolds(folder.path(), &[&["sweep", "so2"][..], SMALL, &grid].concat());
    assert_eq!(code, 1, "{out}{error}");
    assert!(
        error.contains("failed: ") && error.contains("not finite") && error.contains("1 of 2 runs failed"),
        "{error}"
    );
    let table = fs::read_to_string(only_sweep(&folder.path().join("runs")).join("sweep.csv")).unwrap();
    let statuses: Vec<&str> = table.lines().skip(1).map(|line| line.split(',').next().unwrap()).collect();
    assert_eq!(statuses, ["finished", "failed"]);
}

#[test]
fn a_second_sweep_with_other_values_or_seeds_leaves_the_first_as_it_was() {
    let folder = tempfile::tempdir().unwrap();
    let sweep = |grid: &str, seeds: &str| {
        let arguments = ["--set", "train.epochs=1", "--grid", grid, "--seeds", seeds];
        done(folder.path(), &[&["sweep", "so2"][..], SMALL, &arguments].concat())
    };
    sweep("penalty.lambda_perp=0,0.1", "1");
    let first = only_sweep(&folder.path().join("runs"));
    let before = contents(&first);
    sweep("penalty.lambda_perp=0.2", "1");
    sweep("penalty.lambda_perp=0,0.1", "2");
    assert_eq!(contents(&first), before);
    assert_eq!(fs::read_dir(folder.path().join("runs/sweeps")).unwrap().count(), 3);
}

#[test]
fn a_grid_that_cannot_be_run_is_refused_before_anything_is() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path();
    let grid = |grid: &str, needles: &[&str]| refused(path, &["sweep", "so2", "--grid", grid], needles);
    grid("penalty.lamda_perp=0,1", &["--grid: unknown key", "did you mean \"penalty.lambda_perp\"?"]);
    grid("penalty.lambda_perp=0,-1", &["penalty.lambda_perp", "at least 0", "-1"]);
    grid("penalty.lambda_perp", &["--grid", "key=value,value"]);
    grid("penalty.lambda_perp=0,,1", &["--grid", "an empty value"]);
    grid("seed=1,2", &["--grid", "seed"]);
    refused(path, &["sweep", "so3", "--grid", "train.epochs=1,2"], &["unknown experiment \"so3\""]);
    refused(path, &["sweep", "so2", "--jobs", "0"], &["--jobs"]);
    refused(path, &["sweep", "so2", "--device", "tpu"], &["expected cpu or cuda:N"]);
    fs::create_dir(path.join("empty")).unwrap();
    refused(path, &["sweep", "so2", "--resume", "empty"], &["empty: expected the folder of a sweep"]);
    fs::write(path.join("file"), "mine").unwrap();
    refused(path, &["sweep", "so2", "--runs", "file"], &["file"]);
}
