//! `reynolds sweep`: a grid of settings and seeds, stopped and resumed.

use std::fs;

use super::support::{Folder, SMALL, assert_same_run, contents, killed_when};

/// Runs of the sweep below `runs` that are marked as finished.
fn finished(folder: &Folder, runs: &str) -> usize {
    let sweeps = folder.listed(&format!("{runs}/sweeps"));
    let runs = sweeps.iter().flat_map(|sweep| folder.listed(sweep.to_str().unwrap()));
    runs.filter(|run| run.join("summary.json").exists()).count()
}

#[test]
fn a_sweep_that_is_killed_half_way_goes_on_to_the_same_table() {
    let folder = Folder::new();
    let sweep = format!(
        "sweep so2 {SMALL} --grid penalty.lambda_g=0,0.01 --grid penalty.lambda_perp=0,0.1 --seeds 2 --jobs 2 \
         --set train.epochs=15 --set train.checkpoint_every=5"
    );
    folder.done(&format!("{sweep} --runs whole"));
    let whole = folder.only("whole/sweeps");
    let table = fs::read_to_string(whole.join("sweep.csv")).unwrap();
    assert_eq!(table.lines().count(), 1 + 2 * 2 * 2, "{table}");
    let head = table.lines().next().unwrap();
    assert!(head.starts_with("status,folder,penalty.lambda_g,penalty.lambda_perp,seed,"), "{head}");
    assert!(head.contains("test/accuracy"), "{head}");
    assert!(table.lines().skip(1).all(|line| line.starts_with("finished,")), "{table}");

    killed_when(folder.started(&format!("{sweep} --runs killed")), || finished(&folder, "killed") >= 4);
    let killed = folder.only("killed/sweeps");
    assert!(finished(&folder, "killed") < 8, "it was killed half-way");
    let relative = folder.relative(&killed);
    folder.done(&format!("sweep so2 --resume {relative} --jobs 2"));
    assert_eq!(fs::read_to_string(killed.join("sweep.csv")).unwrap(), table);
    for line in table.lines().skip(1) {
        // Cells with commas stand in quotes.
        let run = line.split('"').nth(1).unwrap();
        assert_same_run(&whole.join(run), &killed.join(run));
        assert!(killed.join(run).join("report.html").exists());
    }
    let before = contents(&killed);
    folder.done(&format!("sweep --resume {relative}"));
    assert_eq!(contents(&killed), before, "a finished sweep is left alone");
}

#[test]
fn a_run_that_fails_is_reported_and_the_others_go_on() {
    let folder = Folder::new();
    let (code, out, error) =
        folder.reynolds(&format!("sweep so2 {SMALL} --grid train.learning_rate=0.003,1e300 --set train.epochs=3"));
    assert_eq!(code, 1, "{out}{error}");
    assert!(["failed: ", "not finite", "1 of 2 runs failed"].iter().all(|words| error.contains(words)), "{error}");
    let table = fs::read_to_string(folder.only("runs/sweeps").join("sweep.csv")).unwrap();
    let statuses: Vec<&str> = table.lines().skip(1).map(|line| line.split(',').next().unwrap()).collect();
    assert_eq!(statuses, ["finished", "failed"]);
}

#[test]
fn a_second_sweep_with_other_values_or_seeds_leaves_the_first_as_it_was() {
    let folder = Folder::new();
    let sweep = |grid: &str, seeds: usize| {
        folder.done(&format!("sweep so2 {SMALL} --set train.epochs=1 --grid {grid} --seeds {seeds}"))
    };
    sweep("penalty.lambda_perp=0,0.1", 1);
    let first = folder.only("runs/sweeps");
    let before = contents(&first);
    sweep("penalty.lambda_perp=0.2", 1);
    sweep("penalty.lambda_perp=0,0.1", 2);
    assert_eq!(contents(&first), before);
    assert_eq!(folder.listed("runs/sweeps").len(), 3);
}

#[test]
fn a_grid_that_cannot_be_run_is_refused_before_anything_is() {
    let folder = Folder::new();
    fs::create_dir(folder.path("empty")).unwrap();
    folder.write("file", "mine");
    for (options, needles) in [
        ("so2 --grid penalty.lamda_perp=0,1", &["--grid: unknown key", "did you mean \"penalty.lambda_perp\"?"][..]),
        ("so2 --grid penalty.lambda_perp=0,-1", &["penalty.lambda_perp", "at least 0", "-1"]),
        ("so2 --grid penalty.lambda_perp", &["--grid", "key=value,value"]),
        ("so2 --grid penalty.lambda_perp=0,,1", &["--grid", "an empty value"]),
        ("so2 --grid seed=1,2", &["--grid", "seed"]),
        ("so3 --grid train.epochs=1,2", &["unknown experiment \"so3\""]),
        ("so2 --jobs 0", &["--jobs"]),
        ("so2 --device tpu", &["expected cpu or cuda:N"]),
        ("so2 --resume empty", &["empty: expected the folder of a sweep"]),
        ("so2 --runs file", &["file"]),
    ] {
        folder.refused(&format!("sweep {options}"), needles);
    }
}
