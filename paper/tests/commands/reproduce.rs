//! `reynolds reproduce`: the list, a figure, claims that fall short, and going on.

use std::path::Path;

use super::support::{Folder, killed_when, set};

/// The folder that a reproduction says its report is in.
fn folder_of(out: &str) -> &str {
    let report = out.lines().find_map(|line| line.strip_prefix("report: ")).unwrap_or_else(|| panic!("{out}"));
    Path::new(report).parent().unwrap().to_str().unwrap()
}

#[test]
fn every_target_is_listed() {
    let folder = Folder::new();
    let list = folder.done("reproduce list");
    let names: Vec<&str> = list.lines().filter_map(|line| line.split_whitespace().next()).collect();
    let figures =
        "fig-projection fig-so2 fig-so2-grid fig-rings fig-rings-grid fig-ct fig-sensitivity fig-confusion fig-shapes";
    let tables = "table-smoke table-ct table-norms table-medmnist table-medmnist-efficiency";
    for target in figures.split(' ').chain(tables.split(' ')) {
        assert!(names.contains(&target), "{list}");
    }
    assert!(folder.contents().is_empty());
}

#[test]
fn the_projection_of_a_group_of_ones_choice_is_drawn() {
    let folder = Folder::new();
    let options = "--strict --group C4 --domain '2 regular' --codomain '1 regular + 2 trivial'";
    let out = folder.done(&format!("reproduce fig-projection {options}"));
    let made = folder_of(&out);
    let page = folder.text(&format!("{made}/report.html"));
    assert!(page.contains("<figure>") && page.contains("C4") && !page.contains("<script"), "{page}");
    assert!(!folder.listed(&format!("{made}/figures")).is_empty());
    for file in ["config.toml", "table.csv", "results.json"] {
        assert!(folder.path(made).join(file).exists(), "{file}");
    }
}

#[test]
fn with_strict_a_claim_that_falls_short_exits_with_1() {
    let folder = Folder::new();
    // Two epochs are too few for any network to become invariant.
    let (code, out, error) = folder.reynolds("reproduce fig-so2 --set seeds=2 --set train.epochs=2 --strict");
    assert_eq!(code, 1, "{out}{error}");
    assert!(out.contains("fell       "), "{out}");
    assert!(folder.text(&format!("{}/report.html", folder_of(&out))).contains("<b>fell</b>"), "the page says so too");
}

#[test]
fn a_reproduction_that_was_killed_keeps_its_models() {
    let folder = Folder::new();
    let run = |runs: &str| format!("reproduce fig-so2 --set seeds=1 --set train.epochs=20 --runs {runs}");
    let out = folder.done(&run("whole"));
    let whole = folder_of(&out);
    let two_models = || {
        let made = folder.listed("killed/reproduce/fig-so2");
        let points = made.first().map(|made| folder.listed(made.join("points").to_str().unwrap()));
        points.into_iter().flatten().filter(|point| point.join("summary.json").exists()).count() >= 2
    };
    killed_when(folder.started(&run("killed")), two_models);
    let killed = folder.relative(&folder.only("killed/reproduce/fig-so2"));
    assert!(!folder.path(&killed).join("report.html").exists(), "it was killed on its way");
    folder.refused(&format!("reproduce fig-rings --resume {killed}"), &["target", "fig-rings"]);
    let out = folder.done(&format!("reproduce fig-so2 --resume {killed}"));
    assert!(out.contains("more were trained before"), "{out}");
    for file in ["table.csv", "config.toml"] {
        assert_eq!(folder.read(&format!("{killed}/{file}")), folder.read(&format!("{whole}/{file}")), "{file}");
    }
}

#[test]
fn a_table_measures_what_its_rows_cost_by_the_program_itself() {
    let folder = Folder::new();
    let small = "networks=dicdnet modes=plain,penalty train.epochs=1 epochs.dicdnet=0 data.steps=1 data.batch=1 data.patch=16 model.stages=2 \
                 model.blocks=1 data.side=32 data.train=1 data.validation=1 data.test=2 measured_side=16 measured_steps=1 \
                 measured_batches=[1,2] data.folder=pairs";
    let out = folder.done(&format!("reproduce table-ct {}", set(small)));
    let table = folder.text(&format!("{}/table.csv", folder_of(&out)));
    let mut lines = table.lines().map(|line| line.split(',').collect::<Vec<_>>());
    let place = lines.next().unwrap().iter().position(|name| *name == "train_images_per_s_2").unwrap();
    let speeds: Vec<f64> = lines.filter(|line| line[0] == "dicdnet").map(|line| line[place].parse().unwrap()).collect();
    assert!(speeds.len() == 2 && speeds.iter().all(|speed| *speed > 0.0), "{table}");
    assert!(out.contains("the penalty leaves compute and memory"), "{out}");
}

