//! The Frobenius penalty: one projection, whatever the number of parameters.

use reynolds::penalty::{PLAIN_EPSILON, PenaltyConfig};
use tch::{Device, Kind, Tensor};

use super::{Penalty, ValueAndSlope};
use crate::error::Result;

/// a and b of the squared penalty's gradient a P(W) + b (W − P(W)).
pub(super) fn slopes(config: &PenaltyConfig) -> [f64; 2] {
    let PenaltyConfig { lambda_g, lambda_perp, whole, .. } = *config;
    [2.0 * lambda_g, 2.0 * if whole { lambda_g + lambda_perp } else { lambda_perp }]
}

impl Penalty {
    /// Adds a P(W) + b (W − P(W)) to `sum` `[bound]`.
    pub(super) fn add_squared(&self, weights: &Tensor, mut sum: Tensor) -> Result<()> {
        let [a, b] = slopes(&self.config);
        // libtorch has its fastest kernels for 0-d tensors on the host.
        let number = |value: f64| Tensor::f_full([0_i64; 0], value, (self.binding.kind(), Device::Cpu));
        if a == b {
            let _ = sum.f_add_(&weights.f_mul_scalar(a)?)?;
            return Ok(());
        }
        let projected = self.binding.projector.apply(weights)?;
        if a.min(b) > 0.0 {
            let _ = sum.f_addcmul_(weights, &number(b)?)?.f_addcmul_(&projected, &number(a - b)?)?;
            return Ok(());
        }
        // One part alone, which is 0 to the last bit where W has none of it.
        let part = if a > 0.0 { projected } else { weights.f_sub(&projected)? };
        let _ = sum.f_addcmul_(&part, &number(a.max(b))?)?;
        Ok(())
    }

    /// a P(W) + b (W − P(W)) with a, b the same for all parameters: the smaller one times W, and the difference times one part, so that
    /// nothing cancels and a = b is weight decay to the last bit.
    pub(super) fn squared(&self, weights: &Tensor, mut projected: Tensor, wanted: bool) -> Result<ValueAndSlope> {
        let PenaltyConfig { lambda_g, lambda_perp, whole, .. } = self.config;
        let perp = match wanted && (whole || lambda_g == 0.0) {
            // P(W) itself is not needed: its memory is.
            true => projected.f_neg_()?.f_add_(weights)?,
            false => weights.f_sub(&projected)?,
        };
        let first = if whole { weights } else { &projected };
        let term = |part: &Tensor, lambda: f64| -> Result<Tensor> { Ok(part.f_dot(part)?.f_mul_scalar(lambda)?) };
        let value = match (lambda_g > 0.0, lambda_perp > 0.0) {
            (true, false) => term(first, lambda_g)?,
            (false, true) => term(&perp, lambda_perp)?,
            _ => term(first, lambda_g)?.f_add(&term(&perp, lambda_perp)?)?,
        };
        if !wanted {
            return Ok((value, None));
        }
        let [a, b] = slopes(&self.config);
        if a == b {
            return Ok((value, Some(weights.f_mul_scalar(a)?)));
        }
        let mut larger = if a > b { projected } else { perp };
        let slope = larger.f_mul_scalar_((a - b).abs())?;
        if a.min(b) == 0.0 {
            return Ok((value, Some(slope)));
        }
        Ok((value, Some(weights.f_mul_scalar(a.min(b))?.f_add_(&slope)?)))
    }

    /// a P(W) + b (W − P(W)) with a, b of each parameter.
    pub(super) fn plain(&self, weights: &Tensor, mut projected: Tensor, wanted: bool) -> Result<ValueAndSlope> {
        let PenaltyConfig { lambda_g, lambda_perp, whole, .. } = self.config;
        let segments = &self.binding.segments;
        let mut perp = weights.f_sub(&projected)?;
        let energies = segments.energies([&projected, &perp])?;
        let (equivariant, on_perp) = (energies.f_get(0)?, energies.f_get(1)?);
        let total = equivariant.f_add(&on_perp)?;
        let epsilon = total.f_detach()?.f_mul(&self.kappa_squared)?.f_clamp_min(PLAIN_EPSILON)?;
        let first = if whole { total } else { equivariant };
        let (on_first, on_perp) = (first.f_add(&epsilon)?.f_sqrt()?, on_perp.f_add(&epsilon)?.f_sqrt()?);
        let kind = self.binding.kind();
        let value = on_first.f_mul_scalar(lambda_g)?.f_add(&on_perp.f_mul_scalar(lambda_perp)?)?;
        let value = value.f_sum(Kind::Double)?.f_to_kind(kind)?;
        if !wanted {
            return Ok((value, None));
        }
        let coefficient =
            |root: &Tensor, lambda: f64| segments.spread(&root.f_reciprocal()?.f_mul_scalar(lambda)?.f_to_kind(kind)?);
        let mut slope = perp.f_mul_(&coefficient(&on_perp, lambda_perp)?)?;
        if lambda_g > 0.0 {
            let on_first = coefficient(&on_first, lambda_g)?;
            let first = if whole { weights.f_mul(&on_first)? } else { projected.f_mul_(&on_first)? };
            slope = slope.f_add_(&first)?;
        }
        Ok((value, Some(slope)))
    }
}
