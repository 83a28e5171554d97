//! `reynolds bench penalty`: the gradient against the mean of four turns written down here, its row in JSON and for people.

use std::fs;
use std::path::Path;

use reynolds_checkpoint::{Checkpoint, Values};
use safetensors::tensor::{Dtype, TensorView};
use serde_json::Value;

use super::support::{done, refused};

const TINY: &[&str] = &["bench", "penalty", "--repeats", "2", "--threads", "1"];
/// Layers, channels of each, and points along a side of their kernels.
const SHAPE: [usize; 5] = [2, 8, 8, 3, 3];

/// A file with an array `name` of that shape, and its numbers.
fn write(path: &Path, name: &str, shape: &[usize]) -> Vec<f32> {
    let numbers: Vec<f32> =
        (0..shape.iter().product()).map(|n: usize| ((n * n + 7 * n) % 101) as f32 / 50.0 - 1.0).collect();
    let bytes: Vec<u8> = numbers.iter().flat_map(|number| number.to_le_bytes()).collect();
    let view = TensorView::new(Dtype::F32, shape.to_vec(), &bytes).unwrap();
    fs::write(path, safetensors::serialize([(name, view)], None).unwrap()).unwrap();
    numbers
}

/// A quarter turn of every kernel: orientation α goes to α + 1, point (y, x) comes from (x, k − 1 − y).
fn turned(weights: &[f32]) -> Vec<f32> {
    let [layers, channels, _, side, _] = SHAPE;
    let back = |channel: usize| channel - channel % 4 + (channel + 3) % 4;
    let mut turned = Vec::with_capacity(weights.len());
    for layer in 0..layers {
        for (out, into) in (0..channels).flat_map(|out| (0..channels).map(move |into| (out, into))) {
            for (y, x) in (0..side).flat_map(|y| (0..side).map(move |x| (y, x))) {
                let kernel = (layer * channels + back(out)) * channels + back(into);
                turned.push(weights[(kernel * side + x) * side + side - 1 - y]);
            }
        }
    }
    turned
}

#[test]
fn the_gradient_is_that_of_the_mean_of_four_turns() {
    let folder = tempfile::tempdir().unwrap();
    let weights = write(&folder.path().join("in.safetensors"), "weights", &SHAPE);
    let more = ["--weights-file", "in.safetensors", "--out", "out.npz", "--json"];
    let text = done(folder.path(), &[TINY, &more].concat());
    let mut turns = vec![turned(&weights)];
    (0..2).for_each(|n| turns.push(turned(&turns[n])));
    assert_eq!(turned(&turns[2]), weights);
    let mut value = 0.0;
    let expected: Vec<f64> = (0..weights.len())
        .map(|n| {
            let weight = f64::from(weights[n]);
            let projected = (weight + turns.iter().map(|turn| f64::from(turn[n])).sum::<f64>()) / 4.0;
            value += 1e-3 * projected.powi(2) + 1e-1 * (weight - projected).powi(2);
            2e-3 * projected + 2e-1 * (weight - projected)
        })
        .collect();
    let row: Value = serde_json::from_str(&text).unwrap();
    assert!((row["value"].as_f64().unwrap() - value).abs() < 1e-5 * value, "{value} {row}");
    let file = Checkpoint::open(folder.path().join("out.npz")).unwrap();
    let entry = file.entry("gradient").unwrap();
    assert_eq!(entry.shape, SHAPE);
    let Values::F32(gradient) = file.read(entry).unwrap() else { panic!("{}", entry.dtype) };
    let apart = gradient.iter().zip(&expected).map(|(&found, expected)| (f64::from(found) - expected).abs());
    assert!(apart.fold(0.0, f64::max) < 1e-7);
}