#[test]
fn a_table_of_generated_shapes_is_tuned_trained_and_written_and_says_how_much_that_is() {
    let folder = Folder::new();
    let small = "sets=shapes rows=cnn,so3-ours seeds=2 train.epochs=1 data.batch=4 model.width=1 learning_rates=1e-3 lambda_g=1e-3 \
                 lambda_perp=1 data.shapes.train=8 data.shapes.validation=8 data.shapes.test=8 data.turned=1";
    let (code, out, error) = folder.reynolds(&format!("reproduce table-medmnist {}", set(small)));
    assert_eq!(code, 0, "{out}{error}");
    // One strength of two rows at seed 0, then another seed each; two steps of four volumes.
    assert!(error.contains("4 models of 1 epochs, 8 steps in all"), "{error}");
    for words in ["generated shapes", "most frequent class", "SO(3) ours"] {
        assert!(out.contains(words), "{out}");
    }
    let made = folder_of(&out);
    let table = || folder.text(&format!("{made}/table.csv"));
    let before = table();
    assert_eq!(before.lines().count(), 1 + 2, "{before}");
    for file in
        ["figures/accuracy.svg", "figures/convergence.svg", "validation_curves.csv", "results.json", "report.html"]
    {
        assert!(folder.path(made).join(file).is_file(), "{file}");
    }
    let again = folder.done(&format!("reproduce table-medmnist --resume {made}"));
    assert!(again.contains("all 4 models were trained before"), "{again}");
    assert_eq!(table(), before);
}

#[test]
fn what_networks_of_volumes_cost_is_measured_by_the_program_itself() {
    let folder = Folder::new();
    let small = set("rows=cnn,so3-ours model.width=1 data.batch=2 inference_batch=3 steps=1");
    let out = folder.done(&format!("reproduce table-medmnist-efficiency {small}"));
    let table = folder.text(&format!("{}/table.csv", folder_of(&out)));
    let speeds: Vec<f64> = table.lines().skip(1).map(|line| line.split(',').nth(2).unwrap().parse().unwrap()).collect();
    assert!(speeds.len() == 2 && speeds.iter().all(|speed| *speed > 0.0), "{table}");
    assert!(out.contains("SO(3) ours trains faster than every other row"), "{out}");
}

#[test]
fn what_cannot_be_reproduced_is_refused() {
    let folder = Folder::new();
    folder.write("file", "mine");
    for (options, needles) in [
        ("fig-so3", &["fig-so3", "fig-so2-grid"][..]),
        ("fig-so2 --budget huge", &["huge", "quick"]),
        ("fig-so2 --set epoch=3", &["unknown key \"epoch\"", "epochs"]),
        ("fig-so2 --set epochs=3", &["now called \"train.epochs\""]),
        ("fig-so2 --set train.epochs=0", &["train.epochs", "at least 1"]),
        ("fig-so2 --set train.epochs=many", &["train.epochs", "expected a whole number"]),
        ("fig-so2 --set seeds=0", &["seeds: expected at least 1, found 0"]),
        ("fig-projection --group X9", &["unknown group \"X9\""]),
        ("fig-projection --group C4 --domain '2 odd'", &["2 odd"]),
        ("fig-so2 --group C4", &["group"]),
        ("fig-so2 --device tpu", &["expected cpu or cuda:N"]),
        ("fig-so2 --resume none", &["none", "no such folder"]),
        ("fig-projection --runs file", &["file"]),
        ("table-medmnist --set sets=retina", &["sets", "nodule", "\"retina\""]),
        ("fig-shapes --set data.train=160", &["unknown key \"data.train\": now called \"data.shapes.train\""]),
    ] {
        folder.refused(&format!("reproduce {options}"), needles);
    }
    let (code, out, error) = folder.reynolds("reproduce table-medmnist --set sets=organ --set data.folder=none");
    assert!(code == 2 && error.contains("organmnist3d.npz") && error.contains("found none"), "{out}{error}");
}
