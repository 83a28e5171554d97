//! `reynolds bench projection`: from text to P(W), in and out of .npz.

use reynolds_checkpoint::{Checkpoint, Numbers, Values, write_npz};
use serde_json::json;

use super::support::Folder;

const C4: &str = "bench projection --group C4 --domain regular --codomain '2 regular' --repeats 2";

#[test]
fn a_row_has_the_keys_of_the_contract() {
    let row = Folder::new().row(&format!("{C4} --kernel 3 --check --json"));
    assert_eq!([&row["row"], &row["who"], &row["group"], &row["form"]], ["projection", "reynolds", "C4", "orbits"]);
    assert_eq!([&row["weights"], &row["rank"], &row["threads"]], [288, 72, 1]);
    assert_eq!((row["precision"].as_str(), &row["shape"]), (Some("f32"), &json!([8, 4, 3, 3])));
    for key in ["build_seconds", "first_build_seconds", "seconds", "copy_seconds"] {
        assert!(row[key].as_f64().unwrap() > 0.0, "{key}: {row}");
    }
    assert!(row["idempotent"] == 0.0 && row["haar_difference"].as_f64().unwrap() < 1e-6, "{row}");
}

#[test]
fn weights_come_from_a_file_and_their_projection_goes_to_one() {
    let folder = Folder::new();
    // Entry (row, column) of a circulant block depends on row − column alone: the mean along each diagonal stays.
    let weights: Vec<f64> = (0..32).map(|n| f64::from(n * n % 23)).collect();
    write_npz(&folder.path("in.npz"), &[("weights", &[8, 4], Numbers::F64(&weights))]).unwrap();
    let text = folder.done(&format!("{C4} --weights in.npz --out out.npz --precision f64"));
    assert!(text.starts_with("C4: regular -> 2 regular, [8, 4]: 32 weights, rank 8, orbits\n"), "{text}");
    let archive = Checkpoint::open(folder.path("out.npz")).unwrap();
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
    let folder = Folder::new();
    let row = |line: &str| folder.row(&format!("bench projection --repeats 1 --json {line}"));
    let so2 = "--group SO2 --domain 2x(0..2) --codomain 1x(0..2)";
    // Two real numbers for each pair of equal orders above 0, one at 0.
    assert_eq!(row(so2)["rank"], 2 * (1 + 2 + 2));
    let band = row(&format!("{so2} --kernel 5 --band"));
    let wide = row(&format!("{so2} --kernel 5 --band --max-degrees 0,2,2"));
    assert!(band["form"] == "basis" && band["rank"] == wide["rank"], "{band} {wide}");
    // The orbits of S_n on quadruples: partitions of a set of four.
    let pairs = row("--group S8 --domain permutation^2 --codomain permutation^2");
    assert_eq!((&pairs["rank"], &pairs["weights"]), (&15.into(), &4096.into()));
}

#[test]
fn what_is_refused_names_its_option() {
    let folder = Folder::new();
    write_npz(&folder.path("in.npz"), &[("weights", &[2], Numbers::F32(&[1.0, f32::NAN]))]).unwrap();
    for (line, needle) in [
        (C4.replace("C4", "Q9").as_str(), "--group"),
        (&C4.replace("--domain regular", "--domain irregular"), "--domain"),
        (&C4.replace("2 regular", "irrep(7)"), "--codomain"),
        (&format!("{C4} --dimensions 4"), "--dimensions"),
        (&format!("{C4} --precision f16"), "--precision"),
        (&format!("{C4} --weights in.npz"), "--weights: shape: expected [8, 4], found [2]"),
        (&format!("{C4} --weights none.npz"), "none.npz"),
        (&format!("{C4} --out no/such/folder.npz"), "--out"),
        (&format!("{C4} --weights in.npz --out ./in.npz"), "--out: expected another file than that of --weights"),
        (
            &format!("{C4} --kernel 1024 --dimensions 3"),
            "--kernel: weights: expected at most 100000000, found 34359738368",
        ),
        ("bench projection --group S6 --domain permutation --codomain permutation --check", "720 elements"),
        ("bench projection --group SO2 --domain 1x1 --codomain 1x1 --kernel 5", "--kernel"),
        (&format!("{C4} --band"), "--kernel"),
        (&format!("{C4} --kernel 4 --band"), "--band"),
        (&format!("{C4} --kernel 3 --band --max-degrees 0"), "--band"),
        (&format!("{C4} --kernel 3 --band --check"), "--check"),
    ] {
        folder.refused(line, &[needle]);
    }
}
