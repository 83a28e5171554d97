//! Values and times of [`psnr`] and [`ssim`] for pairs of slices from 0 to 255.
//!
//! ```
//! use reynolds_checkpoint::Values;
//! use reynolds_bench::Array;
//! use reynolds_paper::ct::MetricsBench;
//! let constant = |value: f32| Array { shape: vec![1, 11, 11], values: Values::F32(vec![value; 121].into()) };
//! let row = MetricsBench { repeats: 1, threads: 1 }.measure(&constant(30.0), &constant(40.5), None)?;
//! // 2 · 30 and 2 · 40.5 in eight bits are 21 apart.
//! assert!((row.psnr[0] - 20.0 * (255.0_f64 / 21.0).log10()).abs() < 1e-12);
//! # Ok::<(), reynolds_train::Error>(())
//! ```

use crate::ct::{psnr, ssim};
use reynolds_bench::{Array, Clock, Times};
use reynolds_checkpoint::Values;
use reynolds_torch::tch::Tensor;
use reynolds_train::config::at_least_one;
use reynolds_train::error::{Error, Result};
use reynolds_train::threads;
use serde::Serialize;

/// The least side of an image, that of SSIM's window.
const WINDOW: usize = 11;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MetricsBench {
    pub repeats: usize,
    pub threads: usize,
}

/// One measurement. Times are medians in seconds, for all images.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct MetricsRow {
    pub row: &'static str,
    pub who: &'static str,
    /// `[n, height, width]`.
    pub shape: Vec<usize>,
    pub psnr: Vec<f64>,
    pub ssim: Vec<f64>,
    pub seconds: f64,
    pub psnr_seconds: f64,
    pub ssim_seconds: f64,
    pub threads: usize,
}

impl MetricsBench {
    /// Judges `image` by `truth`, both `[n, height, width]`, where `keep` is not 0; everywhere without it.
    pub fn measure(&self, truth: &Array, image: &Array, keep: Option<&Array>) -> Result<MetricsRow> {
        at_least_one("repeats", self.repeats)?;
        let arrays = || [("truth", Some(truth)), ("image", Some(image)), ("keep", keep)].into_iter();
        let arrays = || arrays().filter_map(|(name, array)| Some((name, array?)));
        for (name, array) in arrays() {
            let expected = match array.shape[..] {
                [n, height, width] if n > 0 && height.min(width) >= WINDOW && array.shape == truth.shape => continue,
                _ if name == "truth" => format!("[n, height, width], sides of at least {WINDOW}"),
                _ => format!("{:?}, as truth has", truth.shape),
            };
            return Err(Error::config(name, expected, format!("{:?}", array.shape)));
        }
        arrays().try_for_each(|(name, array)| all_finite(name, array))?;
        keep.map_or(Ok(()), some_kept)?;
        threads::set(self.threads);
        let (truth_images, images) = (tensor(truth)?, tensor(image)?);
        let keep = keep.map_or_else(|| Ok(images.f_ones_like()?), tensor)?;
        let all = |metric: Metric| Ok(Vec::<f64>::try_from(metric(&images, &truth_images, &keep)?)?);
        let (mut by_psnr, mut by_ssim) = (Vec::new(), Vec::new());
        for _ in 0..self.repeats {
            for (seconds, metric) in [(&mut by_psnr, psnr as Metric), (&mut by_ssim, ssim as Metric)] {
                seconds.push(Clock::HOST.seconds(1, || all(metric).map(drop))?);
            }
        }
        let both: Vec<f64> = by_psnr.iter().zip(&by_ssim).map(|(one, other)| one + other).collect();
        let [seconds, psnr_seconds, ssim_seconds] = [both, by_psnr, by_ssim].map(|times| Times::new(times).median());
        Ok(MetricsRow {
            row: "metrics",
            who: "reynolds",
            shape: truth.shape.clone(),
            psnr: all(psnr)?,
            ssim: all(ssim)?,
            seconds,
            psnr_seconds,
            ssim_seconds,
            threads: threads::resolve(self.threads),
        })
    }
}

fn all_finite(name: &str, array: &Array) -> Result<()> {
    let values = array.values.to_f64();
    let Some(place) = values.iter().position(|value| !value.is_finite()) else { return Ok(()) };
    let [height, width] = [array.shape[1], array.shape[2]];
    let at = [place / (height * width), place / width % height, place % width];
    Err(Error::config(name, "finite numbers", format!("{} at {at:?}", values[place])))
}

