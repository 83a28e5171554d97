//! A pool of volumes with weights that are a product over the axes.
//!
//! ```text
//! y[o₁, o₂, o₃] = Σ w[t₁] w[t₂] w[t₃] x[s·o₁ + t₁ − p, …]      zeros around x, t = 0 … window − 1, stride s, padding p
//! ```
//!
//! Along each axis this is a product with a banded matrix, which leaves the order of memory as it is: the outermost axis first, when what
//! lies inside it is one long row, and the next ones on less and less.

use std::cell::RefCell;
use std::collections::HashMap;

use tch::Tensor;

use super::Constant;
use super::volume_layout::channels_innermost;
use crate::error::{Error, Result};

/// `[N, C, D, H, W]` → `[N, C, D′, H′, W′]`, each channel by itself.
#[derive(Debug)]
pub struct Pool3d {
    weights: Vec<f64>,
    stride: usize,
    padding: usize,
    /// The banded matrix of each side that was met.
    banded: RefCell<HashMap<usize, Constant>>,
}

impl Pool3d {
    /// The mean over a window, zeros of the padding counted.
    pub fn average(window: usize, stride: usize, padding: usize) -> Self {
        Self::new(vec![1.0 / window as f64; window], stride, padding)
    }

    /// A Gaussian of standard deviation σ in voxels, cut to a window of 2·round(3σ) + 1 and scaled to sum 1.
    pub fn gaussian(sigma: f64, stride: usize, padding: usize) -> Self {
        let reach = (3.0 * sigma).round();
        let offsets = (0..=2 * reach as usize).map(|t| t as f64 - reach);
        let weights: Vec<f64> = offsets.map(|offset| (-0.5 * (offset / sigma).powi(2)).exp()).collect();
        let sum: f64 = weights.iter().sum();
        Self::new(weights.iter().map(|weight| weight / sum).collect(), stride, padding)
    }

    fn new(weights: Vec<f64>, stride: usize, padding: usize) -> Self {
        Self { weights, stride, padding, banded: RefCell::default() }
    }

    /// The side of what is made of a side.
    pub fn side(&self, side: usize) -> Result<usize> {
        let room = (side + 2 * self.padding).checked_sub(self.weights.len());
        let room = room.ok_or_else(|| {
            Error::setting("side of a volume", format!("at least the {} of a window", self.weights.len()), side)
        })?;
        Ok(room / self.stride + 1)
    }

    /// The pool, in the order of memory of the input.
    pub fn forward(&self, input: &Tensor) -> Result<Tensor> {
        let size = input.size();
        let (innermost, [samples, channels]) = (channels_innermost(input), [size[0], size[1]]);
        let mut output = if innermost { input.f_permute([0, 2, 3, 4, 1])? } else { input.shallow_clone() };
        // What lies outside and inside the axis at hand.
        let mut outer = if innermost { samples } else { samples * channels };
        let mut inner = size[2..].iter().product::<i64>() * if innermost { channels } else { 1 };
        let mut sides = Vec::with_capacity(3);
        for &side in &size[2..] {
            let banded = self.banded(side as usize, input)?;
            inner /= side;
            output = match inner {
                1 => output.f_reshape([outer, side])?.f_matmul(&banded.f_transpose(0, 1)?)?,
                _ => banded.f_matmul(&output.f_reshape([outer, side, inner])?)?,
            };
            sides.push(banded.size()[0]);
            outer *= banded.size()[0];
        }
        if innermost {
            Ok(output.f_view([samples, sides[0], sides[1], sides[2], channels])?.f_permute([0, 4, 1, 2, 3])?)
        } else {
            Ok(output.f_view([samples, channels, sides[0], sides[1], sides[2]])?)
        }
    }

    /// `[side of the output, side]`, where and as `like` is.
    fn banded(&self, side: usize, like: &Tensor) -> Result<Tensor> {
        if let Some(banded) = self.banded.borrow().get(&side) {
            return banded.like(like);
        }
        let outputs = self.side(side)?;
        let mut banded = vec![0.0; side * outputs];
        for output in 0..outputs {
            for (tap, weight) in self.weights.iter().enumerate() {
                let place = (output * self.stride + tap).checked_sub(self.padding);
                if let Some(place) = place.filter(|place| *place < side) {
                    banded[output * side + place] = *weight;
                }
            }
        }
        let banded = Constant::new(&banded, &[outputs as i64, side as i64])?;
        let held = banded.like(like)?;
        self.banded.borrow_mut().insert(side, banded);
        Ok(held)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{innermost, largest, normal};

    #[test]
    fn an_average_is_libtorchs_average_pool_in_both_orders_of_memory() {
        // Sides that differ show an axis mistaken for another.
        let plain = normal(&[2, 3, 5, 7, 9], 1);
        for (window, stride, padding) in [(5, 2, 1), (5, 2, 0), (3, 1, 0), (3, 2, 1)] {
            let pool = Pool3d::average(window, stride, padding);
            let [window, stride, padding] = [window, stride, padding].map(|n| [n as i64; 3]);
            let theirs = plain.avg_pool3d(window, stride, padding, false, true, None::<i64>);
            for input in [&plain, &innermost(&plain)] {
                let ours = pool.forward(input).unwrap();
                assert!(largest(&(&ours - &theirs)) < 1e-14);
                assert_eq!(ours.stride()[1] == 1, input.stride()[1] == 1);
            }
        }
    }

    #[test]
    fn a_gaussian_has_five_taps_at_the_published_width() {
        let pool = Pool3d::gaussian(0.66, 2, 1);
        assert_eq!((pool.weights.len(), pool.side(27).unwrap(), pool.side(7).unwrap()), (5, 13, 3));
        assert!((pool.weights.iter().sum::<f64>() - 1.0).abs() < 1e-15);
        assert!((pool.weights[1] / pool.weights[2] - (-0.5 / (0.66_f64 * 0.66)).exp()).abs() < 1e-15);
        assert!(Pool3d::average(5, 1, 0).side(4).is_err());
    }
}
