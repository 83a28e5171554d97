//! `reynolds data` as a user meets it.

use assert_cmd::Command;
use std::fs;

fn reynolds(arguments: &[&str]) -> (i32, String, String) {
    let output = Command::cargo_bin("reynolds-paper").unwrap().args(arguments).output().unwrap();
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
    (output.status.code().unwrap(), text(output.stdout), text(output.stderr))
}

#[test]
fn smoke_is_simulated_once_and_shown() {
    let folder = tempfile::tempdir().unwrap();
    let (out, image) = (folder.path().join("smoke"), folder.path().join("plume.png"));
    let arguments = ["data", "smoke", "--kind", "rotation", "--simulation", "rotation_k05_j0", "--out"];
    let mut first = arguments.to_vec();
    first.extend([out.to_str().unwrap(), "--preview", image.to_str().unwrap()]);
    let (code, text, error) = reynolds(&first);
    assert_eq!(code, 0, "{error}");
    assert_eq!(text, format!("rotation: 1 simulation in {} (1 made, 0 kept), 10 MB\n", out.display()));
    assert!(fs::read(&image).unwrap().starts_with(b"\x89PNG"));
    let file = out.join("rotation_k05_j0.npz");
    let whole = fs::read(&file).unwrap();
    let (_, text, _) = reynolds(&first);
    assert!(text.contains("(0 made, 1 kept)"), "{text}");
    fs::write(&file, &whole[..1000]).unwrap();
    let (_, text, error) = reynolds(&first);
    assert!(text.contains("(1 made, 0 kept)") && error.contains("made again: "), "{text}{error}");
    assert_eq!(fs::read(&file).unwrap(), whole);
}

#[test]
fn ct_pairs_are_made_once_and_shown() {
    let folder = tempfile::tempdir().unwrap();
    let (out, image) = (folder.path().join("ct"), folder.path().join("pairs.png"));
    let counts = ["--side", "16", "--train", "1", "--validation", "1", "--test", "0"];
    let mut arguments = vec!["data", "ct", "--out", out.to_str().unwrap(), "--preview", image.to_str().unwrap()];
    arguments.extend(counts);
    let (code, text, error) = reynolds(&arguments);
    assert_eq!(code, 0, "{error}");
    let place = out.display();
    let expected = format!(
        "phantom: 1 train, 1 validation, 0 test pairs and a figure of 16 × 16 in {place} (3 made, 0 kept), 0 MB\n"
    );
    assert_eq!(text, expected);
    assert!(fs::read(&image).unwrap().starts_with(b"\x89PNG"));
    let file = out.join("train_0000.npz");
    let whole = fs::read(&file).unwrap();
    fs::write(&file, &whole[..500]).unwrap();
    let (_, text, error) = reynolds(&arguments);
    assert!(text.contains("(1 made, 2 kept)") && error.contains("made again: "), "{text}{error}");
    assert_eq!(fs::read(&file).unwrap(), whole);
    // A set is not written over by another; more pairs of it are added.
    arguments.extend(["--seed", "1"]);
    let (code, _, error) = reynolds(&arguments);
    let needle =
        "expected a folder that is empty or holds a set of these settings (seed 1), found a set of others (seed 0)";
    assert!(code == 2 && error.contains(needle), "{code} {error}");
    assert_eq!(fs::read(&file).unwrap(), whole);
    let more = ["data", "ct", "--out", out.to_str().unwrap(), "--side", "16", "--train", "2", "--validation", "1"];
    let (_, text, error) = reynolds(&[&more[..], &["--test", "0"]].concat());
    assert!(text.contains("(1 made, 3 kept)"), "{text}{error}");
}

