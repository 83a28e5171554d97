//! CT files as other programs write them: golden/ct_formats.py, and the published samples where `REYNOLDS_DATA` leads to them.

use std::fs;
use std::path::{Path, PathBuf};

use reynolds_paper::ct::data::{Library, Series, aapm, masks, syndeeplesion};

fn golden(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../golden/ct").join(name)
}

/// A published file, if it is there.
fn published(name: &str) -> Option<PathBuf> {
    let path = PathBuf::from(std::env::var_os("REYNOLDS_DATA")?).join("ct").join(name);
    path.exists().then_some(path)
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
    // Bars that differ in length only, and none of them twice.
    assert!(shapes.len() == 12 && shapes.iter().enumerate().all(|(n, shape)| !shapes[..n].contains(shape)));
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
    // Not every .npz is a stack.
    let error = Library::open(golden("")).unwrap_err().to_string();
    assert!(error.contains("resized.npz: \"hu\": expected an array of this name, found none"), "{error}");
    let error = syndeeplesion::array(golden("syndeeplesion/gt.h5"), "ma_CT").unwrap_err().to_string();
    assert!(error.contains("gt.h5: \"ma_CT\": expected a data set of this name"), "{error}");
}

#[test]
fn damaged_files_are_errors_and_never_panics() {
    let folder = tempfile::tempdir().unwrap();
    let written = |name: &str, bytes: &[u8]| {
        let path = folder.path().join(name);
        fs::write(&path, bytes).unwrap();
        path
    };
    type Read = fn(&Path) -> reynolds_paper::data::Result<()>;
    let read_h5: Read = |path| syndeeplesion::array(path, "ma_CT").map(drop);
    let read_mat: Read = |path| masks::read(path).map(drop);
    let read_npz: Read = |path| Series::open(path).map(drop);
    let [h5, mat, npz] =
        ["syndeeplesion/0.h5", "metal_masks.mat", "legs_16.npz"].map(|name| fs::read(golden(name)).unwrap());
    for (name, bytes, read, lengths) in [
        ("0.h5", &h5, read_h5, &[0, 1, 8, 100, 600, 2000, 5000, h5.len() / 2][..]),
        ("m.mat", &mat, read_mat, &[0, 10, 127, 128, 136, 200, mat.len() - 1]),
        ("s_16.npz", &npz, read_npz, &[0, 4, 100, npz.len() - 1]),
    ] {
        for &length in lengths {
            let error = read(&written(name, &bytes[..length])).unwrap_err().to_string();
            assert!(error.contains(name), "{error}");
        }
    }
    // Bytes of the headers in turn: an error or a result, and no panic.
    let changed = |name: &str, bytes: &[u8], at: usize| {
        let mut bytes = bytes.to_vec();
        bytes[at] ^= 0x5a;
        written(name, &bytes)
    };
    (0..h5.len()).step_by(97).for_each(|at| drop(read_h5(&changed("0.h5", &h5, at))));
    (0..mat.len()).for_each(|at| drop(read_mat(&changed("m.mat", &mat, at))));
}

#[test]
fn the_published_pairs_are_read() {
    let Some(folder) = published("syndeeplesion") else { return };
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
    let Some(folder) = published("aapm") else { return };
    let image = aapm::image(folder.join("image_512x512x1_hu_f32.raw")).unwrap();
    assert_eq!((image.side, image.hu[0]), (512, -1000.0));
    assert_eq!(aapm::density(folder.join("phantom.vf")).unwrap().side, 512);
    assert_eq!(masks::read(folder.join("metal_masks.mat")).unwrap().len(), 97);
}

#[test]
fn the_published_slices_are_read() {
    let Some(file) = published("abdomen_tcga-ov_256.npz") else { return };
    let library = Library::open(file.parent().unwrap()).unwrap();
    let names: Vec<(&str, usize)> = library.series.iter().map(|series| (series.name(), series.count())).collect();
    assert_eq!(names, [("abdomen_tcga-ov", 160), ("chest_cptac-pda", 102), ("head_cptac-lscc", 85)]);
    assert_eq!(library.series[0].slice(0, 256).pixel_mm, 2.06);
    assert_eq!(library.masks.len(), 97);
}
