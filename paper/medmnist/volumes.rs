//! Labelled volumes on a device, as networks see them.
//!
//! ```text
//! u8 [n, s, s, s]  ─ (x/255 − ½)/½ ─►  [−1, 1]  ─ resized, once ─►  [n, 1, 29, 29, 29], in the number type of the convolutions
//! ```
//!
//! A minibatch is one gather on the device.

use crate::medmnist::data::shapes;
use crate::medmnist::data::volumes::{VolumeSet, Volumes};
use crate::medmnist::data::{self, Checked};
use crate::medmnist::networks::SIDE;
use reynolds_torch::Precision;
use reynolds_torch::tch::{Device, Kind, Tensor};

use super::settings::{MedDataConfig, Resize};
use reynolds_train::error::{Error, Result};
use reynolds_train::task::Split;

const RESIZED: usize = 64;

/// Labels of classes that differ by a turn or a reflection alone, of generated sets.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ClassPairs {
    pub rotation: Vec<[usize; 2]>,
    pub reflection: Vec<[usize; 2]>,
}

impl ClassPairs {
    pub fn of_shapes() -> Self {
        Self { rotation: shapes::ROTATION_PAIRS.to_vec(), reflection: shapes::REFLECTION_PAIRS.to_vec() }
    }
}

#[derive(Debug)]
struct SplitData {
    /// `[n, 1, 29, 29, 29]`.
    volumes: Tensor,
    /// `[n]`, whole numbers.
    labels: Tensor,
    /// The same on the host.
    truth: Vec<usize>,
}

/// A set of volumes on a device. A clone shares them.
#[derive(Debug)]
pub struct MedData {
    pub name: String,
    pub classes: Vec<String>,
    pub pairs: ClassPairs,
    /// By [`Split`].
    parts: [SplitData; 3],
}

impl Clone for MedData {
    fn clone(&self) -> Self {
        let part = |part: &SplitData| SplitData {
            volumes: part.volumes.shallow_clone(),
            labels: part.labels.shallow_clone(),
            truth: part.truth.clone(),
        };
        let [train, validation, test] = &self.parts;
        let parts = [part(train), part(validation), part(test)];
        Self { name: self.name.clone(), classes: self.classes.clone(), pairs: self.pairs.clone(), parts }
    }
}

impl MedData {
    /// Generates the volumes, or reads them from the publisher's file.
    pub fn open(config: &MedDataConfig, precision: Precision, device: Device) -> Result<Self> {
        let (set, pairs) = match config.file()? {
            None => (shapes::generate(&config.shapes)?, ClassPairs::of_shapes()),
            Some((set, size)) => (data::open(config.files(), set, size, Checked::Yes)?, ClassPairs::default()),
        };
        Self::new(&set, pairs, config.resize, precision, device)
    }

    pub fn new(
        set: &VolumeSet,
        pairs: ClassPairs,
        resize: Resize,
        precision: Precision,
        device: Device,
    ) -> Result<Self> {
        let part = |name: &str, volumes: &Volumes, least: usize| -> Result<SplitData> {
            if volumes.count() < least {
                return Err(Error::config(format!("data.{name}"), format!("at least {least}"), volumes.count()));
            }
            let truth: Vec<usize> = volumes.labels.iter().map(|&label| label.into()).collect();
            if let Some(label) = truth.iter().find(|&&label| label >= set.classes.len()) {
                let expected = format!("labels below {}", set.classes.len());
                return Err(Error::config(format!("data.{name}"), expected, label));
            }
            let labels: Vec<i64> = truth.iter().map(|&label| label as i64).collect();
            let labels = Tensor::f_from_slice(&labels)?.f_to_device(device)?;
            Ok(SplitData { volumes: resized(volumes, resize, precision, device)?, labels, truth })
        };
        let parts =
            [part("train", &set.train, 2)?, part("validation", &set.validation, 1)?, part("test", &set.test, 1)?];
        Ok(Self { name: set.name.clone(), classes: set.classes.clone(), pairs, parts })
    }

    pub fn truth(&self, split: Split) -> &[usize] {
        &self.part(split).truth
    }

    pub fn count(&self, split: Split) -> usize {
        self.truth(split).len()
    }

    pub fn device(&self) -> Device {
        self.parts[0].volumes.device()
    }

    /// `[count, 1, 29, 29, 29]` from the volume `first` on, sharing the storage.
    pub fn volumes(&self, split: Split, first: usize, count: usize) -> Result<Tensor> {
        Ok(self.part(split).volumes.f_narrow(0, first as i64, count as i64)?)
    }

    /// Volumes `[n, 1, 29, 29, 29]` and labels `[n]` with these numbers `[n]`; does not synchronise.
    pub fn chosen(&self, split: Split, numbers: &Tensor) -> Result<(Tensor, Tensor)> {
        let SplitData { volumes, labels, .. } = self.part(split);
        Ok((volumes.f_index_select(0, numbers)?, labels.f_index_select(0, numbers)?))
    }

