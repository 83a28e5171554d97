//! Pairs of CT slices on a device, and patches of them.
//!
//! ```text
//! images [4, cases, side, side]: truth, corrupted, interpolated (255 · min(max(μ, 0), 1)), I = 1 − metal
//! patch: pixel (i, j) of a patch ← (row ± i, column ± j) of its case, the same for all four images
//! ```
//!
//! Cases lie part after part, as in [`CtSubset::ALL`]. A minibatch of patches is one gather on the device.

use crate::ct::data::Pair;
pub use crate::ct::data::Subset as CtSubset;
use crate::ct::networks::Corrupted;
use reynolds::random::Random;
use reynolds_torch::tch::{Device, Kind, Tensor};
use reynolds_train::error::{Error, Result};
use reynolds_train::task::Split;

impl From<Split> for CtSubset {
    fn from(split: Split) -> Self {
        match split {
            Split::Train => Self::Train,
            Split::Validation => Self::Validation,
            Split::Test => Self::Test,
        }
    }
}

/// μ = 1/cm in images of the networks.
const WHITE: f64 = 255.0;

/// Images of some cases, `[N, 1, side, side]` each.
#[derive(Debug)]
pub struct CtBatch {
    pub input: Corrupted,
    pub truth: Tensor,
}

/// Images of one case on the host, `[side · side]` each from the top, from 0 to 255.
#[derive(Debug, Clone, PartialEq)]
pub struct CaseImages {
    pub side: usize,
    pub truth: Vec<f32>,
    pub corrupted: Vec<f32>,
    pub interpolated: Vec<f32>,
    /// 1 outside the metal, 0 in it.
    pub keep: Vec<f32>,
}

/// All cases of a set on a device. A clone shares the images.
#[derive(Debug)]
pub struct CtData {
    images: Tensor,
    counts: [usize; 4],
}

impl Clone for CtData {
    fn clone(&self) -> Self {
        Self { images: self.images.shallow_clone(), counts: self.counts }
    }
}

impl CtData {
    /// Images `[4, cases, side, side]` in the scale of the networks: truth, corrupted, interpolated, I = 1 − metal; part after part.
    pub fn new(images: Tensor, counts: [usize; 4]) -> Result<Self> {
        let cases = counts.iter().sum::<usize>() as i64;
        let size = images.size();
        if size.len() != 4 || size[..2] != [4, cases] || size[2] != size[3] || counts[..3].contains(&0) {
            let expected = format!("images [4, {cases}, side, side], some for training, validation and test each");
            return Err(Error::config("data", expected, format!("{size:?} of {counts:?}")));
        }
        Ok(Self { images: images.f_contiguous()?, counts })
    }

    /// Pairs of one side, part after part, put on the device one by one.
    pub fn of_pairs(
        counts: [usize; 4],
        side: usize,
        device: Device,
        pairs: impl IntoIterator<Item = Result<Pair>>,
    ) -> Result<Self> {
        let size = side as i64;
        let all = Tensor::f_empty([4, counts.iter().sum::<usize>() as i64, size, size], (Kind::Float, device))?;
        for (number, pair) in (0..).zip(pairs) {
            let Pair { side: found, truth, corrupted, interpolated, metal } = pair?;
            if found != side {
                return Err(Error::config("data", format!("pairs of side {side}"), found));
            }
            let numbers = [truth, corrupted, interpolated, metal].concat();
            let images = Tensor::f_from_slice(&numbers)?.f_view([4, size, size])?.f_clamp(0.0, 1.0)?;
            let place = all.f_narrow(1, number, 1)?.f_squeeze_dim(1)?;
            place.f_narrow(0, 0, 3)?.f_copy_(&images.f_narrow(0, 0, 3)?.f_mul_scalar(WHITE)?)?;
            place.f_narrow(0, 3, 1)?.f_copy_(&(1.0 - images.narrow(0, 3, 1)))?;
        }
        Self::new(all, counts)
    }

    pub fn side(&self) -> usize {
        self.images.size()[3] as usize
    }

    pub fn count(&self, part: CtSubset) -> usize {
        self.counts[part as usize]
    }

    pub fn number_kind(&self) -> Kind {
        self.images.kind()
    }

    pub fn device(&self) -> Device {
        self.images.device()
    }

    /// Whole images of `count` cases of a part from its case `first` on; they share the storage.
    pub fn cases(&self, part: CtSubset, first: usize, count: usize) -> Result<CtBatch> {
        let before: usize = self.counts[..part as usize].iter().sum();
        if first + count > self.count(part) {
            let expected = format!("at most {}, the cases of a part", self.count(part));
            return Err(Error::config(format!("data.{}", part.name()), expected, first + count));
        }
        batch(&self.images.f_narrow(1, (before + first) as i64, count as i64)?.f_unsqueeze(2)?)
    }

