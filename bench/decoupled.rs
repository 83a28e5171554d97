//! The decoupled steps by themselves, beside the same steps as plain operations.

use std::rc::Rc;

use reynolds::penalty::Form;
use reynolds::proximal::{Proximal, Target};
use reynolds_torch::proximal::{Scope, TargetStep};
use reynolds_torch::tch::Tensor;
use reynolds_torch::{Binding, ProximalStep, device};
use reynolds_train::error::Result;
use serde::Serialize;

use super::convolutions::turned_mean;
use super::penalty::{STRENGTHS, WARMUP};
use super::{Clock, PenaltyBench};

/// η of decoupled steps, and the residual that the target asks for.
const STEP: f64 = 1e-2;
const TARGET: f64 = 0.05;

/// A decoupled step of all weights in place.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct DecoupledRow {
    /// "squared", "plain" or "target".
    pub step: &'static str,
    /// Median of the step.
    pub seconds: f64,
    /// Kernels of ours that it launches, on a GPU; 0 where operations of libtorch do it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub launches: Option<u64>,
    /// Bytes a weight that it has to move without an index, and at the speed of a copy.
    pub floor_bytes: u32,
    pub floor_seconds: f64,
    /// Bytes a weight with the index that kernels read in each pass, on a GPU.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub indexed_bytes: Option<u32>,
    /// Bytes a weight that a copy moves in the time it takes.
    pub bytes_at_copy_speed: f64,
    /// Median of the same step by operations on all layers at once, as one would write it in PyTorch; for C4.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub operations_seconds: Option<f64>,
}

impl PenaltyBench {
    /// Every decoupled step, each on a fresh copy of the weights, whose time is taken off.
    pub(super) fn decoupled(
        &self,
        binding: &Rc<Binding>,
        weights: &Tensor,
        stepped: &mut Tensor,
        copy_seconds: f64,
        clock: Clock,
    ) -> Result<Vec<DecoupledRow>> {
        let proximal = |form| -> Result<ProximalStep> {
            Ok(ProximalStep::new(binding.clone(), Proximal::new(self.config(form))?)?)
        };
        let (mut squared, mut plain) = (proximal(Form::Squared)?, proximal(Form::Plain)?);
        let mut target = TargetStep::new(binding.clone(), Target::new(TARGET)?, Scope::Layer)?;
        type Step<'a> = &'a mut dyn FnMut(&mut Tensor) -> Result<()>;
        let mut measure = |step: Step<'_>| -> Result<f64> {
            let seconds = clock.median(WARMUP, self.repeats, || {
                stepped.f_copy_(weights)?;
                step(stepped)
            })?;
            Ok((seconds - copy_seconds).max(0.0))
        };
        let mut row = |step, [floor, indexed]: [u32; 2], ours: Step<'_>| -> Result<DecoupledRow> {
            let (before, on_gpu) = (device::launches(), clock.device.is_cuda());
            ours(&mut weights.f_detach_copy()?)?;
            let launches = on_gpu.then(|| device::launches() - before);
            let seconds = measure(ours)?;
            let by_operations = (self.group == "C4")
                .then(|| measure(&mut |stepped| Ok(stepped.f_copy_(&self.as_operations(step, stepped)?)?)));
            Ok(DecoupledRow {
                step,
                seconds,
                launches,
                floor_bytes: floor,
                floor_seconds: f64::from(floor) / 8.0 * copy_seconds,
                indexed_bytes: on_gpu.then_some(indexed),
                bytes_at_copy_speed: 8.0 * seconds / copy_seconds,
                operations_seconds: by_operations.transpose()?,
            })
        };
        Ok(vec![
            row("squared", [8, 12], &mut |stepped| Ok(squared.apply(stepped, STEP)?))?,
            row("plain", [12, 20], &mut |stepped| Ok(plain.apply(stepped, STEP)?))?,
            row("target", [12, 20], &mut |stepped| Ok(target.apply(stepped, STEP)?))?,
        ])
    }

    /// A decoupled step as one would write it in PyTorch for C4, of all layers at once.
    fn as_operations(&self, step: &str, weights: &Tensor) -> Result<Tensor> {
        let [rows, columns, height, width] = self.shape().map(|side| side as i64);
        let kernels = weights.f_view([rows * self.layers as i64, columns, height, width])?;
        let projected = turned_mean(&kernels)?.f_view([self.layers as i64, -1])?;
        let perp = weights.f_view([self.layers as i64, -1])?.f_sub(&projected)?;
        let norm = |part: &Tensor| part.f_norm_scalaropt_dim(2.0, [1_i64], true);
        let [lambda_g, lambda_perp] = STRENGTHS.map(|lambda| STEP * lambda);
        let stepped = match step {
            "squared" => {
                projected.f_div_scalar(1.0 + 2.0 * lambda_g)?.f_add(&perp.f_div_scalar(1.0 + 2.0 * lambda_perp)?)?
            }
            "plain" => {
                // Three quarters of the weights are W − P(W).
                let [of_g, of_perp] = [0.25, 0.75].map(|share| (share * self.layer_weights() as f64).sqrt());
                let threshold = |part: &Tensor, by: f64| -> Result<Tensor> {
                    let factor = norm(part)?.f_reciprocal()?.f_mul_scalar(-by)?.f_add_scalar(1.0)?.f_clamp_min(0.0)?;
                    Ok(part.f_mul(&factor)?)
                };
                threshold(&projected, lambda_g * of_g)?.f_add(&threshold(&perp, lambda_perp * of_perp)?)?
            }
            _ => {
                let most = norm(&projected)?.f_mul_scalar(TARGET / (1.0 - TARGET * TARGET).sqrt())?;
                projected.f_add(&perp.f_mul(&most.f_div(&norm(&perp)?)?.f_clamp_max(1.0)?)?)?
            }
        };
        Ok(stepped.f_view([-1])?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::penalty::tests::bench;
    use reynolds_torch::tch::Device;

    #[test]
    fn decoupled_steps_are_those_that_operations_take() {
        let bench = bench(3);
        let weights = bench.flat(Device::Cpu).unwrap();
        let (binding, _) = bench.bind(Device::Cpu).unwrap();
        let proximal = |form| ProximalStep::new(binding.clone(), Proximal::new(bench.config(form)).unwrap()).unwrap();
        for step in ["squared", "plain", "target"] {
            let mut stepped = weights.copy();
            match step {
                "squared" => proximal(Form::Squared).apply(&mut stepped, STEP).unwrap(),
                "plain" => proximal(Form::Plain).apply(&mut stepped, STEP).unwrap(),
                _ => {
                    let target = Target::new(TARGET).unwrap();
                    TargetStep::new(binding.clone(), target, Scope::Layer).unwrap().apply(&mut stepped, STEP).unwrap();
                }
            }
            let expected = bench.as_operations(step, &weights).unwrap();
            let off = (&stepped - &expected).abs().max().double_value(&[]);
            assert!(off < 1e-6, "{step}: {off}");
            assert!((&stepped - &weights).abs().max().double_value(&[]) > 1e-4, "{step} does something");
        }
    }
}
