//! `reynolds reproduce`: the list, a figure, claims that fall short, and going on.

use std::fs;
use std::path::{Path, PathBuf};
use std::thread::sleep;
use std::time::Duration;

use super::support::{contents, done, refused, reynolds, started};

/// The folder that a reproduction says its report is in.
fn folder_of(folder: &Path, out: &str) -> PathBuf {
    let report = out.lines().find_map(|line| line.strip_prefix("report: ")).unwrap_or_else(|| panic!("{out}"));
    folder.join(report).parent().unwrap().to_path_buf()
}

#[test]
fn every_target_is_listed() {
    let folder = tempfile::tempdir().unwrap();
    let list = done(folder.path(), &["reproduce", "list"]);
    let names: Vec<&str> = list.lines().filter_map(|line| line.split_whitespace().next()).collect();
    let figures = ["fig-projection", "fig-so2", "fig-so2-grid", "fig-rings", "fig-rings-grid", "fig-ct"];
    let medmnist = ["table-medmnist", "table-medmnist-efficiency", "fig-sensitivity", "fig-confusion", "fig-shapes"];
    for target in figures.into_iter().chain(["table-smoke", "table-ct", "table-norms"]).chain(medmnist) {
        assert!(names.contains(&target), "{list}");
    }
    assert!(contents(folder.path()).is_empty());
}

#[test]
fn the_projection_of_a_group_of_ones_choice_is_drawn() {
    let folder = tempfile::tempdir().unwrap();
    let options = ["--group", "C4", "--domain", "2 regular", "--codomain", "1 regular + 2 trivial"];
    let out = done(folder.path(), &[&["reproduce", "fig-projection", "--strict"][..], &options].concat());
    let made = folder_of(folder.path(), &out);
    let page = fs::read_to_string(made.join("report.html")).unwrap();
    assert!(page.contains("<figure>") && page.contains("C4") && !page.contains("<script"), "{page}");
    assert!(fs::read_dir(made.join("figures")).unwrap().count() >= 1);
    for file in ["config.toml", "table.csv", "results.json"] {
        assert!(made.join(file).exists(), "{file}");
    }
}

#[test]
fn with_strict_a_claim_that_falls_short_exits_with_1() {
    let folder = tempfile::tempdir().unwrap();
    // Two epochs are too few for any network to become invariant.
    let run = ["reproduce", "fig-so2", "--set", "seeds=1", "--set", "train.epochs=2"];
    let (code, out, error) = reynolds(folder.path(), &[&run[..], &["--strict"]].concat());
    assert_eq!(code, 1, "{out}{error}");
    assert!(out.contains("not held  "), "{out}");
    let page = fs::read_to_string(folder_of(folder.path(), &out).join("report.html")).unwrap();
    assert!(page.contains("not held"), "the page says so too");
}

#[test]
fn a_reproduction_that_was_killed_keeps_its_models() {
    let folder = tempfile::tempdir().unwrap();
    let run = ["reproduce", "fig-so2", "--set", "seeds=1", "--set", "train.epochs=20"];
    let whole = folder_of(folder.path(), &done(folder.path(), &[&run[..], &["--runs", "whole"]].concat()));
    let mut child = started(folder.path(), &[&run[..], &["--runs", "killed"]].concat());
    let parent = folder.path().join("killed/reproduce/fig-so2");
    let made = || fs::read_dir(&parent).into_iter().flatten().flatten().map(|entry| entry.path()).next();
    let is_finished = |point: &fs::DirEntry| point.path().join("summary.json").exists();
    let models =
        |made: &Path| fs::read_dir(made.join("points")).into_iter().flatten().flatten().filter(is_finished).count();
    while made().is_none_or(|made| models(&made) < 2) {
        assert!(child.try_wait().unwrap().is_none(), "it ended before it was killed");
        sleep(Duration::from_millis(2));
    }
    child.kill().unwrap();
    child.wait().unwrap();
    let killed = made().unwrap();
    assert!(!killed.join("report.html").exists(), "it was killed on its way");
    let relative = killed.strip_prefix(folder.path()).unwrap().to_str().unwrap();
    refused(folder.path(), &["reproduce", "fig-rings", "--resume", relative], &["target", "fig-rings"]);
    let out = done(folder.path(), &["reproduce", "fig-so2", "--resume", relative]);
    assert!(out.contains("more were trained before"), "{out}");
    for file in ["table.csv", "config.toml"] {
        assert_eq!(fs::read(killed.join(file)).unwrap(), fs::read(whole.join(file)).unwrap(), "{file}");
    }
}

#[test]
fn a_table_measures_what_its_rows_cost_by_the_program_itself() {
    let folder = tempfile::tempdir().unwrap();
    let small = "networks=dicdnet modes=plain,penalty train.epochs=1 epochs.dicdnet=0 data.steps=1 data.batch=1 data.patch=16 model.stages=2 \
                 model.blocks=1 data.side=32 data.train=1 data.validation=1 data.test=2 measured_side=16 measured_steps=1 \
                 measured_batches=[1,2] data.folder=pairs";
    let set = small.split_whitespace().flat_map(|setting| ["--set", setting]);
    let arguments: Vec<&str> = ["reproduce", "table-ct"].into_iter().chain(set).collect();
    let out = done(folder.path(), &arguments);
    let made = folder_of(folder.path(), &out);
    let table = fs::read_to_string(made.join("table.csv")).unwrap();
    let mut lines = table.lines().map(|line| line.split(',').collect::<Vec<_>>());
    let place = lines.next().unwrap().iter().position(|name| *name == "train_images_per_s_2").unwrap();
    let speeds: Vec<f64> = lines.filter(|line| line[0] == "dicdnet").map(|line| line[place].parse().unwrap()).collect();
    assert!(speeds.len() == 2 && speeds.iter().all(|speed| *speed > 0.0), "{table}");
    assert!(out.contains("the penalty leaves compute and memory"), "{out}");
}

