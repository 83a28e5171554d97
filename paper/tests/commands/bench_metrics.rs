//! `reynolds bench metrics`: PSNR and SSIM of the slices of a .npz.

use reynolds_checkpoint::{Numbers, write_npz};
use serde_json::json;

use super::support::Folder;

const METRICS: &str = "bench metrics --images slices.npz --repeats 2";

/// Two pairs of constant slices: 21 apart in eight bits, and equal; `name` is what the second array is called.
fn slices(folder: &Folder, name: &str, sides: [usize; 2]) {
    let shape = [2, sides[0], sides[1]];
    let pixels = sides[0] * sides[1];
    let pair = |values: [f32; 2]| values.iter().flat_map(|&value| vec![value; pixels]).collect::<Vec<f32>>();
    let (truth, image) = (pair([30.0, 50.0]), pair([40.5, 50.0]));
    let arrays = [("truth", &shape[..], Numbers::F32(&truth)), (name, &shape[..], Numbers::F32(&image))];
    write_npz(&folder.path("slices.npz"), &arrays).unwrap();
}

#[test]
fn slices_are_judged_one_by_one() {
    let folder = Folder::new();
    slices(&folder, "image", [12, 11]);
    let row = folder.row(&format!("{METRICS} --json"));
    assert_eq!([&row["row"], &row["who"]], ["metrics", "reynolds"]);
    assert_eq!((&row["shape"], &row["threads"]), (&json!([2, 12, 11]), &1.into()));
    let expected = 20.0 * (255.0_f64 / 21.0).log10();
    assert!((row["psnr"][0].as_f64().unwrap() - expected).abs() < 1e-9 && row["psnr"][1].is_null(), "{row}");
    assert!(row["ssim"][0].as_f64().unwrap() < 1.0 && row["ssim"][1].as_f64() == Some(1.0), "{row}");
    assert!(["seconds", "psnr_seconds", "ssim_seconds"].iter().all(|key| row[key].as_f64().unwrap() > 0.0), "{row}");
    let text = folder.done(METRICS);
    assert_eq!(text.lines().count(), 4, "{text}");
    assert!(text.lines().nth(2).unwrap().split_whitespace().eq(["1", "inf", "1.000000"]), "{text}");
}

#[test]
fn what_is_no_pair_of_slices_is_refused() {
    let folder = Folder::new();
    folder.refused(METRICS, &["--images", "slices.npz"]);
    slices(&folder, "picture", [12, 11]);
    folder.refused(METRICS, &["--images", "slices.npz", "an array \"image\""]);
    let (nothing, nines) = ([0.0; 121], [9.0; 121]);
    let arrays = [("truth", &nines), ("image", &nines), ("keep", &nothing)]
        .map(|(name, values)| (name, &[1, 11, 11][..], Numbers::F32(values)));
    write_npz(&folder.path("slices.npz"), &arrays).unwrap();
    folder.refused(METRICS, &["error: --images: slices.npz: keep: expected a pixel that counts"]);
    slices(&folder, "image", [12, 10]);
    folder.refused(METRICS, &["slices.npz: truth: expected [n, height, width], sides of at least 11"]);
}
