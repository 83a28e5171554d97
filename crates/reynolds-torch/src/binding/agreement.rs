//! The agreement check of the kernels: they replace operations of libtorch on a GPU only where both give the same.

use reynolds::projection::Energies;
use tch::{Kind, Tensor};

use super::Binding;
use crate::error::Result;
use crate::norm;
use crate::numbers::Numbers;
use crate::projector::{Fused, OnePass, penalty};
use crate::proximal::{Rescaling, Rule};

/// Kernels for the parameters of `binding` on a GPU, if there are some and they agree with operations of libtorch there.
pub(super) fn on_gpu(binding: &Binding) -> Result<Option<Box<dyn OnePass>>> {
    let ends: Vec<usize> = binding.bound.iter().map(|bound| bound.entry.start + bound.entry.len()).collect();
    let in_flat = |numbers: &Tensor| binding.selection.in_flat(numbers);
    let fused = Fused::new(&binding.projector, (binding.kind, binding.device), (binding.len, &ends), in_flat)?;
    fused.map_or(Ok(None), |fused| checked(fused, binding))
}

/// Kernels, unless they differ from operations of libtorch by more than rounding, or fail.
fn checked(fused: Fused, binding: &Binding) -> Result<Option<Box<dyn OnePass>>> {
    let agrees = gradient_agrees(&fused, binding)? && steps_agree(&fused, binding)?;
    Ok(agrees.then(|| Box::new(fused) as Box<dyn OnePass>))
}

fn gradient_agrees(fused: &Fused, binding: &Binding) -> Result<bool> {
    let slopes = [0.25, 0.75];
    let on_device = Numbers::new(&slopes, binding.device)?;
    let flat = probe(binding)?;
    let sum = flat.f_zeros_like()?;
    let value = fused.measured(Some(&sum), &flat, &on_device).ok().flatten();
    let weights = binding.selection.gather(&flat)?;
    let projected = binding.projector.apply(&weights)?;
    let perp = weights.f_sub(&projected)?;
    let energy = |part: &Tensor| -> Result<f64> { Ok(f64::try_from(part.f_square()?.f_sum(Kind::Double)?)?) };
    let expected = penalty(slopes, Energies { equivariant: energy(&projected)?, perp: energy(&perp)? });
    binding.selection.add_to(&sum, &projected.f_mul_scalar(-slopes[0])?.f_sub(&perp.f_mul_scalar(slopes[1])?)?)?;
    let value = value.map_or(Ok(f64::NAN), f64::try_from)?;
    let off = f64::try_from(sum.f_abs()?.f_max()?)?;
    let within = ROUNDING * norm::epsilon(binding.kind);
    Ok((value - expected).abs() <= within * expected && off <= within)
}

fn steps_agree(fused: &Fused, binding: &Binding) -> Result<bool> {
    let flat = probe(binding)?;
    let count = binding.bound.len() as i64;
    let scales = Tensor::f_ones([2, count], (Kind::Double, binding.device))?;
    let numbers = |values: &[f64]| Numbers::new(values, binding.device);
    let (even, by, step) = (numbers(&[0.25, 0.75])?, numbers(&[0.25, 0.5, 2.0])?, numbers(&[0.1])?);
    let after = |nth: usize, by_kernels: bool| -> Result<Option<Tensor>> {
        let (strengths, exact_since) = (scales.f_get(0)?.f_detach_copy()?, scales.f_get(0)?.f_to_kind(Kind::Int64)?);
        let (strengths, exact_since, network) = (&strengths, &exact_since, nth.is_multiple_of(2));
        let (by, step, scales) = (&by, &step, &scales);
        let rule = match nth {
            0 => None,
            1 | 2 => Some(Rule::Plain { by, scales, whole: network, exact_since }),
            3 | 4 => Some(Rule::Target { slope: 0.25, step, network, strengths }),
            _ => Some(Rule::Dual { tau: 0.25, rate: 1.0, step, network, strengths }),
        };
        let rescaling = rule.as_ref().map_or(Rescaling::Even(&even), Rescaling::ByRule);
        let mut flat = flat.f_detach_copy()?;
        if by_kernels {
            return Ok(fused.rescale(&flat, &rescaling).ok().filter(|&done| done).map(|_| flat));
        }
        binding.rescale_by_operations(&mut flat, &rescaling)?;
        Ok(Some(flat))
    };
    for nth in 0..7 {
        let (Some(found), Some(expected)) = (after(nth, true)?, after(nth, false)?) else { return Ok(false) };
        let off = f64::try_from(found.f_sub(&expected)?.f_abs()?.f_max()?)?;
        if off.is_nan() || off > ROUNDING * norm::epsilon(binding.kind) {
            return Ok(false);
        }
    }
    Ok(true)
}

/// Numbers that every parameter can be checked on.
fn probe(binding: &Binding) -> Result<Tensor> {
    Ok(Tensor::f_arange(binding.len as i64, (binding.kind, binding.device))?.f_sin()?)
}

/// What kernels and operations of libtorch may differ by, in units of rounding, for numbers up to 1 in orbits of up to 128.
const ROUNDING: f64 = 512.0;

#[cfg(test)]
mod tests;