    pub fn images(&self, part: CtSubset, case: usize) -> Result<CaseImages> {
        let CtBatch { input, truth } = self.cases(part, case, 1)?;
        let numbers = |images: &Tensor| -> Result<Vec<f32>> {
            Ok(Vec::try_from(images.f_reshape([-1])?.f_to_kind(Kind::Float)?.f_to_device(Device::Cpu)?)?)
        };
        Ok(CaseImages {
            side: self.side(),
            truth: numbers(&truth)?,
            corrupted: numbers(&input.image)?,
            interpolated: numbers(&input.interpolated)?,
            keep: numbers(&input.keep)?,
        })
    }

    /// Patches of training cases, by their numbers as [`Patches`] has them; does not synchronise.
    pub fn patches(&self, numbers: &Tensor, patch: usize) -> Result<CtBatch> {
        let (patch, side) = (patch as i64, self.side() as i64);
        let along = Tensor::f_arange(patch, (Kind::Int64, self.device()))?;
        // First row or column plus or minus 0, 1, …: [N, patch].
        let [case, row, down, column, right] = [0, 1, 2, 3, 4].map(|number| numbers.get(number).unsqueeze(1));
        let rows = down.f_mul(&along)?.f_add(&row)?.f_add(&case.f_mul_scalar(side)?)?.f_mul_scalar(side)?;
        let columns = right.f_mul(&along)?.f_add(&column)?;
        let pixels = rows.f_unsqueeze(2)?.f_add(&columns.f_unsqueeze(1)?)?.f_view([-1])?;
        let images = self.images.f_view([4, -1])?.f_index_select(1, &pixels)?;
        batch(&images.f_view([4, -1, 1, patch, patch])?)
    }
}

