//! A whole set: made with volumes in parallel, and written as one .npz, laid out as MedMNIST's are, with the settings it follows from.
//!
//! ```text
//! train_images u8 [n, side, side, side]   train_labels u8 [n, 1]   val_…   test_…   setting: bytes of JSON
//! ```

use std::path::Path;

use rayon::prelude::*;
use serde::Serialize;

use super::class::{CLASSES, pose};
use super::config::ShapesConfig;
use super::draw::draw;
use super::render::render;
use super::solid::Solid;
use crate::data::error::Result;
use crate::data::stored_npz::{self, StoredNpz};
use crate::medmnist::data::volumes::{VolumeSet, Volumes};
use reynolds_checkpoint::Numbers;

/// Stored with a set; must change whenever the same settings come to other volumes.
const MAKER: &str = "shapes 1";

/// Makes a set on rayon's current pool, a function of the settings alone: each volume follows from seed, part and number. Classes take
/// turns, so that they are equally frequent.
pub fn generate(config: &ShapesConfig) -> Result<VolumeSet> {
    config.validate()?;
    let solids: Vec<Solid> = (0..CLASSES.len()).map(|label| Solid::new(pose(label).0)).collect();
    let part = |part: u64, count: usize| {
        let voxels = config.side.pow(3);
        let mut images = vec![0; count * voxels];
        let fill = |(number, image): (usize, &mut [u8])| {
            let drawn = draw(config, part, number);
            render(&drawn, &solids[drawn.label], config.noise, config.side, image);
            drawn.label as u8
        };
        let labels = images.par_chunks_exact_mut(voxels).enumerate().map(fill).collect();
        Volumes { side: config.side, images, labels }
    };
    Ok(VolumeSet {
        name: "generated shapes".into(),
        classes: CLASSES.map(String::from).to_vec(),
        train: part(0, config.train),
        validation: part(1, config.validation),
        test: part(2, config.test),
    })
}

#[derive(Serialize)]
struct Setting<'a> {
    maker: &'static str,
    #[serde(flatten)]
    config: &'a ShapesConfig,
}

/// Writes a set that [`generate`] made of these settings, whole or not at all; `false` if a file of the same settings was there, which is
/// kept.
pub fn write(path: impl AsRef<Path>, config: &ShapesConfig, set: &VolumeSet) -> Result<bool> {
    let (path, setting) = (path.as_ref(), Setting { maker: MAKER, config });
    if path.exists() {
        return StoredNpz::open(path, &setting).map(|_| false);
    }
    let parts = [("train", &set.train), ("val", &set.validation), ("test", &set.test)];
    let arrays = parts.map(|(name, part)| {
        let (count, side) = (part.count(), part.side);
        let images = (format!("{name}_images"), vec![count, side, side, side], Numbers::U8(&part.images));
        [images, (format!("{name}_labels"), vec![count, 1], Numbers::U8(&part.labels))]
    });
    let arrays: Vec<_> =
        arrays.iter().flatten().map(|(name, shape, numbers)| (&name[..], &shape[..], *numbers)).collect();
    stored_npz::write(path, &setting, &arrays)?;
    Ok(true)
}

#[cfg(test)]
mod tests {
    use super::*;
    use reynolds_checkpoint::Checkpoint;

    fn small() -> ShapesConfig {
        ShapesConfig { train: 20, validation: 9, test: 3, side: 12, breaking: 0.5, ..ShapesConfig::default() }
    }

    #[test]
    fn a_set_follows_from_its_settings_whatever_the_number_of_threads() {
        let with = |threads: usize| {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            pool.install(|| generate(&small())).unwrap()
        };
        let set = with(1);
        assert_eq!(set, with(3));
        assert_ne!(set.train, generate(&ShapesConfig { seed: 1, ..small() }).unwrap().train);
    }

    #[test]
    fn a_volume_does_not_depend_on_how_many_there_are_and_parts_share_none() {
        let (few, many) = (generate(&small()).unwrap(), generate(&ShapesConfig { train: 40, ..small() }).unwrap());
        assert_eq!(few.train.images, many.train.images[..few.train.images.len()]);
        assert_eq!([&few.train, &few.validation, &few.test].map(Volumes::count), [20, 9, 3]);
        assert_eq!(few.validation.labels, [0, 1, 2, 3, 4, 5, 6, 7, 0]);
        for n in 0..3 {
            assert_ne!(few.train.image(n), few.validation.image(n));
            assert_ne!(few.test.image(n), few.validation.image(n));
        }
    }

    #[test]
    fn a_file_holds_the_set_in_the_layout_of_medmnist_and_is_not_overwritten() {
        let folder = tempfile::tempdir().unwrap();
        let (path, set) = (folder.path().join("shapes.npz"), generate(&small()).unwrap());
        assert!(write(&path, &small(), &set).unwrap());
        let file = Checkpoint::open(&path).unwrap();
        for (name, shape, bytes) in [
            ("train_images", vec![20, 12, 12, 12], &set.train.images),
            ("train_labels", vec![20, 1], &set.train.labels),
            ("val_images", vec![9, 12, 12, 12], &set.validation.images),
            ("test_labels", vec![3, 1], &set.test.labels),
        ] {
            let entry = file.entry(name).unwrap();
            assert_eq!((&entry.shape, &*file.read_plain(entry, "|u1", 1).unwrap()), (&shape, &bytes[..]), "{name}");
        }
        assert!(!write(&path, &small(), &set).unwrap());
        let before = std::fs::read(&path).unwrap();
        let error = write(&path, &ShapesConfig { breaking: 1.0, ..small() }, &set).unwrap_err().to_string();
        assert!(error.ends_with("expected breaking 1.0, found breaking 0.5"), "{error}");
        assert_eq!(std::fs::read(&path).unwrap(), before);
    }
}
