//! The command as a user meets it: one run per subcommand, the round trip, and bad input.

#![allow(clippy::unwrap_used, reason = "a failed set-up should fail the test")]

use std::collections::HashMap;
use std::fs;
use std::path::{Path, PathBuf};

use assert_cmd::Command;
use reynolds::random::Random;
use safetensors::{Dtype, SafeTensors, tensor::TensorView};
use tempfile::TempDir;

type Tensors<'a> = &'a [(&'a str, &'a [usize])];

const NETWORK: Tensors<'_> = &[
    ("stem.weight", &[8, 3, 3, 3]),
    ("body.conv.weight", &[8, 8, 3, 3]),
    ("body.conv.bias", &[8]),
    ("body.bn.running_var", &[8]),
    ("head.weight", &[10, 8]),
];

/// A checkpoint of random weights in a fresh folder.
fn model(tensors: Tensors<'_>) -> (TempDir, PathBuf) {
    let mut random = Random::new(1);
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("model.safetensors");
    let drawn: Vec<(&str, &[usize], Vec<f32>)> = tensors
        .iter()
        .map(|&(name, shape)| (name, shape, (0..shape.iter().product()).map(|_| random.normal() as f32).collect()))
        .collect();
    save(&path, &drawn);
    (folder, path)
}

fn save(path: &Path, tensors: &[(&str, &[usize], Vec<f32>)]) {
    let bytes: Vec<Vec<u8>> = tensors.iter().map(|t| t.2.iter().flat_map(|x| x.to_le_bytes()).collect()).collect();
    let views: HashMap<&str, TensorView<'_>> = tensors
        .iter()
        .zip(&bytes)
        .map(|(t, bytes)| (t.0, TensorView::new(Dtype::F32, t.1.to_vec(), bytes).unwrap()))
        .collect();
    safetensors::serialize_to_file(&views, None, path).unwrap();
}

fn reynolds(arguments: &[&str]) -> (i32, String, String) {
    let output = Command::cargo_bin("reynolds").unwrap().args(arguments).output().unwrap();
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
    (output.status.code().unwrap(), text(output.stdout), text(output.stderr))
}

/// Runs it and demands exit code 2 and a message that holds every needle.
fn refused(arguments: &[&str], needles: &[&str]) {
    let (code, out, error) = reynolds(arguments);
    assert_eq!(code, 2, "{arguments:?}: {out}{error}");
    for needle in needles {
        assert!(error.contains(needle), "{arguments:?}: no \"{needle}\" in: {error}");
    }
    assert!(!error.contains("panicked"), "{error}");
}

fn json(arguments: &[&str]) -> serde_json::Value {
    let (code, out, error) = reynolds(arguments);
    assert_eq!(code, 0, "{error}");
    serde_json::from_str(&out).unwrap()
}

#[test]
fn help_lists_every_command() {
    let (code, out, _) = reynolds(&["--help"]);
    assert_eq!(code, 0);
    for command in ["audit", "project", "plan", "run", "sweep", "reproduce", "data", "bench"] {
        assert!(out.lines().any(|line| line.trim_start().starts_with(command)), "{command}: {out}");
    }
    refused(&["--nonsense"], &["unexpected argument"]);
    refused(&[], &["Usage"]);
}

/// The program alone in a folder of its own, with `path` as its PATH.
fn alone(path: &std::path::Path, arguments: &[&str]) -> (Option<i32>, String) {
    let folder = tempfile::tempdir().unwrap();
    let program = folder.path().join("reynolds");
    std::fs::copy(assert_cmd::cargo::cargo_bin("reynolds"), &program).unwrap();
    // A process that another test starts meanwhile holds the copy open for writing until it has become its own program.
    let output = loop {
        match std::process::Command::new(&program).args(arguments).env("PATH", path).output() {
            Err(error) if error.kind() == std::io::ErrorKind::ExecutableFileBusy => std::thread::yield_now(),
            done => break done.unwrap(),
        }
    };
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
    (output.status.code(), text(output.stdout) + &text(output.stderr))
}