/// Of images `[4, N, 1, side, side]`.
fn batch(images: &Tensor) -> Result<CtBatch> {
    let [truth, image, interpolated, keep] = [0, 1, 2, 3].map(|number| images.get(number));
    Ok(CtBatch { input: Corrupted { image, interpolated, keep }, truth })
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Patch {
    pub case: usize,
    /// First row and first column.
    pub corner: [usize; 2],
    /// Whether it is mirrored top to bottom, and left to right.
    pub mirrored: [bool; 2],
}

impl Patch {
    /// A patch with a corner from 0 to `room`.
    pub fn draw(case: usize, room: usize, flips: bool, random: &mut Random) -> Self {
        let corner = [0, 1].map(|_| random.below(room + 1));
        Self { case, corner, mirrored: [0, 1].map(|_| random.below(2) == 1 && flips) }
    }
}

/// Patches as numbers on the device.
#[derive(Debug)]
pub struct Patches {
    /// Case, first row, step of rows (±1), first column, step of columns (±1): `[5, N]` on the device.
    numbers: Tensor,
}

impl Patches {
    pub fn new(patches: &[Patch], side: usize, device: Device) -> Result<Self> {
        let mut numbers: [Vec<i64>; 5] = Default::default();
        for patch in patches {
            numbers[0].push(patch.case as i64);
            for (axis, (&first, &mirrored)) in patch.corner.iter().zip(&patch.mirrored).enumerate() {
                numbers[2 * axis + 1].push(if mirrored { first + side - 1 } else { first } as i64);
                numbers[2 * axis + 2].push(if mirrored { -1 } else { 1 });
            }
        }
        Ok(Self { numbers: Tensor::f_from_slice(&numbers.concat())?.f_view([5, -1])?.f_to_device(device)? })
    }

    pub fn count(&self) -> usize {
        self.numbers.size()[1] as usize
    }

    /// The numbers of `count` patches from `first` on, `[5, count]`.
    pub fn narrow(&self, first: usize, count: usize) -> Result<Tensor> {
        Ok(self.numbers.f_narrow(1, first as i64, count as i64)?)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    /// Case c has the number 100c + 10i + j at (i, j), in thousandths of 1/cm; corrupted + 0.1, interpolated + 0.2, metal 1 at (1, 2).
    fn pair(case: usize) -> Pair {
        let truth: Vec<f32> = (0..16).map(|at| (100 * case + 10 * (at / 4) + at % 4) as f32 / 1000.0).collect();
        let more = |by: f32| truth.iter().map(|value| value + by).collect();
        let metal = (0..16).map(|at| f32::from(u8::from(at == 6))).collect();
        Pair { side: 4, corrupted: more(0.1), interpolated: more(0.2), truth, metal }
    }

    fn placed(counts: [usize; 4], pairs: impl IntoIterator<Item = Pair>) -> Result<CtData> {
        CtData::of_pairs(counts, 4, Device::Cpu, pairs.into_iter().map(Ok))
    }

    fn data() -> CtData {
        placed([2, 1, 1, 0], (0..4).map(pair)).unwrap()
    }

    /// In thousandths of 1/cm.
    fn numbers(images: &Tensor) -> Vec<i64> {
        let numbers = Vec::<f32>::try_from(images.contiguous().view([-1])).unwrap();
        numbers.iter().map(|number| (number / 255.0 * 1000.0).round() as i64).collect()
    }

    #[test]
    fn images_are_scaled_to_255_and_metal_becomes_what_is_kept() {
        let test = data().images(CtSubset::Test, 0).unwrap();
        let number = |image: &[f32], at: usize| (image[at] / 255.0 * 1000.0).round();
        assert_eq!([0, 3, 4].map(|at| number(&test.truth, at)), [300.0, 303.0, 310.0]);
        assert_eq!((number(&test.corrupted, 4), number(&test.interpolated, 4)), (410.0, 510.0));
        assert!(test.keep.iter().enumerate().all(|(at, &keep)| (keep == 0.0) == (at == 6)));
        let mut bright = pair(0);
        (bright.truth[0], bright.truth[1]) = (3.0, -2.0);
        let clipped = placed([1; 4], vec![bright; 4]).unwrap().cases(CtSubset::Train, 0, 1).unwrap();
        assert_eq!(numbers(&clipped.truth)[..3], [1000, 0, 2]);
    }

    #[test]
    fn parts_lie_one_after_the_other_and_end_where_they_end() {
        let data = data();
        assert_eq!(CtSubset::ALL.map(|part| data.count(part)), [2, 1, 1, 0]);
        assert_eq!(numbers(&data.cases(CtSubset::Train, 1, 1).unwrap().truth)[0], 100);
        assert_eq!(numbers(&data.cases(CtSubset::Validation, 0, 1).unwrap().truth)[0], 200);
        let error = data.cases(CtSubset::Validation, 0, 2).unwrap_err().to_string();
        assert_eq!(error, "config: data.validation: expected at most 1, the cases of a part, found 2");
    }

    #[test]
    fn a_patch_is_the_same_of_all_four_images_in_all_four_mirrorings() {
        let data = data();
        // Of case 1, rows 1 and 2; columns 2 and 3.
        let upright = [112, 113, 122, 123];
        for (mirrored, order) in [
            ([false, false], [0, 1, 2, 3]),
            ([false, true], [1, 0, 3, 2]),
            ([true, false], [2, 3, 0, 1]),
            ([true, true], [3, 2, 1, 0]),
        ] {
            let patch = Patch { case: 1, corner: [1, 2], mirrored };
            let batch = data.patches(&Patches::new(&[patch], 2, Device::Cpu).unwrap().numbers, 2).unwrap();
            let expected = order.map(|at: usize| upright[at]);
            assert_eq!(numbers(&batch.truth), expected);
            assert_eq!(numbers(&batch.input.image), expected.map(|number| number + 100));
            assert_eq!(numbers(&batch.input.interpolated), expected.map(|number| number + 200));
            // The metal is at row 1, column 2.
            let keep = Vec::<f32>::try_from(batch.input.keep.view([-1])).unwrap();
            assert_eq!(keep.iter().position(|&keep| keep == 0.0), expected.iter().position(|&number| number == 112));
        }
    }

    #[test]
    fn patches_lie_inside_and_reach_every_place_and_mirroring() {
        let data = data();
        let draw = |flips| {
            let mut random = Random::new(3);
            let patches: Vec<Patch> = (0..400).map(|_| Patch::draw(0, 1, flips, &mut random)).collect();
            Patches::new(&patches, 3, Device::Cpu).unwrap()
        };
        let corners = |patches: &Patches| -> BTreeSet<i64> {
            numbers(&data.patches(&patches.numbers, 3).unwrap().truth.view([400, 9]).select(1, 0)).into_iter().collect()
        };
        // Upright patches begin at rows and columns 0 and 1; mirrored ones at 2 and 3 too.
        assert_eq!(corners(&draw(false)), [0, 1, 10, 11].into());
        assert_eq!(corners(&draw(true)).len(), 16);
        let whole = [1, 0].map(|case| Patch::draw(case, 0, false, &mut Random::new(1)));
        let whole = Patches::new(&whole, 4, Device::Cpu).unwrap();
        let second = data.patches(&whole.narrow(1, 1).unwrap(), 4).unwrap();
        assert_eq!(numbers(&second.truth), numbers(&data.cases(CtSubset::Train, 0, 1).unwrap().truth));
        assert_eq!(whole.count(), 2);
    }

    #[test]
    fn sides_that_differ_and_empty_parts_are_refused() {
        let mut other = pair(0);
        other.side = 2;
        let error = placed([2, 1, 1, 0], [pair(0), other, pair(1), pair(2)]).unwrap_err().to_string();
        assert!(error.contains("pairs of side 4, found 2"), "{error}");
        assert!(placed([1, 0, 1, 0], [pair(0), pair(1)]).is_err());
    }
}
