//! `reynolds bench projection`: from text to P(W), in and out of .npz.

use reynolds_checkpoint::{Checkpoint, Values};
use reynolds_checkpoint::{Numbers, write_npz};
use serde_json::Value;

use super::support::{done, refused};

#[rustfmt::skip]
const C4: &[&str] = &["bench", "projection", "--group", "C4", "--domain", "regular", "--codomain", "2 regular", "--repeats", "2"];

#[test]
fn a_row_has_the_keys_of_the_contract() {
    let folder = tempfile::tempdir().unwrap();
    let text = done(folder.path(), &[C4, &["--kernel", "3", "--check", "--json"]].concat());
    assert_eq!(text.lines().count(), 1, "{text}");
    let row: Value = serde_json::from_str(&text).unwrap();
    assert_eq!([&row["row"], &row["who"], &row["group"], &row["form"]], ["projection", "reynolds", "C4", "orbits"]);
    assert_eq!([&row["weights"], &row["rank"], &row["threads"]], [288, 72, 1]);
    assert_eq!((row["precision"].as_str(), &row["shape"]), (Some("f32"), &serde_json::json!([8, 4, 3, 3])));
    for key in ["build_seconds", "first_build_seconds", "seconds", "copy_seconds"] {
        assert!(row[key].as_f64().unwrap() > 0.0, "{key}: {row}");
    }
    assert!(row["idempotent"] == 0.0 && row["haar_difference"].as_f64().unwrap() < 1e-6, "{row}");
}

#[test]
fn weights_come_from_a_file_and_their_projection_goes_to_one() {
    let folder = tempfile::tempdir().unwrap();
    let [given, out] = ["in.npz", "out.npz"].map(|name| folder.path().join(name));
    // Entry (row, column) of a circulant block depends on row − column alone: the mean along each diagonal stays.
    let weights: Vec<f64> = (0..32).map(|n| f64::from(n * n % 23)).collect();
    write_npz(&given, &[("weights", &[8, 4], Numbers::F64(&weights))]).unwrap();
    let files = ["--weights", "in.npz", "--out", "out.npz", "--precision", "f64"];
    let text = done(folder.path(), &[C4, &files].concat());
    assert!(text.starts_with("C4: regular -> 2 regular, [8, 4]: 32 weights, rank 8, orbits\n"), "{text}");
    let archive = Checkpoint::open(&out).unwrap();
    let entry = archive.entry("projected").unwrap();
    assert_eq!((entry.shape.as_slice(), entry.dtype.to_string().as_str()), (&[8, 4][..], "f64"));
    let Values::F64(projected) = archive.read(entry).unwrap() else { panic!("single precision") };
    for (place, &found) in projected.iter().enumerate() {
        let (block, turn) = (place / 16, (place / 4 + 4 - place % 4) % 4);
        let mean = (0..4).map(|i| weights[16 * block + 4 * ((i + turn) % 4) + i]).sum::<f64>() / 4.0;
        assert!((found - mean).abs() < 1e-12, "{place}: {found} {mean}");
    }
}

#[test]
fn continuous_groups_and_permutations_are_typed_as_well() {
    let folder = tempfile::tempdir().unwrap();
    let row = |arguments: &[&str]| -> Value {
        let text = done(folder.path(), &[&["bench", "projection", "--repeats", "1", "--json"], arguments].concat());
        serde_json::from_str(&text).unwrap()
    };
    let so2 = ["--group", "SO2", "--domain", "2x(0..2)", "--codomain", "1x(0..2)"];
    // Two real numbers for each pair of equal orders above 0, one at 0.
    assert_eq!(row(&so2)["rank"], 2 * (1 + 2 + 2));
    let band = row(&[&so2[..], &["--kernel", "5", "--band"]].concat());
    let wide = row(&[&so2[..], &["--kernel", "5", "--band", "--max-degrees", "0,2,2"]].concat());
    assert!(band["form"] == "basis" && band["rank"] == wide["rank"], "{band} {wide}");
    // The orbits of S_n on quadruples: partitions of a set of four.
    let pairs = row(&["--group", "S8", "--domain", "permutation^2", "--codomain", "permutation^2"]);
    assert_eq!((&pairs["rank"], &pairs["weights"]), (&15.into(), &4096.into()));
}

#[test]
fn what_is_refused_names_its_option() {
    let folder = tempfile::tempdir().unwrap();
    write_npz(&folder.path().join("in.npz"), &[("weights", &[2], Numbers::F32(&[1.0, f32::NAN]))]).unwrap();
    for (arguments, needle) in [
        (["--group", "Q9"], "--group"),
        (["--domain", "irregular"], "--domain"),
        (["--codomain", "irrep(7)"], "--codomain"),
        (["--dimensions", "4"], "--dimensions"),
        (["--precision", "f16"], "--precision"),
        (["--weights", "in.npz"], "--weights: shape: expected [8, 4], found [2]"),
        (["--weights", "none.npz"], "none.npz"),
        (["--out", "no/such/folder.npz"], "--out"),
    ] {
        let kept: Vec<&str> = match C4.iter().position(|word| *word == arguments[0]) {
            Some(place) => [&C4[..place], &C4[place + 2..]].concat(),
            None => C4.to_vec(),
        };
        refused(folder.path(), &[&kept[..], &arguments].concat(), &[needle]);
    }
    let over = ["--weights", "in.npz", "--out", "./in.npz"];
    refused(folder.path(), &[C4, &over].concat(), &["--out: expected another file than that of --weights"]);
    let many = "--kernel: weights: expected at most 100000000, found 34359738368";
    refused(folder.path(), &[C4, &["--kernel", "1024", "--dimensions", "3"]].concat(), &[many]);
    let s6 = ["--group", "S6", "--domain", "permutation", "--codomain", "permutation", "--check"];
    refused(folder.path(), &[&["bench", "projection"], &s6[..]].concat(), &["--check", "720 elements"]);
    let so2 = ["--group", "SO2", "--domain", "1x1", "--codomain", "1x1", "--kernel", "5"];
    refused(folder.path(), &[&["bench", "projection"], &so2[..]].concat(), &["--kernel"]);
    refused(folder.path(), &[C4, &["--band"]].concat(), &["--kernel"]);
    refused(folder.path(), &[C4, &["--kernel", "4", "--band"]].concat(), &["--band"]);
    refused(folder.path(), &[C4, &["--kernel", "3", "--band", "--max-degrees", "0"]].concat(), &["--band"]);
    refused(folder.path(), &[C4, &["--kernel", "3", "--band", "--check"]].concat(), &["--check"]);
}