#[test]
fn training_is_handed_over_and_its_missing_program_is_named() {
    let path = tempfile::tempdir().unwrap();
    for command in
        [&["run", "so2", "--seeds", "3"][..], &["sweep", "so2"], &["reproduce", "--help"], &["data"], &["bench"]]
    {
        let (code, said) = alone(path.path(), command);
        assert_eq!(code, Some(2), "{said}");
        assert!(said.contains("needs the program reynolds-paper") && said.lines().count() == 1, "{said}");
    }
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        let program = path.path().join("reynolds-paper");
        std::fs::write(&program, "#!/bin/sh\necho handed \"$@\"\nexit 7\n").unwrap();
        std::fs::set_permissions(&program, std::fs::Permissions::from_mode(0o755)).unwrap();
        let (code, said) = alone(path.path(), &["run", "so2", "--seeds", "3", "--help"]);
        assert_eq!((code, said.as_str()), (Some(7), "handed run so2 --seeds 3 --help\n"));
    }
}

#[test]
fn audit_prints_a_table_and_the_reasons() {
    let (_folder, path) = model(NETWORK);
    let (code, out, _) = reynolds(&["audit", path.to_str().unwrap(), "--group", "C4", "--fields", "regular"]);
    assert_eq!(code, 0);
    let line =
        |start: &str| out.lines().find(|line| line.starts_with(start)).unwrap_or_else(|| panic!("{start}: {out}"));
    assert!(line("body.conv.weight").contains("2 regular -> 2 regular"));
    assert!(line("body.conv.bias").contains("2 regular"));
    assert!(line("body.bn.running_var").contains("2 regular"));
    assert!(line("not measured: stem.weight").contains("3 input channels do not split into fields of 4"));
    assert!(line("not measured: head.weight").contains("typed only by a plan"));
    assert!(out.contains("kernel-Frobenius norm, not an operator bound"));
    assert!(!out.contains('\u{1b}'), "no colour when piped");
}

#[test]
fn a_group_alone_shows_both_typings_side_by_side() {
    let (_folder, path) = model(NETWORK);
    let (code, out, _) = reynolds(&["audit", path.to_str().unwrap(), "--group", "C4"]);
    assert_eq!(code, 0);
    assert!(out.contains("trivial: energy") && out.contains("regular: energy") && out.contains("Neither is known"));
    let value = json(&["audit", path.to_str().unwrap(), "--group", "C4", "--json"]);
    let fields: Vec<&str> = value["audits"].as_array().unwrap().iter().map(|a| a["fields"].as_str().unwrap()).collect();
    assert_eq!(fields, ["trivial", "regular"]);
}

#[test]
fn project_then_audit_gives_energy_one_and_projecting_twice_changes_nothing() {
    let (folder, path) = model(NETWORK);
    let at = |name: &str| folder.path().join(name).to_str().unwrap().to_string();
    let (once, twice) = (at("once.safetensors"), at("twice.safetensors"));
    for (group, fields) in [("C4", "regular"), ("D4", "trivial"), ("C2", "regular")] {
        let typing = ["--group", group, "--fields", fields];
        let (code, out, error) = reynolds(&[&["project", path.to_str().unwrap(), &once][..], &typing].concat());
        assert_eq!(code, 0, "{error}");
        assert!(out.contains("body.conv.weight") && out.contains("What may still break equivariance"), "{out}");
        let before = json(&[&["audit", path.to_str().unwrap(), "--json"][..], &typing].concat());
        let after = json(&[&["audit", once.as_str(), "--json"][..], &typing].concat());
        let energy = |value: &serde_json::Value| value["audits"][0]["total"]["energy"].as_f64().unwrap();
        assert!(energy(&before) < 0.7 && (energy(&after) - 1.0).abs() < 1e-12, "{group} {fields}");
        assert_eq!(reynolds(&[&["project", once.as_str(), &twice][..], &typing].concat()).0, 0);
        assert_eq!(fs::read(&once).unwrap(), fs::read(&twice).unwrap(), "{group} {fields}");
        assert_eq!(reynolds(&[&["audit", once.as_str(), "--require", "0.999999"][..], &typing].concat()).0, 0);
        assert_eq!(reynolds(&[&["audit", path.to_str().unwrap(), "--require", "0.99"][..], &typing].concat()).0, 1);
    }
}

