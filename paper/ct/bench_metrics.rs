//! PSNR and SSIM of pairs of slices, by the code that judges the CT experiment: their values, and how long they take.
//!
//! Images go from 0 to 255; what happens to them first (the cut at half of the scale, eight bits, the mask) and the window are those of
//! [`psnr`] and [`ssim`].
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

use reynolds_checkpoint::Values;
use reynolds_torch::tch::Tensor;
use serde::Serialize;

use crate::ct::{psnr, ssim};
use reynolds_bench::{Array, Clock, Times};
use reynolds_train::config::at_least_one;
use reynolds_train::error::{Error, Result};
use reynolds_train::threads;

/// Images that are judged together, as the experiment does.
const TOGETHER: i64 = 8;

/// Pixels along a side of SSIM's window, hence of an image at least.
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
        for (name, array) in [("truth", Some(truth)), ("image", Some(image)), ("keep", keep)] {
            let Some(array) = array else { continue };
            let expected = match array.shape[..] {
                [n, height, width] if n > 0 && height.min(width) >= WINDOW && array.shape == truth.shape => continue,
                _ if name == "truth" => format!("[n, height, width], sides of at least {WINDOW}"),
                _ => format!("{:?}, as truth has", truth.shape),
            };
            return Err(Error::config(name, expected, format!("{:?}", array.shape)));
        }
        for (name, array) in [("truth", Some(truth)), ("image", Some(image)), ("keep", keep)] {
            array.map_or(Ok(()), |array| all_finite(name, array))?;
        }
        keep.map_or(Ok(()), some_kept)?;
        threads::set(self.threads);
        let (truth_images, images) = (tensor(truth)?, tensor(image)?);
        let keep = keep.map_or_else(|| Ok(images.f_ones_like()?), tensor)?;
        let all = |metric: Metric| each(metric, &images, &truth_images, &keep);
        let (psnr_values, ssim_values) = (all(psnr)?, all(ssim)?);
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
            psnr: psnr_values,
            ssim: ssim_values,
            seconds,
            psnr_seconds,
            ssim_seconds,
            threads: threads::resolve(self.threads),
        })
    }
}

/// Refuses an array with a number that no pixel can have.
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
    match images.position(|image| image.iter().all(|&value| value == 0.0)) {
        Some(number) => {
            Err(Error::config("keep", "a pixel that counts in every image", format!("none in image {number}")))
        }
        None => Ok(()),
    }
}

/// Of images, truth and mask, `[N, 1, height, width]` each.
type Metric = fn(&Tensor, &Tensor, &Tensor) -> Result<Tensor>;

/// `[n, 1, height, width]`.
fn tensor(array: &Array) -> Result<Tensor> {
    let flat = match &array.values {
        Values::F32(values) => Tensor::f_from_slice(values)?,
        Values::F64(values) => Tensor::f_from_slice(values)?,
    };
    let side = |place: usize| array.shape[place] as i64;
    Ok(flat.f_view([side(0), 1, side(1), side(2)])?)
}

fn each(metric: Metric, images: &Tensor, truth: &Tensor, keep: &Tensor) -> Result<Vec<f64>> {
    let mut values = Vec::with_capacity(images.size()[0] as usize);
    for first in (0..images.size()[0]).step_by(TOGETHER as usize) {
        let count = TOGETHER.min(images.size()[0] - first);
        let part = |tensor: &Tensor| tensor.f_narrow(0, first, count);
        values.extend(Vec::<f64>::try_from(metric(&part(images)?, &part(truth)?, &part(keep)?)?)?);
    }
    Ok(values)
}

#[cfg(test)]
mod tests {
    use reynolds_testkit::golden::Golden;

    use super::*;

    const ONCE: MetricsBench = MetricsBench { repeats: 1, threads: 1 };

    /// `golden/ct_metrics.py` has them from scikit-image.
    #[test]
    fn values_are_those_of_scikit_image_whatever_lies_beside_an_image() {
        let golden = Golden::open("ct_metrics");
        // So many that they are judged in several parts.
        let several: Vec<&str> = ["streaks", "near"].into_iter().cycle().take(TOGETHER as usize + 1).collect();
        for cases in [several, vec!["noise"]] {
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
    fn numbers_that_are_none_and_masks_that_keep_nothing_are_refused() {
        let images = |place: usize, value: f32| {
            let mut values = vec![1.0; 2 * 12 * 11];
            values[place] = value;
            Array { shape: vec![2, 12, 11], values: Values::F32(values.into()) }
        };
        let fine = images(0, 1.0);
        let refusal = |truth: &Array, image: &Array, keep: &Array| {
            ONCE.measure(truth, image, Some(keep)).unwrap_err().to_string()
        };
        let [nan, infinite] = [images(12 * 11 + 2 * 11 + 3, f32::NAN), images(5, f32::INFINITY)];
        assert!(refusal(&nan, &fine, &fine).contains("truth: expected finite numbers, found NaN at [1, 2, 3]"));
        assert!(refusal(&fine, &infinite, &fine).contains("image: expected finite numbers, found inf at [0, 0, 5]"));
        assert!(refusal(&fine, &fine, &nan).contains("keep: expected finite numbers"));
        let half = [vec![1.0; 12 * 11], vec![0.0; 12 * 11]].concat();
        let keep = Array { shape: vec![2, 12, 11], values: Values::F32(half.into()) };
        assert!(
            refusal(&fine, &fine, &keep)
                .contains("keep: expected a pixel that counts in every image, found none in image 1")
        );
        assert!(ONCE.measure(&fine, &fine, Some(&images(0, 0.0))).is_ok());
    }

    #[test]
    fn images_of_other_shapes_are_refused_by_name() {
        let images = |shape: &[usize]| Array {
            shape: shape.into(),
            values: Values::F32(vec![1.0; shape.iter().product()].into()),
        };
        let truth = images(&[2, 12, 11]);
        let refusal = |truth: &Array, image: &Array, keep: Option<&Array>| {
            ONCE.measure(truth, image, keep).unwrap_err().to_string()
        };
        assert!(refusal(&truth, &images(&[2, 11, 12]), None).contains("image: expected [2, 12, 11]"));
        assert!(refusal(&truth, &truth, Some(&images(&[2, 12]))).contains("keep: expected [2, 12, 11]"));
        for shape in [&[12, 12][..], &[2, 10, 12], &[0, 12, 12]] {
            assert!(refusal(&images(shape), &images(shape), None).contains("truth: expected [n, height, width]"));
        }
    }
}
