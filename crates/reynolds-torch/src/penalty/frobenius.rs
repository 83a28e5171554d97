//! The Frobenius penalty: one projection, whatever the number of parameters.

use reynolds::penalty::{PLAIN_EPSILON, PenaltyConfig};
use tch::{Kind, Tensor};

use super::Penalty;
use crate::error::Result;

impl Penalty {
    /// a P(W) + b (W − P(W)) with a, b the same for all parameters. The smaller of them multiplies W and the difference one part, so
    /// that nothing cancels and a = b is weight decay to the last bit.
    pub(super) fn squared(
        &self,
        weights: &Tensor,
        mut projected: Tensor,
        wanted: bool,
    ) -> Result<(Tensor, Option<Tensor>)> {
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
        let (a, b) = if whole { (lambda_g, lambda_g + lambda_perp) } else { (lambda_g, lambda_perp) };
        let (a, b) = (2.0 * a, 2.0 * b);
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
    pub(super) fn plain(
        &self,
        weights: &Tensor,
        mut projected: Tensor,
        wanted: bool,
    ) -> Result<(Tensor, Option<Tensor>)> {
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