#[test]
fn images_of_ct_files_are_shown() {
    let folder = tempfile::tempdir().unwrap();
    let (raw, image) = (folder.path().join("img_8x8x1.raw"), folder.path().join("img.png"));
    fs::write(&raw, [0_u8; 256]).unwrap();
    let show = |file: &std::path::Path| {
        reynolds(&["data", "ct", "--show", file.to_str().unwrap(), "--preview", image.to_str().unwrap()])
    };
    assert_eq!(show(&raw).0, 0);
    assert!(fs::read(&image).unwrap().starts_with(b"\x89PNG"));
    fs::write(&raw, [0_u8; 255]).unwrap();
    let (code, _, error) = show(&raw);
    assert!(code == 2 && error.contains("expected 8 × 8 f32 (256 bytes), found 255 bytes"), "{error}");
    let (code, _, error) = show(&folder.path().join("img.dcm"));
    assert!(code == 2 && error.contains("--show: expected a file .raw, .vf or .h5"), "{error}");
}

#[test]
fn bad_ct_settings_are_refused_before_anything_is_written() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("ct");
    let refused = |more: &[&str], needle: &str| {
        let mut arguments = vec!["data", "ct", "--out", out.to_str().unwrap()];
        arguments.extend(more);
        let (code, _, error) = reynolds(&arguments);
        assert!(code == 2 && error.contains(needle), "{more:?}: {code} {error}");
        assert!(!out.exists());
    };
    refused(&["--side", "4"], "side: expected 16 to 1024, found 4");
    refused(&["--source", "mri"], "expected phantom or slices, found mri");
    refused(&["--source", "slices", "--slices", folder.path().to_str().unwrap()], "expected stacks of CT slices");
    let stray = |option: &str| format!("{option}: expected --source slices with it, found --source phantom");
    refused(&["--slices", folder.path().to_str().unwrap()], &stray("--slices"));
    refused(&["--test-series", "legs"], &stray("--test-series"));
    refused(&["--train", "9000000"], "train: expected at most 1000000, found 9000000");
    let (code, _, error) = reynolds(&["data", "ct"]);
    assert!(code == 2 && error.contains("--out"), "{error}");
    let (code, _, error) = reynolds(&["data", "ct", "--show", "x.raw"]);
    assert!(code == 2 && error.contains("--preview"), "{error}");
}

#[test]
fn bad_input_is_refused_with_what_was_expected() {
    let refused = |arguments: &[&str], needle: &str| {
        let (code, _, error) = reynolds(arguments);
        assert_eq!(code, 2, "{error}");
        assert!(error.contains(needle), "{arguments:?}: {error}");
    };
    refused(&["data"], "smoke");
    refused(
        &["data", "smoke", "--kind", "spin", "--out", "x"],
        "expected translation, rotation or scaling, found spin",
    );
    refused(&["data", "smoke", "--kind", "rotation"], "--out");
    refused(
        &["data", "smoke", "--kind", "rotation", "--out", "x", "--simulation", "rotation_k99_j0"],
        "--simulation: expected one of rotation_k01_j0 … rotation_k36_j3, found \"rotation_k99_j0\"",
    );
    refused(&["data", "smoke", "--kind", "rotation", "--out", "x", "--threads", "1000000"], "0..=1024");
    let folder = tempfile::tempdir().unwrap();
    let (out, nowhere) = (folder.path().join("smoke"), folder.path().join("none").join("plume.png"));
    let arguments = ["data", "smoke", "--kind", "rotation", "--out", out.to_str().unwrap(), "--preview"];
    refused(&[&arguments[..], &[nowhere.to_str().unwrap()]].concat(), "to write to, found nothing");
    refused(&[&arguments[..], &[folder.path().to_str().unwrap()]].concat(), "expected a file, found a folder");
    assert!(!out.exists(), "nothing is simulated before the preview is known to have a place");
    let file = tempfile::NamedTempFile::new().unwrap();
    let inside = file.path().join("folder");
    let arguments = ["data", "smoke", "--kind", "rotation", "--simulation", "rotation_k05_j0", "--out"];
    refused(&[&arguments[..], &[inside.to_str().unwrap()]].concat(), "cannot create");
}
