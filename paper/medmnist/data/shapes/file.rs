//! A set in one .npz, laid out as MedMNIST's are, with the settings it follows from.
//!
//! ```text
//! train_images u8 [n, side, side, side]   train_labels u8 [n, 1]   val_…   test_…   setting: bytes of JSON
//! ```

use std::path::Path;

use serde::Serialize;

use super::config::ShapesConfig;
use crate::data::error::Result;
use crate::data::stored_npz::{self, StoredNpz};
use crate::medmnist::data::volumes::VolumeSet;
use reynolds_checkpoint::Numbers;

/// Whoever changes what the same settings come to changes this.
const MAKER: &str = "shapes 1";

#[derive(Serialize)]
struct Setting<'a> {
    maker: &'static str,
    #[serde(flatten)]
    config: &'a ShapesConfig,
}

/// Writes a set that [`generate`](super::generate) made of these settings, whole or not at all. False when a file of the same settings was there,
/// which is kept.
pub fn write(path: impl AsRef<Path>, config: &ShapesConfig, set: &VolumeSet) -> Result<bool> {
    let (path, setting) = (path.as_ref(), Setting { maker: MAKER, config });
    if path.exists() {
        return StoredNpz::open(path, &setting).map(|_| false);
    }
    let parts = [("train", &set.train), ("val", &set.validation), ("test", &set.test)];
    let shapes = parts.map(|(name, part)| {
        let (count, side) = (part.count(), part.side);
        ((format!("{name}_images"), [count, side, side, side]), (format!("{name}_labels"), [count, 1]))
    });
    let mut arrays: Vec<(&str, &[usize], Numbers<'_>)> = Vec::new();
    for ((_, part), ((images, image), (labels, label))) in parts.iter().zip(&shapes) {
        arrays.push((images, image, Numbers::U8(&part.images)));
        arrays.push((labels, label, Numbers::U8(&part.labels)));
    }
    stored_npz::write(path, &setting, &arrays)?;
    Ok(true)
}

#[cfg(test)]
mod tests {
    use super::super::generate;
    use super::*;
    use reynolds_checkpoint::Checkpoint;

    fn small() -> ShapesConfig {
        ShapesConfig { train: 3, validation: 2, test: 1, side: 8, ..ShapesConfig::default() }
    }

    #[test]
    fn a_file_holds_what_was_made_in_the_layout_of_medmnist_and_is_not_written_over() {
        let folder = tempfile::tempdir().unwrap();
        let (path, set) = (folder.path().join("shapes.npz"), generate(&small()).unwrap());
        assert!(write(&path, &small(), &set).unwrap());
        let file = Checkpoint::open(&path).unwrap();
        for (name, shape, bytes) in [
            ("train_images", vec![3, 8, 8, 8], &set.train.images),
            ("train_labels", vec![3, 1], &set.train.labels),
            ("val_images", vec![2, 8, 8, 8], &set.validation.images),
            ("test_labels", vec![1, 1], &set.test.labels),
        ] {
            let entry = file.entry(name).unwrap();
            assert_eq!((&entry.shape, &*file.read_plain(entry, "|u1", 1).unwrap()), (&shape, &bytes[..]), "{name}");
        }
        assert!(!write(&path, &small(), &set).unwrap());
        let before = std::fs::read(&path).unwrap();
        let error = write(&path, &ShapesConfig { breaking: 0.5, ..small() }, &set).unwrap_err().to_string();
        assert!(error.ends_with("expected breaking 0.5, found breaking 1.0"), "{error}");
        assert_eq!(std::fs::read(&path).unwrap(), before);
    }
}
