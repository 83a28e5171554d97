//! `reynolds bench ct` and `reynolds bench medmnist`: rows in JSON and for people, on networks so small that they take moments.

use serde_json::Value;

use super::support::{done, refused};

#[rustfmt::skip]
const TINY: &[&str] = &["bench", "ct", "--side", "16", "--stages", "2", "--blocks", "1", "--batch", "1", "--steps", "2", "--warmup", "1"];

#[test]
fn every_combination_is_one_row_with_the_keys_of_the_contract() {
    let folder = tempfile::tempdir().unwrap();
    let modes = ["plain", "sample", "projected", "rpp", "penalty"];
    let more: Vec<&str> = modes.iter().flat_map(|mode| ["--mode", *mode]).chain(["--json"]).collect();
    let text = done(folder.path(), &[TINY, &more].concat());
    let rows: Vec<Value> = text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(rows.len(), 5);
    for (number, row) in rows.iter().enumerate() {
        assert_eq!(row["architecture"], "dicdnet");
        assert_eq!(row["mode"], modes[number]);
        assert_eq!(row["batch"], 1);
        assert_eq!(
            (row["side"].as_u64(), row["precision"].as_str(), row["device"].as_str()),
            (Some(16), Some("f32"), Some("cpu"))
        );
        for key in ["train_ms", "train_images_per_s", "inference_ms", "inference_images_per_s"] {
            assert!(row[key].as_f64().unwrap() > 0.0, "{key}: {row}");
        }
        assert!(row["peak_memory_mib"].is_null() && row.get("pairs").is_none());
    }
    let parameters = |mode: usize| rows[mode]["parameters"].as_u64().unwrap();
    assert!(parameters(3) > parameters(0) && parameters(4) == parameters(0));
}

#[test]
fn pairs_say_what_the_penalty_adds_in_a_norm() {
    let folder = tempfile::tempdir().unwrap();
    let pairs = ["--pairs", "3", "--norm", "spectral"];
    let text = done(folder.path(), &[TINY, &pairs, &["--batch", "2", "--json"]].concat());
    let rows: Vec<Value> = text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!([&rows[0]["batch"], &rows[1]["batch"]], [1, 2]);
    let row = &rows[1];
    assert_eq!((row["norm"].as_str(), row["pairs"]["pairs"].as_u64()), (Some("spectral"), Some(3)));
    let limit = |key: &str| row["pairs"][key].as_f64().unwrap();
    assert!(limit("low_us") <= limit("added_us") && limit("added_us") <= limit("high_us") && limit("without_us") > 0.0);
    let text = done(folder.path(), &[TINY, &pairs].concat());
    let lines: Vec<&str> = text.lines().collect();
    assert_eq!(lines.len(), 3, "{text}");
    assert!(
        lines[0].starts_with("network") && lines[1].starts_with("dicdnet") && lines[2].contains("penalty (spectral):")
    );
}

#[test]
fn what_is_unknown_is_named() {
    let folder = tempfile::tempdir().unwrap();
    for (arguments, needle) in [
        (["--architecture", "unet"], "--architecture"),
        (["--mode", "best"], "--mode"),
        (["--precision", "bf16"], "bf16"),
        (["--norm", "largest"], "--norm"),
        (["--device", "tpu"], "tpu"),
    ] {
        refused(folder.path(), &[TINY, &arguments].concat(), &[needle]);
    }
}

#[rustfmt::skip]
const VOLUMES: &[&str] = &["bench", "medmnist", "--width", "1", "--batch", "2", "--steps", "1", "--warmup", "1"];

#[test]
fn networks_of_volumes_are_built_trained_and_evaluated() {
    let folder = tempfile::tempdir().unwrap();
    let text = done(folder.path(), &[VOLUMES, &["--model", "cnn", "--model", "ours", "--json"]].concat());
    let rows: Vec<Value> = text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!([&rows[0]["model"], &rows[1]["model"]], ["cnn", "ours"]);
    assert_eq!([&rows[0]["penalty"], &rows[1]["penalty"]], [false, true]);
    for row in &rows {
        assert_eq!((row["group"].as_str(), row["batch"].as_u64()), (Some("so3"), Some(2)));
        assert_eq!((row["precision"].as_str(), row["device"].as_str()), (Some("f32"), Some("cpu")));
        let keys =
            ["train_ms", "train_samples_per_s", "inference_ms", "inference_samples_per_s", "build_ms", "bind_ms"];
        assert!(keys.iter().all(|key| row[key].as_f64().unwrap() > 0.0), "{row}");
        assert!(row["peak_memory_mib"].is_null() && row["parameters"].as_u64().unwrap() > 10_000, "{row}");
        assert!(row["commit"].is_string(), "{row}");
        assert!(row.get("pairs").is_none());
    }
    let text = done(folder.path(), &[VOLUMES, &["--without-penalty", "--json"]].concat());
    let row: Value = serde_json::from_str(&text).unwrap();
    assert_eq!((row["model"].as_str(), row["penalty"].as_bool()), (Some("ours"), Some(false)));
}

#[test]
fn pairs_say_what_the_penalty_adds_to_ours() {
    let folder = tempfile::tempdir().unwrap();
    let text = done(folder.path(), &[VOLUMES, &["--pairs", "2", "--group", "o3"]].concat());
    let lines: Vec<&str> = text.lines().collect();
    assert!(lines.len() == 3 && lines[1].starts_with("ours   o3") && lines[2].contains("2 pairs"), "{text}");
    refused(folder.path(), &[VOLUMES, &["--pairs", "2", "--model", "cnn"]].concat(), &["pairs", "0"]);
    for (option, value) in [("--model", "unet"), ("--group", "c4"), ("--nonlinearity", "relu"), ("--precision", "bf16")]
    {
        refused(folder.path(), &[VOLUMES, &[option, value]].concat(), &[value]);
    }
}
