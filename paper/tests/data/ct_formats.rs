//! CT files as other programs write them: golden/ct_formats.py, and the published samples where `REYNOLDS_DATA` leads to them.

use std::fs;
use std::path::{Path, PathBuf};

use reynolds_checkpoint::{Checkpoint, Values};
use reynolds_paper::ct::data::{Library, Series, aapm, masks, syndeeplesion};

fn golden(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../golden/ct").join(name)
}

/// The published files; without them the test says so and ends.
fn published(name: &str) -> Option<PathBuf> {
    let path = PathBuf::from(std::env::var_os("REYNOLDS_DATA")?).join("ct").join(name);
    path.exists().then_some(path)
}

macro_rules! published_or_skip {
    ($name:expr) => {
        match published($name) {
            Some(path) => path,
            None => {
                eprintln!("skipped: $REYNOLDS_DATA/ct/{} is not there", $name);
                return;
            }
        }
    };
}

/// What golden/ct_formats.py calls image(start).
fn image(start: f32) -> Vec<f32> {
    (0..26 * 26).map(|at| (f64::from(start) + (at / 26) as f64 / 100.0 + (at % 26) as f64 / 10_000.0) as f32).collect()
}

#[test]
fn pairs_of_h5py_are_read_with_their_masks() {
    let masks = syndeeplesion::masks(golden("syndeeplesion/masks.npy")).unwrap();
    assert_eq!((masks.side, masks.masks.len()), (32, 2));
    let inside = |row: usize, column: usize| masks.masks[0][row * 32 + column];
    assert_eq!((inside(4, 9), inside(10, 19), inside(4, 20), inside(11, 9), inside(9, 4)), (1.0, 1.0, 0.0, 0.0, 0.0));
    let pairs = syndeeplesion::pairs(golden("syndeeplesion"), &masks).unwrap();
    assert_eq!(pairs.len(), 2);
    let resized = Checkpoint::open(golden("resized.npz")).unwrap();
    let Values::F32(resized) = resized.read(resized.entry("resized").unwrap()).unwrap() else { panic!("f32") };
    for (number, pair) in pairs.iter().enumerate() {
        assert_eq!((pair.side, &pair.truth), (26, &image(0.0)));
        assert_eq!(pair.corrupted, image(1.0 + number as f32));
        assert_eq!(pair.interpolated, image(0.5 + number as f32));
        // Pillow sums in single precision.
        let difference =
            pair.metal.iter().zip(&resized[number * 676..]).map(|(x, y)| (x - y).abs()).fold(0.0, f32::max);
        assert!(difference < 1e-6, "{difference}");
        assert!(pair.metal.iter().any(|share| *share > 0.1 && *share < 0.9));
    }
    let trace = syndeeplesion::array(golden("syndeeplesion/0.h5"), "metal_trace").unwrap();
    assert_eq!((trace.shape, trace.values.iter().sum::<f32>()), ([20, 21], 80.0));
}

#[test]
fn metal_shapes_of_scipy_are_read_in_their_order() {
    let shapes = masks::read(golden("metal_masks.mat")).unwrap();
    assert_eq!(shapes.len(), 12);
    // Bars that differ in length only, and none of them twice.
    for (n, shape) in shapes.iter().enumerate() {
        assert!(shapes[..n].iter().all(|other| other != shape));
    }
}

#[test]
fn stacks_of_numpy_are_read_slice_by_slice() {
    let series = Series::open(golden("legs_16.npz")).unwrap();
    assert_eq!((series.name(), series.len(), series.z_mm()[2]), ("legs", 24, 6.0));
    let slice = series.slice(3, 16);
    assert_eq!((slice.side, slice.pixel_mm, slice.name.as_str()), (16, 20.0, "legs/003"));
    assert_eq!((slice.hu[0], slice.hu[7 * 16 + 7], slice.hu[7 * 16 + 4]), (-1000.0, 900.0, 43.0));
    let small = series.slice(3, 8);
    assert_eq!((small.hu.len(), small.pixel_mm), (64, 40.0));
    let library = Library::open(golden("")).unwrap_err();
    // Not every .npz is a stack.
    assert!(
        library.to_string().contains("resized.npz: \"hu\": expected an array of this name, found none"),
        "{library}"
    );
}

/// Reads a file that was changed; whatever is wrong must be an error that names the file.
fn refused<T: std::fmt::Debug>(
    name: &str,
    bytes: &[u8],
    read: impl Fn(&Path) -> reynolds_paper::data::Result<T>,
) -> String {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join(name);
    fs::write(&path, bytes).unwrap();
    let error = read(&path).unwrap_err().to_string();
    assert!(error.contains(name), "{error}");
    error
}

