//! `reynolds data shapes` as a user meets it.

use assert_cmd::Command;
use std::fs;

fn reynolds(arguments: &[&str]) -> (i32, String, String) {
    let output = Command::cargo_bin("reynolds-paper").unwrap().args(arguments).output().unwrap();
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
    (output.status.code().unwrap(), text(output.stdout), text(output.stderr))
}

#[test]
fn shapes_are_made_once_and_shown() {
    let folder = tempfile::tempdir().unwrap();
    let (out, image) = (folder.path().join("shapes.npz"), folder.path().join("shapes.png"));
    let (out_text, image_text) = (out.to_str().unwrap(), image.to_str().unwrap());
    let mut arguments = vec!["data", "shapes", "--out", out_text, "--preview", image_text, "--side", "12"];
    arguments.extend(["--train", "16", "--validation", "8", "--test", "4", "--breaking", "0.5"]);
    let (code, text, error) = reynolds(&arguments);
    assert_eq!(code, 0, "{error}");
    let first = format!(
        "shapes: 16 train, 8 validation, 4 test volumes of 12³, breaking 0.5, in {out_text} (made), 0.0 MB\nrows of {image_text}:\n"
    );
    assert!(text.starts_with(&first) && text.ends_with("  6  helix left\n  7  helix right\n"), "{text}");
    assert!(fs::read(&image).unwrap().starts_with(b"\x89PNG"));
    let whole = fs::read(&out).unwrap();
    let (code, text, _) = reynolds(&[&arguments[..], &["--threads", "1"]].concat());
    assert!(code == 0 && text.contains("(kept)"), "{text}");
    // A set is not written over by another.
    let (code, _, error) = reynolds(&[&arguments[..], &["--seed", "3"]].concat());
    assert!(code == 2 && error.contains("expected seed 3, found seed 0"), "{error}");
    assert_eq!(fs::read(&out).unwrap(), whole);
}

#[test]
fn bad_settings_and_places_are_refused_and_nothing_is_written() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("shapes.npz");
    let refused = |more: &[&str], needle: &str| {
        let (code, text, error) = reynolds(&[&["data", "shapes", "--out", out.to_str().unwrap()], more].concat());
        assert_eq!((code, text.as_str()), (2, ""), "{error}");
        assert!(error.contains(needle), "{error}");
        assert!(!out.exists());
    };
    refused(&["--breaking", "1.5"], "breaking: expected 0 to 1, found 1.5");
    refused(&["--side", "4"], "side: expected 8 to 128, found 4");
    refused(&["--preview", "/no/such/folder/image.png"], "to write to, found nothing");
    let (code, _, error) = reynolds(&["data", "shapes", "--out", folder.path().to_str().unwrap()]);
    assert!(code == 2 && error.contains("expected a file, found a folder"), "{error}");
}
