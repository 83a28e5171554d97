//! `reynolds run`: the folder it leaves.

use std::fs;
use std::path::Path;

use serde_json::Value;

use super::support::{Folder, SMALL, assert_same_run, contents, set};

#[test]
fn a_run_leaves_every_file_of_a_run_folder() {
    let folder = Folder::new();
    let out = folder.done(&format!("run so2 {SMALL} --set train.epochs=3 --set penalty.lambda_perp=0.1"));
    let run = folder.relative(&folder.only("runs/so2"));
    let text = |name: &str| folder.text(&format!("{run}/{name}"));
    assert!(out.contains(&run) && out.contains("report.html") && out.contains("test/accuracy"), "{out}");
    let files = "config.toml environment.json metrics.jsonl events.out.tfevents.reynolds checkpoints/last.safetensors \
                 checkpoints/best.safetensors summary.json report.html";
    for name in files.split_whitespace() {
        assert!(!folder.read(&format!("{run}/{name}")).is_empty(), "{name} is empty");
    }
    let config = text("config.toml");
    for line in ["experiment = \"so2\"", "seed = 0", "lambda_perp = 0.1", "epochs = 3", "learning_rate = 0.003"] {
        assert!(config.contains(line), "no \"{line}\" in: {config}");
    }
    assert_eq!(text("metrics.jsonl").lines().count(), 3);
    let environment: Value = serde_json::from_str(&text("environment.json")).unwrap();
    assert_eq!(environment["device"], "cpu");
    let (figures, page) = (folder.listed(&format!("{run}/figures")).len(), text("report.html"));
    assert!(figures >= 1 && page.matches("<figure>").count() == figures, "{figures} figures inline");
    assert!(page.contains("<h3>loss</h3>") && page.contains("test/accuracy") && !page.contains("<script"));
}

#[test]
fn the_written_settings_make_the_same_run_again_and_seeds_differ() {
    let folder = Folder::new();
    folder.done(&format!("run so2 {SMALL} --set train.epochs=2 --seeds 2 --set seed=5"));
    let mut runs = folder.listed("runs/so2");
    let is_six = |run: &Path| fs::read_to_string(run.join("config.toml")).unwrap().contains("seed = 6");
    runs.sort_by_key(|run| is_six(run));
    let [five, six] = runs.try_into().unwrap();
    let metrics = |run: &Path| fs::read(run.join("metrics.jsonl")).unwrap();
    assert!(is_six(&six) && metrics(&five) != metrics(&six), "another seed is another run");
    folder.done(&format!("run so2 --config {}/config.toml --runs again", folder.relative(&six)));
    assert_same_run(&six, &folder.only("again/so2"));
}

#[test]
fn a_finished_run_is_left_alone() {
    let folder = Folder::new();
    folder.done(&format!("run so2 --folder here --set train.epochs=1 {SMALL}"));
    let before = contents(&folder.path("here"));
    for line in ["run so2 --resume here", "run --resume here"] {
        assert!(folder.done(line).contains("was finished already"));
        assert_eq!(contents(&folder.path("here")), before);
    }
    fs::remove_file(folder.path("here/report.html")).unwrap();
    folder.done("run --resume here");
    assert!(folder.path("here/report.html").exists(), "a report that was lost is written again");
}

#[test]
fn a_run_of_volumes_says_what_they_are_and_leaves_the_matrix_to_its_figure() {
    let settings = "data.shapes.train=8 data.shapes.validation=8 data.shapes.test=8 data.batch=4 data.turned=0 model.width=1 \
                    train.epochs=1 train.threads=1";
    let out = Folder::new().done(&format!("run medmnist {}", set(settings)));
    assert!(out.contains("generated shapes") && out.contains("test/accuracy") && out.contains("not trained"), "{out}");
    assert!(!out.contains("/confusion/"), "{out}");
}
