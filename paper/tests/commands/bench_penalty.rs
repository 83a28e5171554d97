//! `reynolds bench penalty`: a gradient worked out by hand, its row in JSON and for people.

use reynolds_checkpoint::{Checkpoint, Numbers, write_npz};

use super::support::Folder;

const TINY: &str = "bench penalty --repeats 2 --threads 1";
/// Layers, channels of each, and points along a side of their kernels.
const SHAPE: [usize; 5] = [2, 8, 8, 3, 3];

/// A file with an array `name` of that shape, 0 but for a 1 in the middle of the first 3×3 kernel.
fn write(folder: &Folder, file: &str, name: &str, shape: &[usize]) {
    let mut numbers = vec![0.0; shape.iter().product()];
    numbers[4] = 1.0;
    write_npz(&folder.path(file), &[(name, shape, Numbers::F32(&numbers))]).unwrap();
}

#[test]
fn the_gradient_of_one_weight_lies_on_its_orbit() {
    let folder = Folder::new();
    write(&folder, "in.npz", "weights", &SHAPE);
    let row = folder.row(&format!("{TINY} --weights-file in.npz --out out.npz --json"));
    // A quarter turn takes the kernel of orientations (k, k) to (k + 1, k + 1), and its middle stays: P(W) is 1/4 at four places.
    let value = 1e-3 * 4.0 / 16.0 + 1e-1 * (9.0 + 3.0) / 16.0;
    assert!((row["value"].as_f64().unwrap() - value).abs() < 1e-5 * value, "{value} {row}");
    let mut expected = vec![0.0; SHAPE.iter().product()];
    (0..4).for_each(|k| expected[(k * SHAPE[2] + k) * 9 + 4] = 2e-3 * 0.25 - 2e-1 * 0.25);
    expected[4] = 2e-3 * 0.25 + 2e-1 * 0.75;
    let file = Checkpoint::open(folder.path("out.npz")).unwrap();
    let entry = file.entry("gradient").unwrap();
    assert_eq!(entry.shape, SHAPE);
    let gradient = file.read(entry).unwrap();
    let apart = gradient.to_f64().iter().zip(&expected).map(|(a, b): (&f64, &f64)| (a - b).abs()).fold(0.0, f64::max);
    assert!(apart < 1e-7, "{apart}");
}

#[test]
fn a_row_has_the_keys_of_the_contract_and_lines_for_people() {
    let folder = Folder::new();
    let small = format!("{TINY} --channels 4 --kernel 3 --weights 1e3");
    let row = folder.row(&format!("{small} --json"));
    assert_eq!((row["row"].as_str(), row["who"].as_str()), (Some("penalty"), Some("reynolds")));
    assert_eq!((row["device"].as_str(), row["threads"].as_u64()), (Some("cpu"), Some(1)));
    // 144 numbers a layer: 7 of them are nearest to 1000.
    assert_eq!((row["layers"].as_u64(), row["weights"].as_u64()), (Some(7), Some(1008)));
    for key in
        ["seconds", "with_value", "plain_seconds", "adam_seconds", "copy_seconds", "floor_seconds", "bind_seconds"]
    {
        assert!(row[key].as_f64().unwrap() > 0.0, "{key}: {row}");
    }
    assert!(row["operations"].as_u64().unwrap() > 0 && row["beside_adam"]["pairs"] == 2, "{row}");
    assert!(row.get("network").is_none(), "{row}");
    let steps: Vec<&str> =
        row["decoupled"].as_array().unwrap().iter().map(|row| row["step"].as_str().unwrap()).collect();
    assert_eq!(steps, ["squared", "plain", "target"]);
    for key in ["seconds", "floor_seconds", "bytes_at_copy_speed", "operations_seconds"] {
        assert!(row["decoupled"][0][key].as_f64().is_some(), "{key}: {row}");
    }
    for key in ["launches", "indexed_bytes"] {
        assert!(row["decoupled"][0].get(key).is_none(), "{key} on a CPU: {row}");
    }
    let text = folder.done(&format!("{small} --pairs 2 --batch 1 --side 4"));
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
    let folder = Folder::new();
    write(&folder, "in.npz", "weights", &SHAPE);
    write(&folder, "flat.npz", "weights", &[8, 8, 3, 3]);
    write(&folder, "other.npz", "kernels", &SHAPE);
    for (options, needles) in [
        ("--layers 1 --channels 4 --group Q9", &["error: --group: ", "unknown group \"Q9\""][..]),
        ("--layers 1 --channels 4 --group SO2", &["error: --group: ", "SO2"]),
        ("--layers 1 --channels 4 --device tpu", &["tpu"]),
        ("--layers 1 --channels 4 --out no/such/folder/out.npz", &["no/such/folder/out.npz"]),
        ("--layers 1 --channels 6", &["error: --channels: expected regular fields of C4"]),
        ("--weights 0", &["--weights", "1e9"]),
        ("--weights 1e6 --layers 3", &["--layers"]),
        ("--weights-file in.npz --out ./in.npz", &["--out: expected another file than that of --weights-file"]),
        ("--weights-file missing.npz", &["missing.npz"]),
        ("--weights-file flat.npz", &["[8, 8, 3, 3]"]),
        ("--weights-file other.npz", &["an array \"weights\""]),
    ] {
        folder.refused(&format!("{TINY} {options}"), needles);
    }
}