    fn part(&self, split: Split) -> &SplitData {
        &self.parts[split as usize]
    }
}

fn resized(volumes: &Volumes, resize: Resize, precision: Precision, device: Device) -> Result<Tensor> {
    let (side, to) = (volumes.side as i64, [SIDE as i64; 3]);
    let voxels = volumes.side.pow(3);
    let mut seen = Vec::new();
    for images in volumes.images.chunks((RESIZED * voxels).max(1)) {
        let images = Tensor::f_from_slice(images)?.f_view([-1, 1, side, side, side])?.f_to_device(device)?;
        let grey = images.f_to_kind(Kind::Float)?.f_div_scalar(255.0)?.f_sub_scalar(0.5)?.f_div_scalar(0.5)?;
        let grey = match resize {
            Resize::Trilinear => grey.f_upsample_trilinear3d(to, false, None, None, None)?,
            Resize::Nearest => grey.f_upsample_nearest3d(to, None, None, None)?,
        };
        seen.push(precision.cast(&grey)?);
    }
    Ok(Tensor::f_cat(&seen, 0)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Two training volumes of side 28, one of each other part: constant grey levels, but for a bright corner in the last.
    fn set() -> VolumeSet {
        let part = |levels: &[u8]| Volumes {
            side: 28,
            images: levels.iter().flat_map(|&level| vec![level; 28 * 28 * 28]).collect(),
            labels: (0..levels.len() as u8).collect(),
        };
        let mut test = part(&[0]);
        test.images[0] = 255;
        let classes = vec!["a".into(), "b".into()];
        VolumeSet { name: "levels".into(), classes, train: part(&[0, 255]), validation: part(&[51]), test }
    }

    fn data(resize: Resize) -> MedData {
        MedData::new(&set(), ClassPairs::default(), resize, Precision::F32, Device::Cpu).unwrap()
    }

    #[test]
    fn black_is_minus_one_white_is_one_and_resizing_keeps_constants() {
        for resize in [Resize::Trilinear, Resize::Nearest] {
            let data = data(resize);
            for (split, number, level) in
                [(Split::Train, 0, -1.0), (Split::Train, 1, 1.0), (Split::Validation, 0, -0.6)]
            {
                let volume = data.volumes(split, number, 1).unwrap();
                assert_eq!(volume.size(), [1, 1, 29, 29, 29]);
                let farthest = (volume - level).abs().max().double_value(&[]);
                assert!(farthest < 1e-6, "{resize:?} {level} {farthest}");
            }
        }
    }

    #[test]
    fn trilinear_is_linear_along_each_axis_with_corners_not_aligned() {
        // Voxel j of 29 lies at (j + ½)·28/29 − ½ of 28, never below 0: the weight of voxel 0 is 1 at j = 0 and 1 − (1.5·28/29 − ½) at j = 1.
        let weights = [1.0, 1.5 - 1.5 * 28.0 / 29.0];
        let volume = data(Resize::Trilinear).volumes(Split::Test, 0, 1).unwrap();
        for (i, a) in weights.iter().enumerate() {
            for (j, b) in weights.iter().enumerate() {
                let found = volume.double_value(&[0, 0, 0, i as i64, j as i64]);
                assert!((found - (2.0 * a * b - 1.0)).abs() < 1e-6, "{i} {j} {found}");
            }
        }
        // The nearest of 28 to voxel 1 of 29 is ⌊28/29⌋ = 0 still.
        let nearest = data(Resize::Nearest).volumes(Split::Test, 0, 1).unwrap();
        assert_eq!([0, 1, 2].map(|at| nearest.double_value(&[0, 0, 0, 0, at])), [1.0, 1.0, -1.0]);
    }

    #[test]
    fn chosen_volumes_have_their_labels() {
        let (volumes, labels) = data(Resize::Nearest).chosen(Split::Train, &Tensor::from_slice(&[1_i64, 0])).unwrap();
        assert_eq!(Vec::<i64>::try_from(&labels).unwrap(), [1, 0]);
        assert_eq!([0, 1].map(|n| volumes.double_value(&[n, 0, 3, 3, 3])), [1.0, -1.0]);
    }

    #[test]
    fn a_single_training_volume_and_unknown_labels_are_refused() {
        let refused = |set: &VolumeSet| {
            let data = MedData::new(set, ClassPairs::default(), Resize::Nearest, Precision::F32, Device::Cpu);
            data.unwrap_err().to_string()
        };
        let mut one = set();
        one.train = one.validation.clone();
        assert_eq!(refused(&one), "config: data.train: expected at least 2, found 1");
        let mut other = set();
        other.test.labels[0] = 2;
        assert_eq!(refused(&other), "config: data.test: expected labels below 2, found 2");
    }
}
