//! `reynolds run`: the folder it leaves.

use std::fs;

use super::support::{SMALL, assert_same_run, contents, done, only_run};

#[test]
fn a_run_leaves_every_file_of_a_run_folder() {
    let folder = tempfile::tempdir().unwrap();
    let settings = ["--set", "train.epochs=3", "--set", "penalty.lambda_perp=0.1"];
    let out = done(folder.path(), &[&["run", "so2"][..], SMALL, &settings].concat());
    let run = only_run(&folder.path().join("runs"), "so2");
    let relative = run.strip_prefix(folder.path()).unwrap().display().to_string();
    assert!(out.contains(&relative) && out.contains("report.html") && out.contains("test/accuracy"), "{out}");
    let files = [
        "config.toml",
        "environment.json",
        "metrics.jsonl",
        "events.out.tfevents.reynolds",
        "checkpoints/last.safetensors",
        "checkpoints/best.safetensors",
        "summary.json",
        "report.html",
    ];
    for name in files {
        assert!(run.join(name).metadata().unwrap_or_else(|e| panic!("{name}: {e}")).len() > 0, "{name} is empty");
    }
    let config = fs::read_to_string(run.join("config.toml")).unwrap();
    for line in ["experiment = \"so2\"", "seed = 0", "lambda_perp = 0.1", "epochs = 3", "learning_rate = 0.003"] {
        assert!(config.contains(line), "no \"{line}\" in: {config}");
    }
    let metrics = fs::read_to_string(run.join("metrics.jsonl")).unwrap();
    assert_eq!(metrics.lines().count(), 3);
    let environment: serde_json::Value =
        serde_json::from_str(&fs::read_to_string(run.join("environment.json")).unwrap()).unwrap();
    assert_eq!(environment["device"], "cpu");
    let figures = fs::read_dir(run.join("figures")).unwrap().count();
    let page = fs::read_to_string(run.join("report.html")).unwrap();
    assert!(figures >= 1 && page.matches("<figure>").count() == figures, "{figures} figures inline");
    assert!(page.contains("<h3>loss</h3>") && page.contains("test/accuracy") && !page.contains("<script"));
}

#[test]
fn the_written_settings_make_the_same_run_again_and_seeds_differ() {
    let folder = tempfile::tempdir().unwrap();
    let settings = ["--set", "train.epochs=2", "--seeds", "2", "--set", "seed=5"];
    done(folder.path(), &[&["run", "so2"][..], SMALL, &settings].concat());
    let mut runs: Vec<_> = fs::read_dir(folder.path().join("runs/so2")).unwrap().map(|e| e.unwrap().path()).collect();
    let seed = |run: &std::path::PathBuf| fs::read_to_string(run.join("config.toml")).unwrap().contains("seed = 6");
    runs.sort_by_key(seed);
    let [five, six] = runs.try_into().unwrap();
    let metrics = |run: &std::path::Path| fs::read(run.join("metrics.jsonl")).unwrap();
    assert!(seed(&six) && metrics(&five) != metrics(&six), "another seed is another run");
    let config = six.join("config.toml");
    done(folder.path(), &["run", "so2", "--config", config.to_str().unwrap(), "--runs", "again"]);
    assert_same_run(&six, &only_run(&folder.path().join("again"), "so2"));
}

#[test]
fn a_finished_run_is_left_alone() {
    let folder = tempfile::tempdir().unwrap();
    done(folder.path(), &[&["run", "so2", "--folder", "here", "--set", "train.epochs=1"][..], SMALL].concat());
    let before = contents(&folder.path().join("here"));
    for arguments in [&["run", "so2", "--resume", "here"][..], &["run", "--resume", "here"]] {
        assert!(done(folder.path(), arguments).contains("was finished already"));
        assert_eq!(contents(&folder.path().join("here")), before);
    }
    fs::remove_file(folder.path().join("here/report.html")).unwrap();
    done(folder.path(), &["run", "--resume", "here"]);
    assert!(folder.path().join("here/report.html").exists(), "a report that was lost is written again");
}

#[test]
fn a_run_of_volumes_says_what_they_are_and_leaves_the_matrix_to_its_figure() {
    let folder = tempfile::tempdir().unwrap();
    let sizes =
        ["data.shapes.train=8", "data.shapes.validation=8", "data.shapes.test=8", "data.batch=4", "data.turned=0"];
    let rest = ["model.width=1", "train.epochs=1", "train.threads=1"];
    let settings: Vec<&str> = sizes.iter().chain(&rest).flat_map(|setting| ["--set", *setting]).collect();
    let out = done(folder.path(), &[&["run", "medmnist"][..], &settings].concat());
    assert!(out.contains("generated shapes") && out.contains("test/accuracy") && out.contains("not trained"), "{out}");
    assert!(!out.contains("/confusion/"), "{out}");
}