/// Refuses a mask that leaves nothing of an image.
fn some_kept(keep: &Array) -> Result<()> {
    let values = keep.values.to_f64();
    let mut images = values.chunks(keep.shape[1] * keep.shape[2]);
    let empty = images.position(|image| image.iter().all(|&value| value == 0.0));
    let error = |image| Error::config("keep", "a pixel that counts in every image", format!("none in image {image}"));
    empty.map_or(Ok(()), |image| Err(error(image)))
}

/// Of images, truth and mask, `[N, 1, height, width]` each.
type Metric = fn(&Tensor, &Tensor, &Tensor) -> Result<Tensor>;

/// `[n, 1, height, width]`.
fn tensor(array: &Array) -> Result<Tensor> {
    let flat = match &array.values {
        Values::F32(values) => Tensor::f_from_slice(values)?,
        Values::F64(values) => Tensor::f_from_slice(values)?,
    };
    Ok(flat.f_view([array.shape[0], 1, array.shape[1], array.shape[2]].map(|side| side as i64))?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use reynolds_testkit::golden::Golden;

    const ONCE: MetricsBench = MetricsBench { repeats: 1, threads: 1 };

    /// `golden/ct_metrics.py` has them from scikit-image.
    #[test]
    fn values_are_those_of_scikit_image_whatever_lies_beside_an_image() {
        let golden = Golden::open("ct_metrics");
        for cases in [vec!["streaks", "near", "streaks"], vec!["noise"]] {
            let stacked = |name: &str| {
                let each: Vec<_> = cases.iter().map(|case| golden.tensor(&format!("{case}.{name}"))).collect();
                let (height, width) = (each[0].0[0], each[0].0[1]);
                let values: Vec<f64> = each.into_iter().flat_map(|(_, values)| values).collect();
                Array { shape: vec![cases.len(), height, width], values: Values::F64(values.into()) }
            };
            let row = ONCE.measure(&stacked("truth"), &stacked("image"), Some(&stacked("keep"))).unwrap();
            for (number, case) in cases.iter().enumerate() {
                for (name, found) in [("psnr", row.psnr[number]), ("ssim", row.ssim[number])] {
                    let expected = golden.tensor(&format!("{case}.{name}")).1[0];
                    assert!((found - expected).abs() < 1e-12 * expected.abs().max(1.0), "{case}: {name} {found}");
                }
            }
            assert!(row.seconds > 0.0 && row.ssim_seconds > 0.0 && row.psnr_seconds > 0.0);
        }
    }

    #[test]
    fn other_shapes_numbers_that_are_none_and_masks_that_keep_nothing_are_refused_by_name() {
        let with = |shape: &[usize], change: &dyn Fn(&mut Vec<f32>)| {
            let mut values = vec![1.0; shape.iter().product()];
            change(&mut values);
            Array { shape: shape.into(), values: Values::F32(values.into()) }
        };
        let ones = |shape: &[usize]| with(shape, &|_| ());
        let two = |change: &dyn Fn(&mut Vec<f32>)| with(&[2, 12, 11], change);
        let (fine, nan) = (two(&|_| ()), two(&|values| values[12 * 11 + 2 * 11 + 3] = f32::NAN));
        let (infinite, half) = (two(&|values| values[5] = f32::INFINITY), two(&|values| values[12 * 11..].fill(0.0)));
        let (flat, low, none, turned) = (ones(&[12, 12]), ones(&[2, 10, 12]), ones(&[0, 12, 12]), ones(&[2, 11, 12]));
        for (truth, image, keep, expected) in [
            (&fine, &turned, &fine, "image: expected [2, 12, 11]"),
            (&fine, &fine, &ones(&[2, 12]), "keep: expected [2, 12, 11]"),
            (&flat, &flat, &flat, "truth: expected [n, height, width]"),
            (&low, &low, &low, "truth: expected [n, height, width]"),
            (&none, &none, &none, "truth: expected [n, height, width]"),
            (&nan, &fine, &fine, "truth: expected finite numbers, found NaN at [1, 2, 3]"),
            (&fine, &infinite, &fine, "image: expected finite numbers, found inf at [0, 0, 5]"),
            (&fine, &fine, &nan, "keep: expected finite numbers"),
            (&fine, &fine, &half, "keep: expected a pixel that counts in every image, found none in image 1"),
        ] {
            let error = ONCE.measure(truth, image, Some(keep)).unwrap_err().to_string();
            assert!(error.contains(expected), "{error}");
        }
        assert!(ONCE.measure(&fine, &fine, Some(&two(&|values| values[0] = 0.0))).is_ok());
    }
}
