//! CT files as other programs write them: golden/ct_formats.py, and the published samples where `REYNOLDS_DATA` leads to them.

use std::fs;
use std::path::{Path, PathBuf};

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
fn images_of_h5py_are_read() {
    for (file, key, start) in [("gt", "image", 0.0), ("0", "ma_CT", 1.0), ("0", "LI_CT", 0.5), ("1", "ma_CT", 2.0)] {
        let array = syndeeplesion::array(golden(&format!("syndeeplesion/{file}.h5")), key).unwrap();
        assert_eq!((array.shape, array.values), ([26, 26], image(start)), "{file} {key}");
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
    assert_eq!((series.name(), series.count()), ("legs", 24));
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
    // Every byte of the headers in turn: an error or a result, and no panic.
    let folder = tempfile::tempdir().unwrap();
    let changed = |name: &str, bytes: &[u8], at: usize| {
        let mut bytes = bytes.to_vec();
        bytes[at] ^= 0x5a;
        let path = folder.path().join(name);
        fs::write(&path, bytes).unwrap();
        path
    };
    (0..h5.len()).step_by(97).for_each(|at| drop(read_h5(&changed("0.h5", &h5, at))));
    (0..mat.len()).for_each(|at| drop(masks::read(changed("m.mat", &mat, at))));
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
    for part in ["train", "test"] {
        let image = |file: &str, key: &str| syndeeplesion::array(folder.join(part).join(file), key).unwrap();
        let largest = |image: &syndeeplesion::Array| image.values.iter().fold(0.0_f32, |most, value| most.max(*value));
        let (truth, corrupted) = (image("gt.h5", "image"), image("0.h5", "ma_CT"));
        assert_eq!((truth.shape, corrupted.shape), ([416, 416], [416, 416]));
        assert!(largest(&corrupted) > 3.0 && largest(&truth) < 0.5);
    }
    assert_eq!(syndeeplesion::array(folder.join("test/0.h5"), "ma_sinogram").unwrap().shape, [640, 641]);
}

#[test]
fn the_challenge_files_are_read() {
    let folder = published_or_skip!("aapm");
    let image = aapm::image(folder.join("image_512x512x1_hu_f32.raw")).unwrap();
    assert_eq!((image.side, image.hu[0]), (512, -1000.0));
    assert_eq!(aapm::density(folder.join("phantom.vf")).unwrap().side, 512);
    assert_eq!(masks::read(folder.join("metal_masks.mat")).unwrap().len(), 97);
}

#[test]
fn the_published_slices_are_read() {
    let file = published_or_skip!("abdomen_tcga-ov_256.npz");
    let library = Library::open(file.parent().unwrap()).unwrap();
    let names: Vec<(&str, usize)> = library.series().iter().map(|series| (series.name(), series.count())).collect();
    assert_eq!(names, [("abdomen_tcga-ov", 160), ("chest_cptac-pda", 102), ("head_cptac-lscc", 85)]);
    assert_eq!(library.series()[0].slice(0, 256).pixel_mm, 2.06);
    assert_eq!(library.masks(), 97);
}
