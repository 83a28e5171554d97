//! `reynolds data` as a user meets it: sets that are made here. What is made once is kept, what is damaged is made again.

use std::fs;

use super::support::{done, refused, reynolds};

const PNG: &[u8] = b"\x89PNG";

#[test]
fn smoke_is_simulated_once_and_shown() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path();
    let one = ["data", "smoke", "--kind", "rotation", "--simulation", "rotation_k05_j0", "--out", "smoke"];
    let arguments = [&one[..], &["--preview", "plume.png"]].concat();
    assert_eq!(done(path, &arguments), "rotation: 1 simulation in smoke (1 made, 0 kept), 10 MB\n");
    assert!(fs::read(path.join("plume.png")).unwrap().starts_with(PNG));
    let file = path.join("smoke/rotation_k05_j0.npz");
    let whole = fs::read(&file).unwrap();
    assert!(done(path, &arguments).contains("(0 made, 1 kept)"));
    fs::write(&file, &whole[..1000]).unwrap();
    let (_, text, error) = reynolds(path, &arguments);
    assert!(text.contains("(1 made, 0 kept)") && error.contains("made again: "), "{text}{error}");
    assert_eq!(fs::read(&file).unwrap(), whole);
}

#[test]
fn ct_pairs_are_made_once_and_shown() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path();
    let counts = |train: &'static str| {
        ["data", "ct", "--out", "ct", "--side", "16", "--validation", "1", "--test", "0", "--train", train]
    };
    let arguments = [&counts("1")[..], &["--preview", "pairs.png"]].concat();
    let made = "phantom: 1 train, 1 validation, 0 test pairs and a figure of 16 × 16 in ct (3 made, 0 kept), 0 MB\n";
    assert_eq!(done(path, &arguments), made);
    assert!(fs::read(path.join("pairs.png")).unwrap().starts_with(PNG));
    let file = path.join("ct/train_0000.npz");
    let whole = fs::read(&file).unwrap();
    fs::write(&file, &whole[..500]).unwrap();
    let (_, text, error) = reynolds(path, &arguments);
    assert!(text.contains("(1 made, 2 kept)") && error.contains("made again: "), "{text}{error}");
    assert_eq!(fs::read(&file).unwrap(), whole);
    // A set is not written over by another; more pairs of it are added.
    let needle =
        "expected a folder that is empty or holds a set of these settings (seed 1), found a set of others (seed 0)";
    refused(path, &[&arguments[..], &["--seed", "1"]].concat(), &[needle]);
    assert!(done(path, &counts("2")).contains("(1 made, 3 kept)"));
}

#[test]
fn images_of_ct_files_are_shown() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path();
    let show = |file: &'static str| ["data", "ct", "--show", file, "--preview", "img.png"];
    fs::write(path.join("img_8x8x1.raw"), [0_u8; 256]).unwrap();
    done(path, &show("img_8x8x1.raw"));
    assert!(fs::read(path.join("img.png")).unwrap().starts_with(PNG));
    fs::write(path.join("img_8x8x1.raw"), [0_u8; 255]).unwrap();
    refused(path, &show("img_8x8x1.raw"), &["expected 8 × 8 f32 (256 bytes), found 255 bytes"]);
    refused(path, &show("img.dcm"), &["--show: expected a file .raw, .vf or .h5"]);
}

#[test]
fn shapes_are_made_once_and_shown() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path();
    let sizes = ["--side", "12", "--train", "16", "--validation", "8", "--test", "4", "--breaking", "0.5"];
    let arguments = [&["data", "shapes", "--out", "shapes.npz", "--preview", "shapes.png"], &sizes[..]].concat();
    let text = done(path, &arguments);
    let first = "shapes: 16 train, 8 validation, 4 test volumes of 12³, breaking 0.5, in shapes.npz (made), 0.0 MB\n";
    assert!(text.starts_with(&format!("{first}rows of shapes.png:\n")), "{text}");
    assert!(text.ends_with("  6  helix left\n  7  helix right\n"), "{text}");
    assert!(fs::read(path.join("shapes.png")).unwrap().starts_with(PNG));
    assert!(done(path, &[&arguments[..], &["--threads", "1"]].concat()).contains("(kept)"));
    // A set is not written over by another.
    refused(path, &[&arguments[..], &["--seed", "3"]].concat(), &["expected seed 3, found seed 0"]);
}

#[test]
fn bad_input_is_refused_before_anything_is_written() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path();
    fs::write(path.join("file"), "mine").unwrap();
    fs::create_dir(path.join("empty")).unwrap();
    let stray = |option: &str| format!("{option}: expected --source slices with it, found --source phantom");
    let simulations = "--simulation: expected one of rotation_k01_j0 … rotation_k36_j3, found \"rotation_k99_j0\"";
    for (arguments, needle) in [
        ("", "smoke"),
        ("smoke --kind spin --out x", "expected translation, rotation or scaling, found spin"),
        ("smoke --kind rotation", "--out"),
        ("smoke --kind rotation --out x --simulation rotation_k99_j0", simulations),
        ("smoke --kind rotation --out x --threads 1000000", "0..=1024"),
        ("smoke --kind rotation --out x --preview none/plume.png", "to write to, found nothing"),
        ("smoke --kind rotation --out x --preview empty", "expected a file, found a folder"),
        ("smoke --kind rotation --out file/inside --simulation rotation_k05_j0", "cannot create"),
        ("ct", "--out"),
        ("ct --show x.raw", "--preview"),
        ("ct --out x --side 4", "side: expected 16 to 1024, found 4"),
        ("ct --out x --source mri", "expected phantom or slices, found mri"),
        ("ct --out x --source slices --slices empty", "expected stacks of CT slices"),
        ("ct --out x --slices empty", stray("--slices").as_str()),
        ("ct --out x --test-series legs", stray("--test-series").as_str()),
        ("ct --out x --train 9000000", "train: expected at most 1000000, found 9000000"),
        ("shapes --out x.npz --breaking 1.5", "breaking: expected 0 to 1, found 1.5"),
        ("shapes --out x.npz --side 4", "side: expected 8 to 128, found 4"),
        ("shapes --out x.npz --preview none/image.png", "to write to, found nothing"),
        ("shapes --out empty", "expected a file, found a folder"),
        ("medmnist --out x", "--set"),
        ("medmnist --out x --set brain", "expected organ, nodule, adrenal, fracture, vessel or synapse, found brain"),
        ("medmnist --out x --set organ --size 32", "expected 28 or 64, found 32"),
        ("medmnist --out x --verify --force", "cannot be used with"),
        ("medmnist --out x --set organ --show --url http://x", "cannot be used with"),
        ("medmnist --out x --set organ --preview none/x.png", "to write to, found nothing"),
    ] {
        let arguments: Vec<&str> = ["data"].into_iter().chain(arguments.split_whitespace()).collect();
        refused(path, &arguments, &[needle]);
    }
}
