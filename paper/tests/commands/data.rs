//! `reynolds data` as a user meets it: sets that are made here. What is made once is kept, what is damaged is made again.

use std::fs;

use super::support::Folder;

const PNG: &[u8] = b"\x89PNG";

/// Cuts a file that was made, and demands that it is made again as it was, and said so.
fn assert_made_again(folder: &Folder, file: &str, line: &str, summary: &str) {
    let whole = folder.read(file);
    folder.write(file, &whole[..500]);
    let (_, text, error) = folder.reynolds(line);
    assert!(text.contains(summary) && error.contains("made again: "), "{text}{error}");
    assert_eq!(folder.read(file), whole);
}

#[test]
fn smoke_is_simulated_once_and_shown() {
    let folder = Folder::new();
    let line = "data smoke --kind rotation --simulation rotation_k05_j0 --out smoke --preview plume.png";
    assert_eq!(folder.done(line), "rotation: 1 simulation in smoke (1 made, 0 kept), 10 MB\n");
    assert!(folder.read("plume.png").starts_with(PNG));
    assert!(folder.done(line).contains("(0 made, 1 kept)"));
    assert_made_again(&folder, "smoke/rotation_k05_j0.npz", line, "(1 made, 0 kept)");
}

#[test]
fn ct_pairs_are_made_once_and_shown() {
    let folder = Folder::new();
    let of = |more: &str| format!("data ct --out ct --side 16 --validation 1 --test 0 {more}");
    let line = of("--train 1 --preview pairs.png");
    let made = "phantom: 1 train, 1 validation, 0 test pairs and a figure of 16 × 16 in ct (3 made, 0 kept), 0 MB\n";
    assert_eq!(folder.done(&line), made);
    assert!(folder.read("pairs.png").starts_with(PNG));
    assert_made_again(&folder, "ct/train_0000.npz", &line, "(1 made, 2 kept)");
    // A set is not written over by another; more pairs of it are added.
    let needle =
        "expected a folder that is empty or holds a set of these settings (seed 1), found a set of others (seed 0)";
    folder.refused(&format!("{line} --seed 1"), &[needle]);
    assert!(folder.done(&of("--train 2")).contains("(1 made, 3 kept)"));
}

#[test]
fn images_of_ct_files_are_shown() {
    let folder = Folder::new();
    let show = |file: &str| format!("data ct --show {file} --preview img.png");
    folder.write("img_8x8x1.raw", [0; 256]);
    folder.done(&show("img_8x8x1.raw"));
    assert!(folder.read("img.png").starts_with(PNG));
    folder.write("img_8x8x1.raw", [0; 255]);
    folder.refused(&show("img_8x8x1.raw"), &["expected 8 × 8 f32 (256 bytes), found 255 bytes"]);
    folder.refused(&show("img.dcm"), &["--show: expected a file .raw, .vf or .h5"]);
}

#[test]
fn shapes_are_made_once_and_shown() {
    let folder = Folder::new();
    let line =
        "data shapes --out shapes.npz --preview shapes.png --side 12 --train 16 --validation 8 --test 4 --breaking 0.5";
    let text = folder.done(line);
    let first = "shapes: 16 train, 8 validation, 4 test volumes of 12³, breaking 0.5, in shapes.npz (made), 0.0 MB\n";
    assert!(text.starts_with(&format!("{first}rows of shapes.png:\n")), "{text}");
    assert!(text.ends_with("  6  helix left\n  7  helix right\n"), "{text}");
    assert!(folder.read("shapes.png").starts_with(PNG));
    assert!(folder.done(&format!("{line} --threads 1")).contains("(kept)"));
    // A set is not written over by another.
    folder.refused(&format!("{line} --seed 3"), &["expected seed 3, found seed 0"]);
}

#[test]
fn bad_input_is_refused_before_anything_is_written() {
    let folder = Folder::new();
    folder.write("file", "mine");
    fs::create_dir(folder.path("empty")).unwrap();
    let stray = |option: &str| format!("{option}: expected --source slices, found --source phantom");
    let simulations = "--simulation: expected one of rotation_k01_j0 … rotation_k36_j3, found \"rotation_k99_j0\"";
    for (options, needle) in [
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
        folder.refused(&format!("data {options}"), &[needle]);
    }
}