#[test]
fn projection_leaves_every_other_tensor_alone() {
    let (folder, path) = model(NETWORK);
    let out = folder.path().join("out.safetensors");
    let typing = ["--group", "C4", "--fields", "regular", "--weights-only"];
    let (code, text, error) =
        reynolds(&[&["project", path.to_str().unwrap(), out.to_str().unwrap()][..], &typing].concat());
    assert_eq!(code, 0, "{error}");
    assert!(text.contains("body.conv.bias") && text.contains("--weights-only"), "{text}");
    let (before, after) = (fs::read(&path).unwrap(), fs::read(&out).unwrap());
    let (before, after) = (SafeTensors::deserialize(&before).unwrap(), SafeTensors::deserialize(&after).unwrap());
    for (name, _) in NETWORK {
        let same = before.tensor(name).unwrap().data() == after.tensor(name).unwrap().data();
        assert_eq!(same, *name != "body.conv.weight", "{name}");
    }
}

#[test]
fn a_blend_keeps_its_share_and_a_subgroup_keeps_more() {
    let (folder, path) = model(NETWORK);
    let out = folder.path().join("out.safetensors");
    let distance = |extra: &[&str]| {
        let typing = ["--group", "D4", "--fields", "regular"];
        let run = [&["project", path.to_str().unwrap(), out.to_str().unwrap()][..], &typing, extra].concat();
        assert_eq!(reynolds(&run).0, 0);
        let value = json(&[&["audit", out.to_str().unwrap(), "--json"][..], &typing].concat());
        value["audits"][0]["total"]["distance"].as_f64().unwrap()
    };
    let whole = json(&["audit", path.to_str().unwrap(), "--json", "--group", "D4", "--fields", "regular"]);
    let whole = whole["audits"][0]["total"]["distance"].as_f64().unwrap();
    assert!((distance(&["--blend", "0.25"]) / whole - 0.75).abs() < 1e-5);
    let (all, some) = (distance(&[]), distance(&["--to", "C4"]));
    assert!(all < 1e-5 && some > 0.1 * whole && some < whole, "{all} {some} {whole}");
    let typing = ["--group", "D4", "--fields", "regular", "--to", "C3"];
    refused(&[&["project", path.to_str().unwrap(), "x.safetensors"][..], &typing].concat(), &["C3 is not a subgroup"]);
}

#[test]
fn a_written_plan_can_be_audited() {
    let (folder, path) = model(NETWORK);
    let plan = folder.path().join("plan.toml");
    let (code, out, _) = reynolds(&["plan", path.to_str().unwrap(), "--group", "C4"]);
    assert_eq!(code, 0);
    assert!(out.contains("name = \"body.conv.weight\"\ndomain = \"2 regular\"\ncodomain = \"2 regular\""), "{out}");
    let done = reynolds(&["plan", path.to_str().unwrap(), "--group", "C4", "--out", plan.to_str().unwrap()]);
    assert_eq!((done.0, fs::read_to_string(&plan).unwrap()), (0, out));
    let value = json(&["audit", path.to_str().unwrap(), "--plan", plan.to_str().unwrap(), "--json"]);
    assert_eq!(value["audits"][0]["total"]["layers"], 2);
    refused(
        &["audit", path.to_str().unwrap(), "--plan", plan.to_str().unwrap(), "--group", "D4"],
        &["group of the plan, C4"],
    );
}

#[test]
fn ranking_finds_the_symmetry_that_was_put_in() {
    let (folder, path) = model(&[("a.weight", &[6, 6, 5, 5]), ("b.weight", &[16, 16])]);
    let out = folder.path().join("out.safetensors");
    let typing = ["--group", "C4", "--fields", "trivial"];
    assert_eq!(reynolds(&[&["project", path.to_str().unwrap(), out.to_str().unwrap()][..], &typing].concat()).0, 0);
    let value = json(&["audit", out.to_str().unwrap(), "--rank", "--json"]);
    assert_eq!(value["ranking"][0]["groups"][0]["group"], "C4", "{value}");
    assert_eq!(value["ranking"][1]["groups"][0]["group"], "S16");
    let (code, text, _) = reynolds(&["audit", out.to_str().unwrap(), "--rank"]);
    assert!(code == 0 && text.contains("Which symmetry? 2-D kernels"), "{text}");
}

