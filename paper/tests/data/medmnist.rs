//! MedMNIST's files as NumPy writes them: golden/medmnist_files.py.

use std::path::{Path, PathBuf};

use reynolds_paper::medmnist::data::volumes::Volumes;
use reynolds_paper::medmnist::data::{Checked, MedSet, Size, open};

fn golden(folder: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../golden/medmnist").join(folder)
}

/// What golden/medmnist_files.py puts into a part.
fn expected(part: usize, side: usize, labels: &[u8]) -> Volumes {
    let mut images = vec![0; labels.len() * side.pow(3)];
    for n in 0..labels.len() {
        let at = |x: usize, y: usize, z: usize| ((n * side + x) * side + y) * side + z;
        images[at(1, 2, n)] = (16 * (n + 1) + part) as u8;
        images[at(n, 5, 7)] = 255;
    }
    Volumes { side, images, labels: labels.into() }
}

#[test]
fn sets_of_both_sizes_are_read_to_the_last_voxel() {
    let set = open(golden("."), MedSet::Fracture, Size::Small, Checked::No).unwrap();
    assert_eq!(set.name, "FractureMNIST3D");
    assert_eq!(set.classes[2], "displaced rib fracture");
    assert_eq!(set.train, expected(0, 28, &[0, 1, 2, 1]));
    assert_eq!(set.validation, expected(1, 28, &[2, 0]));
    assert_eq!(set.test, expected(2, 28, &[1, 0, 2]));
    let large = open(golden("."), MedSet::Fracture, Size::Large, Checked::No).unwrap();
    assert_eq!((large.name.as_str(), large.test), ("FractureMNIST3D 64³", expected(2, 64, &[1])));
}

#[test]
fn files_not_as_published_are_refused_by_file_and_array() {
    let refused = |folder: &str, checked: Checked, needle: &str| {
        let error = open(golden(folder), MedSet::Fracture, Size::Small, checked).unwrap_err().to_string();
        assert!(error.contains("fracturemnist3d.npz") && error.ends_with(needle), "{error}");
    };
    refused("missing", Checked::No, "\"val_labels\": expected an array of this name, found none");
    refused("type", Checked::No, "\"test_images\": expected |u1, found <i2");
    refused("order", Checked::No, "\"train_images\": expected |u1, found |u1, column-major");
    refused("side", Checked::No, "\"val_images\": expected [n, 28, 28, 28], found [2, 27, 28, 28]");
    refused("labels", Checked::No, "\"train_labels\": expected [4, 1], found [4]");
    refused("class", Checked::No, "\"test_labels\": expected labels below 3, found 3");
    let found = reynolds_paper::medmnist::data::md5_of_file(golden("fracturemnist3d.npz")).unwrap();
    let needle = format!(
        "expected the MD5 6aa7b0143a6b42da40027a9dda61302f, found {found}: reynolds data medmnist --set fracture --size 28 --force fetches \
         the published file; one that was saved again is another, even if its arrays are equal"
    );
    refused(".", Checked::Yes, &needle);
    let error = open(golden("."), MedSet::Organ, Size::Small, Checked::Yes).unwrap_err().to_string();
    assert!(error.contains("organmnist3d.npz: cannot open"), "{error}");
}
