//! `reynolds bench step`: rows in JSON and for people, on networks so small that they take moments.

use std::path::Path;

use serde_json::Value;

use super::support::{done, refused};

/// An experiment and the settings that make its step small.
const SMALL: [(&str, &str); 5] = [
    ("so2", "data.points=20 model.so2.hidden_channels=2"),
    ("rings", "data.points=20 model.network=mlp"),
    ("smoke", "model.architecture=rsteer model.hidden=4 model.layers=2 data.batch=2 data.out_length=2"),
    ("ct", "data.side=16 data.patch=16 model.stages=2 model.blocks=1 data.batch=1"),
    ("medmnist", "model.width=1 model.architecture=ours data.set=nodule data.batch=2"),
];

const COUNTS: [&str; 4] = ["--steps", "2", "--warmup", "1"];

fn step<'a>(experiment: &'a str, settings: &'a str, more: &[&'a str]) -> Vec<&'a str> {
    let set = settings.split_whitespace().flat_map(|setting| ["--set", setting]);
    ["bench", "step", experiment].into_iter().chain(set).chain(COUNTS).chain(more.iter().copied()).collect()
}

fn small(experiment: &str) -> &'static str {
    SMALL.iter().find(|(name, _)| *name == experiment).unwrap().1
}

fn rows(folder: &Path, arguments: &[&str]) -> Vec<Value> {
    done(folder, arguments).lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

#[test]
fn every_experiment_is_a_row_with_the_keys_of_the_contract() {
    let folder = tempfile::tempdir().unwrap();
    for (experiment, settings) in SMALL {
        let row = rows(folder.path(), &step(experiment, settings, &["--json"])).remove(0);
        assert_eq!([&row["row"], &row["experiment"], &row["precision"]], ["step", experiment, "f32"]);
        assert_eq!((row["device"].as_str(), row["penalty"].as_bool()), (Some("cpu"), Some(false)));
        let shown = settings.split_whitespace().map(|setting| setting.split('=').next().unwrap());
        assert!(shown.clone().any(|key| row["settings"][key].is_string()) && row["commit"].is_string(), "{row}");
        for key in ["train_ms", "train_samples_per_s", "inference_ms", "inference_samples_per_s", "build_ms", "bind_ms"]
        {
            assert!(row[key].as_f64().unwrap() > 0.0, "{key}: {row}");
        }
        assert!(row["batch"].as_u64().unwrap() > 0 && row["parameters"].as_u64().unwrap() > 10, "{row}");
        assert!(row["peak_memory_mib"].is_null() && row.get("pairs").is_none(), "{row}");
    }
}

#[test]
fn modes_are_settings_and_minibatches_are_rows() {
    let folder = tempfile::tempdir().unwrap();
    let of = |mode: &str| rows(folder.path(), &step("ct", &format!("{} {mode}", small("ct")), &["--json"])).remove(0);
    let parameters = |mode: &str| of(mode)["parameters"].as_u64().unwrap();
    let plain = parameters("projected=true");
    assert_eq!(parameters("sample.weight=1e-8"), plain);
    assert!(parameters("train.parametrisation.kind=residual") > plain);
    let penalised = of("penalty.lambda_perp=1 penalty.norm=spectral");
    assert_eq!((penalised["penalty"].as_bool(), penalised["norm"].as_str()), (Some(true), Some("spectral")));
    let arguments = step("ct", small("ct"), &["--batch", "1", "--batch", "2", "--json"]);
    let batches: Vec<u64> = rows(folder.path(), &arguments).iter().map(|row| row["batch"].as_u64().unwrap()).collect();
    assert_eq!(batches, [1, 2]);
}

#[test]
fn pairs_say_what_the_penalty_adds() {
    let folder = tempfile::tempdir().unwrap();
    for experiment in ["so2", "smoke", "ct", "medmnist"] {
        let row = rows(folder.path(), &step(experiment, small(experiment), &["--pairs", "2", "--json"])).remove(0);
        assert_eq!(row["pairs"]["pairs"], 2, "{row}");
        let limit = |key: &str| row["pairs"][key].as_f64().unwrap();
        assert!(limit("low_us") <= limit("added_us") && limit("added_us") <= limit("high_us"), "{row}");
        assert!(limit("without_us") > 0.0 && row["alone_us"].as_f64().unwrap() > 0.0, "{row}");
    }
    let text = done(folder.path(), &step("ct", small("ct"), &["--pairs", "2"]));
    let lines: Vec<&str> = text.lines().collect();
    assert!(lines[0].contains("train ms") && lines[1].split_whitespace().take(3).eq(["ct", "1", "f32"]), "{text}");
    assert!(lines[2].contains("model.stages=2") && lines[3].contains("penalty (frobenius): "), "{text}");
    assert!(lines[3].contains("2 pairs") && lines.len() == 4, "{text}");
}

#[test]
fn what_cannot_be_measured_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let refuse = |arguments: &[&str], needles: &[&str]| refused(folder.path(), arguments, needles);
    let ct = |more: &[&'static str]| step("ct", small("ct"), more);
    refuse(&["bench", "step", "mnist"], &["unknown experiment \"mnist\"", "medmnist"]);
    refuse(&ct(&["--set", "model.architecture=unet"]), &["--set", "model.architecture", "unet"]);
    refuse(&ct(&["--set", "train.precision=bf16"]), &["bf16"]);
    refuse(&step("so2", small("so2"), &["--set", "train.precision=bf16"]), &["train.precision: expected f32"]);
    refuse(&ct(&["--set", "penalty.norm=largest"]), &["penalty.norm", "largest"]);
    refuse(&ct(&["--device", "tpu"]), &["tpu"]);
    refuse(&ct(&["--batch", "0"]), &["--batch", "found 0"]);
    refuse(&step("so2", small("so2"), &["--batch", "8"]), &["--batch: unknown key \"data.batch\""]);
    for (experiment, settings) in
        [("rings", small("rings")), ("medmnist", "model.architecture=cnn model.width=1 data.batch=2")]
    {
        let none = "--pairs: expected 0: this model has no regularised parameters, found 2";
        refuse(&step(experiment, settings, &["--pairs", "2"]), &[none]);
    }
    refuse(&["bench", "ct", "--mode", "plain", "--json"], &["bench ct: now called bench step ct"]);
    refuse(&["bench", "medmnist", "--help"], &["bench medmnist: now called bench step medmnist"]);
}