#[test]
fn ranking_prefers_the_larger_group_also_under_noise() {
    let (folder, path) = model(&[("a.weight", &[16, 16, 5, 5])]);
    let out = folder.path().join("out.safetensors");
    let typing = ["--group", "D4", "--fields", "trivial"];
    assert_eq!(reynolds(&[&["project", path.to_str().unwrap(), out.to_str().unwrap()][..], &typing].concat()).0, 0);
    let bytes = fs::read(&out).unwrap();
    let file = SafeTensors::deserialize(&bytes).unwrap();
    let data = file.tensor("a.weight").unwrap().data().to_vec();
    let exact: Vec<f32> = data.chunks(4).map(|b| f32::from_le_bytes([b[0], b[1], b[2], b[3]])).collect();
    let size = (exact.iter().map(|w| w * w).sum::<f32>() / exact.len() as f32).sqrt();
    for noise in [0.0, 0.05] {
        let mut random = Random::new(9);
        let noisy = exact.iter().map(|w| w + noise * size * random.normal() as f32).collect();
        save(&out, &[("a.weight", &[16, 16, 5, 5], noisy)]);
        let section = json(&["audit", out.to_str().unwrap(), "--rank", "--json"])["ranking"][0].clone();
        let order: Vec<&str> =
            section["groups"].as_array().unwrap().iter().map(|g| g["group"].as_str().unwrap()).collect();
        assert_eq!((order[0], order[3]), ("D4", "C2"), "{noise}: {section}");
        assert_eq!(section["verdict"], "D4: the largest group within 0.001 of the best");
    }
    let (_, text, _) = reynolds(&["audit", out.to_str().unwrap(), "--rank"]);
    assert!(text.contains("D4: the largest group within 0.001 of the best"), "{text}");
}

#[test]
fn with_nothing_to_compare_no_symmetry_is_claimed() {
    let (folder, path) = model(&[("a.weight", &[8, 8, 1, 1]), ("b.weight", &[7, 5])]);
    let page = folder.path().join("page.html");
    let (model, page) = (path.to_str().unwrap(), page.to_str().unwrap());
    let value = json(&["audit", model, "--rank", "--json", "--group", "C4", "--fields", "trivial", "--html", page]);
    let section = &value["ranking"][0];
    assert_eq!(value["ranking"].as_array().unwrap().len(), 1);
    assert!(section["groups"].as_array().unwrap().is_empty(), "{section}");
    assert!(section["verdict"].as_str().unwrap().contains("nothing to compare"), "{section}");
    let total = &value["audits"][0]["total"];
    assert!(total["layers"] == 0 && total["energy"].is_null() && total["excess"].is_null(), "{total}");
    let (code, text, _) = reynolds(&["audit", model, "--rank", "--group", "C4", "--fields", "trivial"]);
    assert!(code == 0 && text.contains("nothing to compare") && !text.contains("1.0000"), "{text}");
    let page = fs::read_to_string(page).unwrap();
    assert!(page.contains("nothing to compare") && page.contains("energy –") && !page.contains("1.0000"), "{page}");
}

#[test]
fn weights_that_are_not_finite_are_reported_by_audit_and_refused_by_project() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("nan.safetensors");
    let mut weights = vec![1.0_f32; 144];
    weights[7] = f32::NAN;
    save(&path, &[("w.weight", &[4, 4, 3, 3], weights)]);
    let typing = ["--group", "C4", "--fields", "trivial"];
    let (code, out, _) = reynolds(&[&["audit", path.to_str().unwrap()][..], &typing].concat());
    assert!(code == 0 && out.contains("NaN at 7"), "{out}");
    let target = folder.path().join("out.safetensors");
    let run = [&["project", path.to_str().unwrap(), target.to_str().unwrap()][..], &typing].concat();
    refused(&run, &["nan.safetensors", "w.weight", "weight 7 is NaN", "expected finite"]);
    assert!(!target.exists());
}

#[test]
fn a_layer_that_is_not_finite_fails_a_requirement_and_has_no_energy() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("nan.safetensors");
    let (good, mut bad) = (vec![1.0; 9], vec![1.0; 9]);
    bad[4] = f32::NAN;
    save(&path, &[("good.weight", &[1, 1, 3, 3], good), ("bad.weight", &[1, 1, 3, 3], bad)]);
    let file = path.to_str().unwrap();
    let audit = ["audit", file, "--group", "C4", "--fields", "trivial"];
    let (code, _, error) = reynolds(&[&audit[..], &["--require", "0.3"]].concat());
    assert_eq!(code, 1);
    assert!(error.contains("bad.weight") && error.contains("fell short"), "{error}");
    let report = json(&[&audit[..], &["--json"]].concat());
    let layers = report["audits"][0]["layers"].as_array().unwrap();
    let broken = layers.iter().find(|layer| layer["name"] == "bad.weight").unwrap();
    assert!(broken["energy"].is_null() && broken["norm"].is_null() && broken["excess"].is_null(), "{broken}");
}

