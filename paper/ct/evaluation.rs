//! PSNR, SSIM and C4 equivariance error of a network on the cases of a part.

use super::metrics::{psnr, ssim};
use super::patches::{CtBatch, CtSubset};
use super::task::{CtTask, Evaluated};
use reynolds_torch::tch::{self, Device, Kind, Tensor};
use reynolds_train::error::Result;

/// Cases of a minibatch in evaluation.
const EVALUATED: usize = 8;

/// Most cases that the error is measured on.
const TURNED: usize = 12;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Measured {
    Network,
    Input,
    /// LI.
    Interpolated,
}

#[derive(Debug, Clone, PartialEq, Default)]
pub struct CaseQuality {
    pub psnr: Vec<f64>,
    pub ssim: Vec<f64>,
}

impl CaseQuality {
    /// The mean of a metric and its standard error over cases, which is not a number of fewer than two.
    pub fn mean(values: &[f64]) -> (f64, f64) {
        let count = values.len() as f64;
        let mean = values.iter().sum::<f64>() / count;
        let squares: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
        (mean, if values.len() < 2 { f64::NAN } else { (squares / (count - 1.0) / count).sqrt() })
    }

    /// The gain of PSNR over another of the same cases, with its standard error over cases.
    pub fn gain_over(&self, other: &Self) -> (f64, f64) {
        Self::mean(&self.psnr.iter().zip(&other.psnr).map(|(ours, theirs)| ours - theirs).collect::<Vec<_>>())
    }
}

impl CtTask {
    /// PSNR and SSIM of all cases of a part; where the settings project, with P(W) on the test and the figure.
    pub fn quality(&self, part: CtSubset, measured: Measured) -> Result<CaseQuality> {
        let [psnr, ssim] = match measured {
            Measured::Network => return Ok(self.quality_and_loss(part)?.0),
            Measured::Input => self.each(part, usize::MAX, |batch| qualities(&batch.input.image, batch))?,
            Measured::Interpolated => {
                self.each(part, usize::MAX, |batch| qualities(&batch.input.interpolated, batch))?
            }
        };
        Ok(CaseQuality { psnr, ssim })
    }

    /// As [`CtTask::quality`] of the network, with the mean task loss over minibatches of eight.
    pub fn quality_and_loss(&self, part: CtSubset) -> Result<(CaseQuality, f64)> {
        let numbers = |network: &Evaluated<'_>, batch: &CtBatch| {
            let outputs = network(&batch.input, Some(&batch.truth))?;
            let [psnr, ssim] = qualities(&outputs[0], batch)?;
            let losses = outputs[1].f_to_kind(Kind::Double)?.f_expand_as(&psnr)?;
            Ok([psnr, ssim, losses])
        };
        let [psnr, ssim, losses] =
            self.evaluated(part, |network| self.each(part, usize::MAX, |batch| numbers(network, batch)))?;
        Ok((CaseQuality { psnr, ssim }, CaseQuality::mean(&losses).0))
    }

    /// Calls `timed` with an evaluation pass over all of a part at once, without the tape and with assembled kernels.
    pub(crate) fn timed_inference<T>(
        &self,
        part: CtSubset,
        timed: impl FnOnce(&mut dyn FnMut() -> Result<()>) -> Result<T>,
    ) -> Result<T> {
        let input = self.data().cases(part, 0, self.data().count(part))?.input;
        self.evaluated(part, |network| timed(&mut || network(&input, None).map(drop)))
    }

    /// The final image of one case, `[side · side]` from the top, from 0 to 255.
    pub fn reduce(&self, part: CtSubset, case: usize) -> Result<Vec<f32>> {
        let input = self.data().cases(part, case, 1)?.input;
        let image = self.evaluated(part, |network| Ok(network(&input, None)?[0].f_to_kind(Kind::Float)?))?;
        Ok(Vec::try_from(image.f_contiguous()?.f_view([-1])?.f_to_device(Device::Cpu)?)?)
    }

    /// C4 equivariance error: the mean of ‖rot_r N(x) − N(rot_r x)‖/‖N(x)‖ outside the metal over at most twelve cases and r = 1, 2, 3.
    pub fn turning_error(&self, part: CtSubset) -> Result<f64> {
        let errors = |network: &Evaluated<'_>, batch: &CtBatch| {
            let image = network(&batch.input, None)?[0].f_mul(&batch.input.keep)?;
            let error = |turns: i64| -> Result<Tensor> {
                let turned = batch.input.map(|images| images.f_rot90(turns, [2, 3]))?;
                let other = network(&turned, None)?[0].f_mul(&turned.keep)?;
                let difference = image.f_rot90(turns, [2, 3])?.f_sub(&other)?;
                Ok(length(&difference)?.f_div(&length(&image)?)?)
            };
            Ok([error(1)?, error(2)?, error(3)?])
        };
        let errors = self.evaluated(part, |network| self.each(part, TURNED, |batch| errors(network, batch)))?;
        Ok(CaseQuality::mean(&errors.concat()).0)
    }

    /// Numbers of every case of a part, at most `most`: `numbers` gives tensors `[N]` for a minibatch.
    fn each<const M: usize>(
        &self,
        part: CtSubset,
        most: usize,
        numbers: impl Fn(&CtBatch) -> Result<[Tensor; M]>,
    ) -> Result<[Vec<f64>; M]> {
        let _guard = tch::no_grad_guard();
        let count = most.min(self.data().count(part));
        let mut rows = Vec::new();
        for first in (0..count).step_by(EVALUATED) {
            self.interrupt.check()?;
            let batch = self.data().cases(part, first, EVALUATED.min(count - first))?;
            rows.push(Tensor::f_stack(&numbers(&batch)?, 0)?);
        }
        let rows = Tensor::f_cat(&rows, 1)?.f_to_device(Device::Cpu)?.f_unbind(0)?;
        let rows = rows.into_iter().map(Vec::try_from).collect::<Result<Vec<_>, _>>()?;
        Ok(rows.try_into().expect("a row for each number"))
    }
}

fn qualities(image: &Tensor, batch: &CtBatch) -> Result<[Tensor; 2]> {
    let CtBatch { input, truth } = batch;
    Ok([psnr(image, truth, &input.keep)?, ssim(image, truth, &input.keep)?])
}

/// ‖x‖ of each image, `[N]`.
fn length(images: &Tensor) -> Result<Tensor> {
    Ok(images.f_flatten(1, 3)?.f_linalg_norm(2.0, [1_i64].as_slice(), false, Kind::Double)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn means_gains_and_their_standard_errors_by_hand() {
        let [ours, theirs] = [vec![30.0, 34.0], vec![29.0, 31.0]].map(|psnr| CaseQuality { psnr, ssim: vec![] });
        assert_eq!(CaseQuality::mean(&ours.psnr), (32.0, 2.0));
        // Gains 1 and 3: the spread of the cases themselves is in neither.
        assert_eq!(ours.gain_over(&theirs), (2.0, 1.0));
        assert!(CaseQuality::mean(&[1.0]).1.is_nan());
    }
}