#[test]
fn a_row_has_the_keys_of_the_contract_and_lines_for_people() {
    let folder = tempfile::tempdir().unwrap();
    let small = ["--channels", "4", "--kernel", "3", "--weights", "1e3"];
    let text = done(folder.path(), &[TINY, &small, &["--json"]].concat());
    let row: Value = serde_json::from_str(&text).unwrap();
    assert_eq!((row["row"].as_str(), row["who"].as_str()), (Some("penalty"), Some("reynolds")));
    assert_eq!((row["device"].as_str(), row["threads"].as_u64()), (Some("cpu"), Some(1)));
    // 144 numbers a layer: 7 of them are nearest to 1000.
    assert_eq!((row["layers"].as_u64(), row["weights"].as_u64()), (Some(7), Some(1008)));
    for key in
        ["seconds", "with_value", "plain_seconds", "adam_seconds", "copy_seconds", "floor_seconds", "bind_seconds"]
    {
        assert!(row[key].as_f64().unwrap() > 0.0, "{key}: {row}");
    }
    assert!(
        row["operations"].as_u64().unwrap() > 0 && row["beside_adam"]["pairs"] == 2 && row.get("network").is_none()
    );
    let steps: Vec<&str> =
        row["decoupled"].as_array().unwrap().iter().map(|row| row["step"].as_str().unwrap()).collect();
    assert_eq!(steps, ["squared", "plain", "target"]);
    for key in ["seconds", "floor_seconds", "bytes_at_copy_speed", "operations_seconds", "launches"] {
        assert!(row["decoupled"][0][key].as_f64().is_some(), "{key}: {row}");
    }
    let steps = ["--pairs", "2", "--batch", "1", "--side", "4"];
    let text = done(folder.path(), &[TINY, &small, &steps].concat());
    assert!(text.starts_with("7 convolutions 4x4x3x3, C4 regular, 1008 weights, cpu, 1 threads"), "{text}");
    for step in ["squared", "plain", "target"] {
        assert!(text.contains(&format!("  decoupled step, {step} ")), "{text}");
    }
    for added in ["nothing", "squared", "plain", "tape"] {
        assert!(text.contains(&format!("a step, batch 1, 4x4: {added}")), "{text}");
    }
}

#[test]
fn what_cannot_be_measured_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let tiny = [TINY, &["--layers", "1", "--channels", "4"]].concat();
    for (group, why) in [("Q9", "unknown group \"Q9\""), ("SO2", "SO2")] {
        let arguments = [&tiny[..], &["--group", group]].concat();
        refused(folder.path(), &arguments, &["error: --group: ", why]);
    }
    for (option, value) in [("--device", "tpu"), ("--out", "no/such/folder/out.npz")] {
        refused(folder.path(), &[&tiny[..], &[option, value]].concat(), &[value]);
    }
    refused(
        folder.path(),
        &[TINY, &["--layers", "1", "--channels", "6"]].concat(),
        &["error: --channels: expected regular fields of C4"],
    );
    refused(folder.path(), &[TINY, &["--weights", "0"]].concat(), &["--weights", "1e9"]);
    refused(folder.path(), &[TINY, &["--weights", "1e6", "--layers", "3"]].concat(), &["--layers"]);
    let file = |name: &str| -> Vec<String> {
        TINY.iter().copied().chain(["--weights-file", name]).map(String::from).collect()
    };
    write(&folder.path().join("in.npz"), "weights", &SHAPE);
    let over = [TINY, &["--weights-file", "in.npz", "--out", "./in.npz"]].concat();
    refused(folder.path(), &over, &["--out: expected another file than that of --weights-file"]);
    write(&folder.path().join("flat.safetensors"), "weights", &[8, 8, 3, 3]);
    write(&folder.path().join("other.safetensors"), "kernels", &SHAPE);
    for (name, needle) in [
        ("missing.npz", "missing.npz"),
        ("flat.safetensors", "[8, 8, 3, 3]"),
        ("other.safetensors", "an array \"weights\""),
    ] {
        let arguments = file(name);
        let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
        refused(folder.path(), &arguments, &[needle]);
    }
}
