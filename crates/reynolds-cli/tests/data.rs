//! `reynolds data` as a user meets it.

#![allow(clippy::unwrap_used, reason = "a failed set-up should fail the test")]

use assert_cmd::Command;
use std::fs;

fn reynolds(arguments: &[&str]) -> (i32, String, String) {
    let output = Command::cargo_bin("reynolds").unwrap().args(arguments).output().unwrap();
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