#[test]
fn a_bias_that_is_not_finite_is_reported_where_only_weights_are_projected() {
    let folder = tempfile::tempdir().unwrap();
    let (path, out) = (folder.path().join("model.safetensors"), folder.path().join("out.safetensors"));
    let weight = (0..4 * 4 * 9).map(|i| (i as f32).sin()).collect();
    save(&path, &[("c.weight", &[4, 4, 3, 3], weight), ("c.bias", &[4], vec![f32::NAN, 1.0, 1.0, 1.0])]);
    let run = ["project", path.to_str().unwrap(), out.to_str().unwrap(), "--group", "C4", "--fields", "regular"];
    refused(&run, &["model.safetensors", "c.bias"]);
    assert!(!out.exists(), "a refused projection leaves no output");
    let (code, text, error) = reynolds(&[&run[..], &["--weights-only"]].concat());
    assert_eq!(code, 0, "{error}");
    assert!(out.exists() && text.contains("c.bias"), "{text}");
}

#[test]
fn bad_input_exits_with_two_and_names_what_is_wrong() {
    let (folder, path) = model(NETWORK);
    let model = path.to_str().unwrap();
    let out = folder.path().join("out.safetensors");
    let out = out.to_str().unwrap();
    let plan = folder.path().join("plan.toml");
    let plan_path = plan.to_str().unwrap();
    refused(&["audit", model, "--group", "X9", "--fields", "trivial"], &["unknown group \"X9\"", "expected C<n>"]);
    refused(&["audit", model], &["expected --group"]);
    refused(&["audit", "missing.safetensors", "--group", "C4"], &["missing.safetensors"]);
    refused(&["audit", model, "--group", "SO2"], &["SO2", "plan"]);
    refused(&["audit", model, "--group", "C4", "--fields", "odd"], &["regular or trivial"]);
    refused(&["audit", model, "--group", "C4", "--require", "2"], &["from 0 to 1"]);
    refused(&["audit", model, "--group", "C4", "--require", "0.5"], &["one typing"]);
    refused(&["audit", model, "--group", "S5", "--fields", "trivial"], &["found none", "S5 does not act"]);
    refused(&["project", model, out, "--group", "C4"], &["--fields"]);
    refused(&["project", model, model, "--group", "C4", "--fields", "regular"], &["model.safetensors"]);
    refused(&["project", model, "out.npz", "--group", "C4", "--fields", "regular"], &["out.npz", ".safetensors"]);
    refused(&["project", model, out, "--group", "C4", "--fields", "regular", "--blend", "x"], &["expected a number"]);
    refused(&["audit", model, "--group", "C4", "--html", model], &["the model itself"]);
    for (layer, needle) in [
        ("name = \"nothing.*\"\ndomain = \"2 regular\"\ncodomain = \"2 regular\"", "no match"),
        (
            "name = \"stem.weight\"\ndomain = \"1 regular\"\ncodomain = \"2 regular\"",
            "expected 4 input channels, got 3",
        ),
        ("name = \"stem.weight\"\ndomain = \"3 scalar\"\ncodomain = \"2 regular\"", "cannot read fields"),
    ] {
        fs::write(&plan, format!("group = \"C4\"\n[[layer]]\n{layer}\n")).unwrap();
        refused(&["audit", model, "--plan", plan_path], &["model.safetensors", needle]);
        refused(&["project", model, out, "--plan", plan_path], &["model.safetensors", needle]);
    }
    fs::write(&plan, "group = 4").unwrap();
    refused(&["audit", model, "--plan", plan_path], &["plan.toml", "line 1"]);
    fs::write(&path, b"not a checkpoint").unwrap();
    refused(&["audit", model, "--group", "C4"], &["model.safetensors"]);
    assert!(!Path::new(out).exists() && !Path::new("out.npz").exists());
}
