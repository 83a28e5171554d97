//! The Frobenius penalty: one projection, whatever the number of parameters.

use reynolds::penalty::{PLAIN_EPSILON, PenaltyConfig};
use tch::{Kind, Tensor};

use super::{Parts, Penalty};
use crate::error::Result;

impl Penalty {
    /// a P(W) + b (W − P(W)) with a, b the same for all parameters. The smaller of them multiplies W and the difference one part, so
    /// that nothing cancels and a = b is weight decay to the last bit.
    pub(super) fn squared(&self, parts: &Parts<'_>, wanted: bool) -> Result<(Tensor, Option<Tensor>)> {
        let PenaltyConfig { lambda_g, lambda_perp, whole, .. } = self.config;
        let first = if whole { parts.weights } else { parts.projected };
        let term = |part: &Tensor, lambda: f64| -> Result<Tensor> { Ok(part.f_dot(part)?.f_mul_scalar(lambda)?) };
        let value = match (lambda_g > 0.0, lambda_perp > 0.0) {
            (true, false) => term(first, lambda_g)?,
            (false, true) => term(parts.perp, lambda_perp)?,
            _ => term(first, lambda_g)?.f_add(&term(parts.perp, lambda_perp)?)?,
        };
        if !wanted {
            return Ok((value, None));
        }
        let (a, b) = if whole { (lambda_g, lambda_g + lambda_perp) } else { (lambda_g, lambda_perp) };
        let (a, b) = (2.0 * a, 2.0 * b);
        let on_weights = || parts.weights.f_mul_scalar(a.min(b));
        let larger = if a > b { parts.projected } else { parts.perp };
        let on_larger = || larger.f_mul_scalar((a - b).abs());
        let slope = match (a.min(b) > 0.0, a != b) {
            (true, true) => on_weights()?.f_add_(&on_larger()?)?,
            (false, true) => on_larger()?,
            (_, false) => on_weights()?,
        };
        Ok((value, Some(slope)))
    }

    /// a P(W) + b (W − P(W)) with a, b of each parameter.
    pub(super) fn plain(&self, parts: &Parts<'_>, wanted: bool) -> Result<(Tensor, Option<Tensor>)> {
        let PenaltyConfig { lambda_g, lambda_perp, whole, .. } = self.config;
        let segments = &self.binding.segments;
        let energies = segments.energies([parts.projected, parts.perp])?;
        let (equivariant, perp) = (energies.f_get(0)?, energies.f_get(1)?);
        let total = equivariant.f_add(&perp)?;
        let epsilon = total.f_detach()?.f_mul(&self.kappa_squared)?.f_clamp_min(PLAIN_EPSILON)?;
        let first = if whole { total } else { equivariant };
        let (on_first, on_perp) = (first.f_add(&epsilon)?.f_sqrt()?, perp.f_add(&epsilon)?.f_sqrt()?);
        let kind = self.binding.kind();
        let value = on_first.f_mul_scalar(lambda_g)?.f_add(&on_perp.f_mul_scalar(lambda_perp)?)?;
        let value = value.f_sum(Kind::Double)?.f_to_kind(kind)?;
        if !wanted {
            return Ok((value, None));
        }
        let coefficient =
            |root: &Tensor, lambda: f64| segments.spread(&root.f_reciprocal()?.f_mul_scalar(lambda)?.f_to_kind(kind)?);
        let first = if whole { parts.weights } else { parts.projected };
        let slope = parts.perp.f_mul(&coefficient(&on_perp, lambda_perp)?)?;
        if lambda_g == 0.0 {
            return Ok((value, Some(slope)));
        }
        Ok((value, Some(slope.f_addcmul(first, &coefficient(&on_first, lambda_g)?)?)))
    }
}