#[test]
fn damaged_files_are_errors_and_never_panics() {
    let h5 = fs::read(golden("syndeeplesion/0.h5")).unwrap();
    let read_h5 = |path: &Path| syndeeplesion::array(path, "ma_CT");
    for length in [0, 1, 8, 100, 600, 2000, 5000, h5.len() / 2] {
        refused("0.h5", &h5[..length], read_h5);
    }
    let mat = fs::read(golden("metal_masks.mat")).unwrap();
    for length in [0, 10, 127, 128, 136, 200, mat.len() - 1] {
        refused("m.mat", &mat[..length], |path| masks::read(path));
    }
    let stack = fs::read(golden("legs_16.npz")).unwrap();
    for length in [0, 4, 100, stack.len() - 1] {
        refused("s_16.npz", &stack[..length], |path| Series::open(path));
    }
    let cube = fs::read(golden("syndeeplesion/masks.npy")).unwrap();
    for length in [0, 6, 60, cube.len() - 1] {
        refused("masks.npy", &cube[..length], |path| syndeeplesion::masks(path));
    }
    let mut two = cube.clone();
    *two.last_mut().unwrap() = 2;
    assert!(refused("masks.npy", &two, |path| syndeeplesion::masks(path)).contains("expected zeros and ones, found 2"));
    // Every byte of the headers in turn: an error or a result, and no panic.
    for at in (0..h5.len()).step_by(97) {
        let mut changed = h5.clone();
        changed[at] ^= 0x5a;
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("0.h5");
        fs::write(&path, changed).unwrap();
        let _ = read_h5(&path);
    }
    for at in 0..mat.len() {
        let mut changed = mat.clone();
        changed[at] ^= 0x5a;
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("m.mat");
        fs::write(&path, changed).unwrap();
        let _ = masks::read(&path);
    }
}

#[test]
fn a_missing_array_and_a_wrong_type_are_named() {
    let error = syndeeplesion::array(golden("syndeeplesion/gt.h5"), "ma_CT").unwrap_err().to_string();
    assert!(error.contains("gt.h5: \"ma_CT\": expected a data set of this name"), "{error}");
    let error = Series::open(golden("resized.npz")).unwrap_err().to_string();
    assert!(error.contains("\"hu\""), "{error}");
}

#[test]
fn the_published_pairs_are_read() {
    let folder = published_or_skip!("syndeeplesion");
    let masks = syndeeplesion::masks(folder.join("testmask.npy")).unwrap();
    let metal: Vec<usize> =
        masks.masks.iter().map(|mask| mask.iter().filter(|inside| **inside > 0.0).count()).collect();
    assert_eq!((masks.side, metal.as_slice()), (512, &[371, 1338][..]));
    for part in ["train", "test"] {
        let pairs = syndeeplesion::pairs(folder.join(part), &masks).unwrap();
        assert_eq!((pairs.len(), pairs[0].side), (1, 416));
        let largest = |image: &[f32]| image.iter().fold(0.0_f32, |most, value| most.max(*value));
        assert!(largest(&pairs[0].corrupted) > 3.0 && largest(&pairs[0].truth) < 0.5);
    }
    assert_eq!(syndeeplesion::array(folder.join("test/0.h5"), "ma_sinogram").unwrap().shape, [640, 641]);
}

#[test]
fn the_challenge_files_are_read() {
    let folder = published_or_skip!("aapm");
    let image = aapm::image(folder.join("image_512x512x1_hu_f32.raw")).unwrap();
    assert_eq!((image.side, image.hu[0]), (512, -1000.0));
    let sinogram = aapm::sinogram(folder.join("training_body_metalart_sino11001_900x1000.raw")).unwrap();
    assert_eq!((sinogram.views, sinogram.cells), (1000, 900));
    let largest = sinogram.values.iter().fold(0.0_f32, |most, value| most.max(*value));
    assert!((largest - 9.505_786).abs() < 1e-5, "{largest}");
    assert_eq!(aapm::density(folder.join("phantom.vf")).unwrap().side, 512);
    assert_eq!(masks::read(folder.join("metal_masks.mat")).unwrap().len(), 97);
}

#[test]
fn the_published_slices_are_read() {
    let file = published_or_skip!("abdomen_tcga-ov_256.npz");
    let library = Library::open(file.parent().unwrap()).unwrap();
    let names: Vec<(&str, usize)> = library.series().iter().map(|series| (series.name(), series.len())).collect();
    assert_eq!(names, [("abdomen_tcga-ov", 160), ("chest_cptac-pda", 102), ("head_cptac-lscc", 85)]);
    assert_eq!(library.series()[0].slice(0, 256).pixel_mm, 2.06);
    assert_eq!(library.masks(), 97);
}
