//! Logits of volumes, and how much they change when volumes are turned.

use reynolds_torch::tch::{self, Device, Kind, Tensor};

use super::metrics::Scored;
use super::task::MedTask;
use reynolds_train::error::Result;
use reynolds_train::task::Split;

/// Volumes of a minibatch of evaluation.
const EVALUATED: usize = 48;

/// A permutation of the axes, and whether each is reversed.
pub(super) type Turn = ([i64; 3], [bool; 3]);

/// Mean over volumes x and elements g of ‖softmax f(gx) − softmax f(x)‖.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct TurningError {
    /// Over the 24 rotations of the cube.
    pub rotation: f64,
    /// Over the 24 elements that mirror it.
    pub reflection: f64,
}

impl MedTask {
    pub fn scored(&self, split: Split) -> Result<Scored> {
        let _guard = tch::no_grad_guard();
        let evaluated = self.evaluated()?;
        let count = self.data().count(split);
        let mut logits = Vec::new();
        for first in (0..count).step_by(EVALUATED) {
            self.interrupt.check()?;
            let volumes = self.data().volumes(split, first, EVALUATED.min(count - first))?;
            logits.push(evaluated(&volumes)?);
        }
        let logits = Tensor::f_cat(&logits, 0)?.f_to_kind(Kind::Double)?.f_to_device(Device::Cpu)?;
        let numbers = Vec::<f64>::try_from(logits.f_contiguous()?.f_view([-1])?)?;
        Ok(Scored::new(self.data().classes.len(), numbers, self.data().truth(split).to_vec()))
    }

    /// The error of invariance on at most `count` volumes of a part, evenly spread; `None` if there are none. The resized volumes are turned: resizing treats
    /// all axes and directions alike.
    pub fn turning_error(&self, split: Split, count: usize) -> Result<Option<TurningError>> {
        let _guard = tch::no_grad_guard();
        let all = self.data().count(split);
        let count = count.min(all);
        if count == 0 {
            return Ok(None);
        }
        let numbers: Vec<i64> = (0..count).map(|number| (number * all / count) as i64).collect();
        let numbers = Tensor::f_from_slice(&numbers)?.f_to_device(self.data().device())?;
        let evaluated = self.evaluated()?;
        let probabilities =
            |volumes: &Tensor| -> Result<Tensor> { Ok(evaluated(volumes)?.f_softmax(-1, Kind::Double)?) };
        let [rotations, reflections] = turns();
        let elements = [&rotations[..], &reflections].concat();
        let mut moved = Vec::new();
        for first in (0..count).step_by(EVALUATED) {
            let numbers = numbers.f_narrow(0, first as i64, EVALUATED.min(count - first) as i64)?;
            let (volumes, _) = self.data().chosen(split, &numbers)?;
            let upright = probabilities(&volumes)?;
            // As many turns together as a minibatch has room for.
            for together in elements.chunks((EVALUATED / volumes.size()[0] as usize).max(1)) {
                let all: Result<Vec<_>> = together.iter().map(|turn| turned(&volumes, *turn)).collect();
                let found = probabilities(&Tensor::f_cat(&all?, 0)?)?;
                let [volumes, classes] = [0, 1].map(|axis| upright.size()[axis]);
                let difference = found.f_view([-1, volumes, classes])?.f_sub(&upright)?;
                let lengths = difference.f_square()?.f_sum_dim_intlist([2_i64].as_slice(), false, Kind::Double)?;
                moved.push(lengths.f_sqrt()?.f_sum_dim_intlist([1_i64].as_slice(), false, Kind::Double)?);
            }
        }
        let moved = Vec::<f64>::try_from(Tensor::f_cat(&moved, 0)?.f_to_device(Device::Cpu)?)?;
        let mut sums = [0.0, 0.0];
        for (number, length) in moved.iter().enumerate() {
            sums[usize::from(number % elements.len() >= rotations.len())] += length;
        }
        let [rotation, reflection] = sums.map(|sum| sum / (count * rotations.len()) as f64);
        Ok(Some(TurningError { rotation, reflection }))
    }

    /// Times passes over all volumes of a part at once, in evaluation, without the tape and with assembled kernels.
    pub fn timed_inference<T>(
        &self,
        split: Split,
        timed: impl FnOnce(&mut dyn FnMut() -> Result<()>) -> Result<T>,
    ) -> Result<T> {
        let _guard = tch::no_grad_guard();
        let volumes = self.data().volumes(split, 0, self.data().count(split))?;
        let evaluated = self.evaluated()?;
        timed(&mut || evaluated(&volumes).map(drop))
    }
}

/// The rotations of the cube, and its other symmetries: 24 signed permutations of the axes each.
pub(super) fn turns() -> [Vec<Turn>; 2] {
    const EVEN: [[i64; 3]; 3] = [[0, 1, 2], [1, 2, 0], [2, 0, 1]];
    const ODD: [[i64; 3]; 3] = [[0, 2, 1], [2, 1, 0], [1, 0, 2]];
    let mut all = [Vec::new(), Vec::new()];
    for (odd, axes) in EVEN.into_iter().map(|axes| (false, axes)).chain(ODD.into_iter().map(|axes| (true, axes))) {
        for bits in 0..8_u8 {
            let reversed = [0, 1, 2].map(|axis| bits >> axis & 1 == 1);
            let mirrored = odd != (bits.count_ones() % 2 == 1);
            all[usize::from(mirrored)].push((axes, reversed));
        }
    }
    all
}

pub(super) fn turned(volumes: &Tensor, (axes, reversed): Turn) -> Result<Tensor> {
    let [a, b, c] = axes.map(|axis| axis + 2);
    let reversed: Vec<i64> = (0..3).filter(|&axis| reversed[axis]).map(|axis| axis as i64 + 2).collect();
    Ok(volumes.f_permute([0, 1, a, b, c])?.f_flip(reversed)?.f_contiguous()?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn turns_are_24_rotations_and_24_reflections() {
        let cube = Tensor::arange(27, (Kind::Int64, Device::Cpu)).view([3, 3, 3]);
        let numbers = |cube: Tensor| Vec::<i64>::try_from(cube.contiguous().view([-1])).unwrap();
        let image = |turn: Turn| numbers(turned(&cube.view([1, 1, 3, 3, 3]), turn).unwrap());
        let [rotations, reflections] = turns().map(|turns| turns.into_iter().map(image).collect::<BTreeSet<_>>());
        assert_eq!((rotations.len(), reflections.len(), rotations.intersection(&reflections).count()), (24, 24, 0));
        let after = |a: &[i64], b: &[i64]| -> Vec<i64> { b.iter().map(|&at| a[at as usize]).collect() };
        assert!(rotations.iter().all(|a| rotations.iter().all(|b| rotations.contains(&after(a, b)))));
        assert!(rotations.contains(&numbers(cube.rot90(1, [1, 2]))) && reflections.contains(&numbers(cube.flip([0]))));
    }
}
