//! `reynolds bench metrics`: PSNR and SSIM of the slices of a .npz.

use std::path::Path;

use reynolds_checkpoint::{Numbers, write_npz};
use serde_json::Value;

use super::support::{done, refused};

const METRICS: &[&str] = &["bench", "metrics", "--images", "slices.npz", "--repeats", "2"];

/// Two pairs of constant slices: 21 apart in eight bits, and equal; `name` is what the second array is called.
fn slices(folder: &Path, name: &str, sides: [usize; 2]) {
    let shape = [2, sides[0], sides[1]];
    let pixels = sides[0] * sides[1];
    let pair = |values: [f32; 2]| values.iter().flat_map(|&value| vec![value; pixels]).collect::<Vec<f32>>();
    let (truth, image) = (pair([30.0, 50.0]), pair([40.5, 50.0]));
    let arrays = [("truth", &shape[..], Numbers::F32(&truth)), (name, &shape[..], Numbers::F32(&image))];
    write_npz(&folder.join("slices.npz"), &arrays).unwrap();
}

#[test]
fn slices_are_judged_one_by_one() {
    let folder = tempfile::tempdir().unwrap();
    slices(folder.path(), "image", [12, 11]);
    let row: Value = serde_json::from_str(&done(folder.path(), &[METRICS, &["--json"]].concat())).unwrap();
    assert_eq!([&row["row"], &row["who"]], ["metrics", "reynolds"]);
    assert_eq!((&row["shape"], &row["threads"]), (&serde_json::json!([2, 12, 11]), &1.into()));
    let expected = 20.0 * (255.0_f64 / 21.0).log10();
    assert!((row["psnr"][0].as_f64().unwrap() - expected).abs() < 1e-9 && row["psnr"][1].is_null(), "{row}");
    assert!(row["ssim"][0].as_f64().unwrap() < 1.0 && row["ssim"][1].as_f64() == Some(1.0), "{row}");
    assert!(["seconds", "psnr_seconds", "ssim_seconds"].iter().all(|key| row[key].as_f64().unwrap() > 0.0), "{row}");
    let text = done(folder.path(), METRICS);
    assert_eq!(text.lines().count(), 4, "{text}");
    assert!(text.lines().nth(2).unwrap().split_whitespace().eq(["1", "inf", "1.000000"]), "{text}");
}

#[test]
fn what_is_no_pair_of_slices_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    refused(folder.path(), METRICS, &["--images", "slices.npz"]);
    slices(folder.path(), "picture", [12, 11]);
    refused(folder.path(), METRICS, &["--images", "slices.npz", "an array \"image\""]);
    let (nothing, nines) = ([0.0; 121], [9.0; 121]);
    let arrays = [("truth", &nines), ("image", &nines), ("keep", &nothing)]
        .map(|(name, values)| (name, &[1, 11, 11][..], Numbers::F32(values)));
    write_npz(&folder.path().join("slices.npz"), &arrays).unwrap();
    refused(folder.path(), METRICS, &["error: --images: slices.npz: keep: expected a pixel that counts"]);
    slices(folder.path(), "image", [12, 10]);
    refused(folder.path(), METRICS, &["slices.npz: truth: expected [n, height, width], sides of at least 11"]);
}
