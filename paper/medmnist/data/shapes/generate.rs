//! A whole set, volumes in parallel.

use rayon::prelude::*;

use super::class::{CLASSES, pose};
use super::config::ShapesConfig;
use super::draw::{Part, draw};
use super::render::render;
use super::solid::Solid;
use crate::data::error::Result;
use crate::medmnist::data::volumes::{VolumeSet, Volumes};

/// Makes a set of shapes, on rayon's current pool. It follows from the settings alone, each volume from seed, part and number; classes take
/// turns, so that they are as frequent as each other.
pub fn generate(config: &ShapesConfig) -> Result<VolumeSet> {
    config.validate()?;
    let solids: Vec<Solid> = (0..CLASSES.len()).map(|label| Solid::new(pose(label as u8).0)).collect();
    let part = |part: Part, count: usize| {
        let voxels = config.side.pow(3);
        let mut images = vec![0; count * voxels];
        let fill = |(number, image): (usize, &mut [u8])| {
            let drawn = draw(config, part, number);
            render(&drawn, &solids[usize::from(drawn.label)], config.noise, config.side, image);
            drawn.label
        };
        let labels = images.par_chunks_exact_mut(voxels).enumerate().map(fill).collect();
        Volumes { side: config.side, images, labels }
    };
    Ok(VolumeSet {
        name: "generated shapes".into(),
        classes: CLASSES.map(String::from).to_vec(),
        train: part(Part::Train, config.train),
        validation: part(Part::Validation, config.validation),
        test: part(Part::Test, config.test),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

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
        assert_eq!((few.train.count(), few.validation.count(), few.test.count()), (20, 9, 3));
        assert_eq!(few.validation.labels, [0, 1, 2, 3, 4, 5, 6, 7, 0]);
        for n in 0..3 {
            assert_ne!(few.train.image(n), few.validation.image(n));
            assert_ne!(few.test.image(n), few.validation.image(n));
        }
    }
}
