//! What a network is worth on the cases of a part: PSNR, SSIM, how far it is from turning with its input.

use reynolds_torch::tch::{self, Device, Kind, Tensor};

use super::metrics::{psnr, ssim};
use super::patches::{CtBatch, CtPart};
use super::task::CtTask;
use reynolds_train::error::Result;

/// Cases of a minibatch that is only evaluated.
const EVALUATED: usize = 8;

/// Cases that the defect is measured on, at most.
const TURNED: usize = 12;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Measured {
    Network,
    /// The corrupted slice as it is.
    Input,
    /// The slice with the trace of the metal bridged.
    Interpolated,
}

/// PSNR and SSIM, case by case.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct CaseQuality {
    /// In dB.
    pub psnr: Vec<f64>,
    /// From −1 to 1.
    pub ssim: Vec<f64>,
}

impl CaseQuality {
    /// The mean of a metric and its standard error over cases; the latter is not a number of fewer than two.
    pub fn mean(values: &[f64]) -> (f64, f64) {
        let count = values.len() as f64;
        let mean = values.iter().sum::<f64>() / count;
        let squares: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
        (mean, if values.len() < 2 { f64::NAN } else { (squares / (count - 1.0) / count).sqrt() })
    }

    /// By how many dB this is above another of the same cases, with the standard error of the difference over cases.
    pub fn gain_over(&self, other: &Self) -> (f64, f64) {
        let gains: Vec<f64> = self.psnr.iter().zip(&other.psnr).map(|(ours, theirs)| ours - theirs).collect();
        Self::mean(&gains)
    }
}

impl CtTask {
    /// PSNR and SSIM of all cases of a part. The test and the figure are with P(W) for held kernels where the settings project.
    pub fn quality(&self, part: CtPart, measured: Measured) -> Result<CaseQuality> {
        if measured == Measured::Network {
            return Ok(self.quality_and_loss(part)?.0);
        }
        self.each(part, |batch| {
            let image = if measured == Measured::Input { &batch.input.image } else { &batch.input.interpolated };
            qualities(image, batch)
        })
        .map(|rows| split(&rows))
    }

    /// As [`CtTask::quality`] of the network, with the mean of the task loss over minibatches of eight.
    pub fn quality_and_loss(&self, part: CtPart) -> Result<(CaseQuality, f64)> {
        let rows = self.with_weights_of(part, || {
            let assembled = self.assemble_evaluated()?;
            self.each(part, |batch| {
                let reduction = self.evaluated(&assembled, &batch.input)?;
                let loss = self.task_loss(&reduction, batch)?.f_to_kind(Kind::Double)?;
                let [psnr, ssim] = qualities(reduction.image(), batch)?;
                Ok([psnr.shallow_clone(), ssim, loss.f_expand_as(&psnr)?])
            })
        })?;
        let loss = rows.last().map_or(f64::NAN, |losses| CaseQuality::mean(losses).0);
        Ok((split(&rows), loss))
    }

    /// What `timed` makes of a pass over all of a part at once, in evaluation and without the tape; the kernels are ready.
    pub(crate) fn timed_inference<T>(
        &self,
        part: CtPart,
        timed: impl FnOnce(&mut dyn FnMut() -> Result<()>) -> Result<T>,
    ) -> Result<T> {
        let _guard = tch::no_grad_guard();
        let input = self.data().cases(part, 0, self.data().count(part))?.input;
        self.with_weights_of(part, || {
            let assembled = self.assemble_evaluated()?;
            timed(&mut || self.evaluated(&assembled, &input).map(drop))
        })
    }

    /// The final image of one case, `[side · side]` from the top, from 0 to 255.
    pub fn reduce(&self, part: CtPart, case: usize) -> Result<Vec<f32>> {
        let _guard = tch::no_grad_guard();
        let input = self.data().cases(part, case, 1)?.input;
        let image = self.with_weights_of(part, || {
            Ok(self.evaluated(&self.assemble_evaluated()?, &input)?.image().shallow_clone())
        })?;
        Ok(Vec::try_from(image.f_to_kind(Kind::Float)?.f_contiguous()?.f_view([-1])?.f_to_device(Device::Cpu)?)?)
    }

    /// How far the network is from turning with its input: the mean over cases, twelve at most, and r = 1, 2, 3 of
    /// ‖rot_r N(x) − N(rot_r x)‖/‖N(x)‖ outside the metal.
    pub fn turning_defect(&self, part: CtPart) -> Result<f64> {
        let _guard = tch::no_grad_guard();
        let count = TURNED.min(self.data().count(part));
        let mut defects = Vec::new();
        self.with_weights_of(part, || {
            let assembled = self.assemble_evaluated()?;
            for first in (0..count).step_by(EVALUATED) {
                let input = self.data().cases(part, first, EVALUATED.min(count - first))?.input;
                let image = self.evaluated(&assembled, &input)?.image().f_mul(&input.keep)?;
                for turns in 1..4 {
                    let turned = input.map(|images| rotated(images, turns))?;
                    let other = self.evaluated(&assembled, &turned)?.image().f_mul(&turned.keep)?;
                    let difference = rotated(&image, turns)?.f_sub(&other)?;
                    defects.push(length(&difference)?.f_div(&length(&image)?)?);
                }
            }
            Ok(())
        })?;
        let defects = Vec::<f64>::try_from(Tensor::f_cat(&defects, 0)?.f_to_device(Device::Cpu)?)?;
        Ok(CaseQuality::mean(&defects).0)
    }

    /// Numbers of every case of a part: `numbers` makes tensors `[N]` of a minibatch.
    fn each<const M: usize>(
        &self,
        part: CtPart,
        numbers: impl Fn(&CtBatch) -> Result<[Tensor; M]>,
    ) -> Result<Vec<Vec<f64>>> {
        let _guard = tch::no_grad_guard();
        let count = self.data().count(part);
        let mut rows = Vec::new();
        for first in (0..count).step_by(EVALUATED) {
            let batch = self.data().cases(part, first, EVALUATED.min(count - first))?;
            rows.push(Tensor::f_stack(&numbers(&batch)?, 0)?);
        }
        let rows = Tensor::f_cat(&rows, 1)?.f_to_device(Device::Cpu)?;
        (0..M as i64).map(|row| Ok(Vec::try_from(rows.f_get(row)?)?)).collect()
    }
}

fn qualities(image: &Tensor, batch: &CtBatch) -> Result<[Tensor; 2]> {
    let CtBatch { input, truth } = batch;
    Ok([psnr(image, truth, &input.keep)?, ssim(image, truth, &input.keep)?])
}

fn split(rows: &[Vec<f64>]) -> CaseQuality {
    CaseQuality { psnr: rows[0].clone(), ssim: rows[1].clone() }
}

fn rotated(images: &Tensor, turns: i64) -> Result<Tensor> {
    Ok(images.f_rot90(turns, [2, 3])?)
}

/// ‖x‖ of each image, `[N]` in double precision.
fn length(images: &Tensor) -> Result<Tensor> {
    Ok(images
        .f_to_kind(Kind::Double)?
        .f_square()?
        .f_sum_dim_intlist([1_i64, 2, 3].as_slice(), false, Kind::Double)?
        .f_sqrt()?)
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
