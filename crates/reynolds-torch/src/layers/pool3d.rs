//! A pool of volumes with weights that are a product over the axes.
//!
//! ```text
//! y[o₁, o₂, o₃] = Σ w[t₁] w[t₂] w[t₃] x[s·o₁ + t₁ − p, …]      zeros around x, t = 0 … window − 1, stride s, padding p
//! ```
//!
//! Along each axis this is a product with a banded matrix.

use tch::{Kind, Tensor};

use crate::error::{Error, Result};

/// `[N, C, D, H, W]` → `[N, C, D′, H′, W′]`, each channel by itself.
#[derive(Debug, Clone, PartialEq)]
pub struct Pool3d {
    weights: Vec<f64>,
    stride: usize,
    padding: usize,
}

impl Pool3d {
    /// The mean over a window, zeros of the padding counted.
    pub fn average(window: usize, stride: usize, padding: usize) -> Self {
        Self { weights: vec![1.0 / window as f64; window], stride, padding }
    }

    /// A Gaussian of standard deviation σ in voxels, cut to a window of 2·round(3σ) + 1 and scaled to sum 1.
    pub fn gaussian(sigma: f64, stride: usize, padding: usize) -> Self {
        let reach = (3.0 * sigma).round();
        let offsets = (0..=2 * reach as usize).map(|t| t as f64 - reach);
        let weights: Vec<f64> = offsets.map(|offset| (-0.5 * (offset / sigma).powi(2)).exp()).collect();
        let sum: f64 = weights.iter().sum();
        Self { weights: weights.iter().map(|weight| weight / sum).collect(), stride, padding }
    }

    /// The side of what is made of a side.
    ///
    /// # Errors
    /// [`Error::Setting`] if the window does not fit.
    pub fn side(&self, side: usize) -> Result<usize> {
        let room = (side + 2 * self.padding).checked_sub(self.weights.len());
        let room = room.ok_or_else(|| {
            Error::setting("side of a volume", format!("at least the {} of a window", self.weights.len()), side)
        })?;
        Ok(room / self.stride + 1)
    }

    /// The pool.
    ///
    /// # Errors
    /// [`Error::Setting`] if the window does not fit; [`Error::Torch`] if the device has no room.
    pub fn forward(&self, input: &Tensor) -> Result<Tensor> {
        let mut output = input.shallow_clone();
        for axis in [2, 3, 4] {
            let side = output.size()[axis] as usize;
            let banded = self.banded(side)?.f_to_device(input.device())?.f_to_kind(input.kind())?;
            output = output.f_movedim_int(axis as i64, -1)?.f_matmul(&banded)?.f_movedim_int(-1, axis as i64)?;
        }
        Ok(output)
    }

    /// `[side, side of the output]`.
    fn banded(&self, side: usize) -> Result<Tensor> {
        let outputs = self.side(side)?;
        let mut banded = vec![0.0; side * outputs];
        for output in 0..outputs {
            for (tap, weight) in self.weights.iter().enumerate() {
                let place = (output * self.stride + tap).checked_sub(self.padding);
                if let Some(place) = place.filter(|place| *place < side) {
                    banded[place * outputs + output] = *weight;
                }
            }
        }
        Ok(Tensor::from_slice(&banded).f_to_kind(Kind::Double)?.f_view([side as i64, outputs as i64])?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_average_is_libtorchs_average_pool() {
        let input = Tensor::arange(2 * 343, (Kind::Double, tch::Device::Cpu)).sin().view([1, 2, 7, 7, 7]);
        for (window, stride, padding) in [(5, 2, 1), (5, 2, 0), (3, 1, 0), (3, 2, 1)] {
            let ours = Pool3d::average(window, stride, padding).forward(&input).unwrap();
            let [window, stride, padding] = [window, stride, padding].map(|n| [n as i64; 3]);
            let theirs = input.avg_pool3d(window, stride, padding, false, true, None::<i64>);
            assert!(f64::try_from((ours - theirs).abs().max()).unwrap() < 1e-14);
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