#[test]
fn a_table_of_generated_shapes_is_tuned_trained_and_written_and_says_how_much_that_is() {
    let folder = tempfile::tempdir().unwrap();
    let small = "sets=shapes rows=cnn,so3-ours seeds=2 train.epochs=1 data.batch=4 model.width=1 learning_rates=1e-3 lambda_g=1e-3 \
                 lambda_perp=1 data.shapes.train=8 data.shapes.validation=8 data.shapes.test=8 data.turned=1";
    let set = small.split_whitespace().flat_map(|setting| ["--set", setting]);
    let arguments: Vec<&str> = ["reproduce", "table-medmnist"].into_iter().chain(set).collect();
    let (code, out, error) = reynolds(folder.path(), &arguments);
    assert_eq!(code, 0, "{out}{error}");
    // One strength of two rows at seed 0, then another seed each; two steps of four volumes.
    assert!(error.contains("4 models of 1 epochs, 8 steps in all"), "{error}");
    assert!(
        out.contains("generated shapes") && out.contains("most frequent class") && out.contains("SO(3) ours"),
        "{out}"
    );
    let made = folder_of(folder.path(), &out);
    let table = fs::read_to_string(made.join("table.csv")).unwrap();
    assert_eq!(table.lines().count(), 1 + 2, "{table}");
    for file in
        ["figures/accuracy.svg", "figures/convergence.svg", "validation_curves.csv", "results.json", "report.html"]
    {
        assert!(made.join(file).is_file(), "{file}");
    }
    let relative = made.strip_prefix(folder.path()).unwrap().to_str().unwrap().to_string();
    let again = done(folder.path(), &["reproduce", "table-medmnist", "--resume", &relative]);
    assert!(again.contains("all 4 models were trained before"), "{again}");
    assert_eq!(fs::read_to_string(made.join("table.csv")).unwrap(), table);
}

#[test]
fn what_networks_of_volumes_cost_is_measured_by_the_program_itself() {
    let folder = tempfile::tempdir().unwrap();
    let small = "rows=cnn,so3-ours model.width=1 data.batch=2 inference_batch=3 steps=1";
    let set = small.split_whitespace().flat_map(|setting| ["--set", setting]);
    let arguments: Vec<&str> = ["reproduce", "table-medmnist-efficiency"].into_iter().chain(set).collect();
    let out = done(folder.path(), &arguments);
    let table = fs::read_to_string(folder_of(folder.path(), &out).join("table.csv")).unwrap();
    let speeds: Vec<f64> = table.lines().skip(1).map(|line| line.split(',').nth(2).unwrap().parse().unwrap()).collect();
    assert!(speeds.len() == 2 && speeds.iter().all(|speed| *speed > 0.0), "{table}");
    assert!(out.contains("SO(3) ours trains faster than every other row"), "{out}");
}

#[test]
fn sets_of_volumes_that_are_unknown_or_not_there_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path();
    refused(path, &["reproduce", "table-medmnist", "--set", "sets=retina"], &["sets", "nodule", "\"retina\""]);
    let old = ["reproduce", "fig-shapes", "--set", "data.train=160"];
    refused(path, &old, &["unknown key \"data.train\": now called \"data.shapes.train\""]);
    let absent = ["reproduce", "table-medmnist", "--set", "sets=organ", "--set", "data.folder=none"];
    let (code, out, error) = reynolds(path, &absent);
    assert!(code == 2 && error.contains("organmnist3d.npz") && error.contains("found none"), "{out}{error}");
}

#[test]
fn what_cannot_be_reproduced_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path();
    refused(path, &["reproduce", "fig-so3"], &["fig-so3", "fig-so2-grid"]);
    refused(path, &["reproduce", "fig-so2", "--budget", "huge"], &["huge", "quick"]);
    refused(path, &["reproduce", "fig-so2", "--set", "epoch=3"], &["unknown key \"epoch\"", "epochs"]);
    refused(path, &["reproduce", "fig-so2", "--set", "epochs=3"], &["now called \"train.epochs\""]);
    refused(path, &["reproduce", "fig-so2", "--set", "train.epochs=0"], &["train.epochs", "at least 1"]);
    refused(
        path,
        &["reproduce", "fig-so2", "--set", "train.epochs=many"],
        &["train.epochs", "expected a whole number"],
    );
    refused(path, &["reproduce", "fig-so2", "--set", "seeds=0"], &["seeds: expected at least 1, found 0"]);
    refused(path, &["reproduce", "fig-projection", "--group", "X9"], &["unknown group \"X9\""]);
    refused(path, &["reproduce", "fig-projection", "--group", "C4", "--domain", "2 odd"], &["2 odd"]);
    refused(path, &["reproduce", "fig-so2", "--group", "C4"], &["group"]);
    refused(path, &["reproduce", "fig-so2", "--device", "tpu"], &["expected cpu or cuda:N"]);
    refused(path, &["reproduce", "fig-so2", "--resume", "none"], &["none", "no such folder"]);
    fs::write(path.join("file"), "mine").unwrap();
    refused(path, &["reproduce", "fig-projection", "--runs", "file"], &["file"]);
}
