//! The Frobenius penalty: one projection, whatever the number of parameters.

use reynolds::penalty::{PLAIN_EPSILON, PenaltyConfig};
use tch::{Device, Kind, Tensor};

use super::{Penalty, ValueAndSlope};
use crate::binding::Binding;
use crate::error::Result;

/// The slopes of the squared penalty, on P(W) and on W − P(W), and the factors of W and P(W) in it: as 0-d tensors on the host, for which
/// libtorch has its fastest kernel.
#[derive(Debug)]
pub(super) struct Slopes {
    /// a and b of a P(W) + b (W − P(W)).
    pub(super) both: [f64; 2],
    /// The larger one, for where the other is 0.
    only: Tensor,
    /// a P(W) + b (W − P(W)) = b W + (a − b) P(W).
    on_weights: Tensor,
    on_projected: Tensor,
}

impl Slopes {
    /// Of a penalty on numbers of the type of `binding`.
    pub(super) fn new(config: &PenaltyConfig, binding: &Binding) -> Result<Self> {
        let PenaltyConfig { lambda_g, lambda_perp, whole, .. } = *config;
        let equivariant = 2.0 * lambda_g;
        let perp = 2.0 * if whole { lambda_g + lambda_perp } else { lambda_perp };
        let number =
            |value: f64| -> Result<Tensor> { Ok(Tensor::f_full([0_i64; 0], value, (binding.kind(), Device::Cpu))?) };
        let [only, on_weights, on_projected] =
            [number(equivariant.max(perp))?, number(perp)?, number(equivariant - perp)?];
        Ok(Self { both: [equivariant, perp], only, on_weights, on_projected })
    }
}

impl Penalty {
    /// Adds a P(W) + b (W − P(W)) to `sum` `[bound]`.
    pub(super) fn add_squared(&self, weights: &Tensor, mut sum: Tensor) -> Result<()> {
        let slopes = &self.slopes;
        let [a, b] = slopes.both;
        if a == b {
            let _ = sum.f_add_(&weights.f_mul_scalar(a)?)?;
            return Ok(());
        }
        if self.binding.projector.add_to(&mut sum, weights, &slopes.on_projected)? {
            if b > 0.0 {
                let _ = sum.f_addcmul_(weights, &slopes.on_weights)?;
            }
            return Ok(());
        }
        let projected = self.binding.projector.apply(weights)?;
        if a.min(b) > 0.0 {
            let _ = sum.f_addcmul_(weights, &slopes.on_weights)?.f_addcmul_(&projected, &slopes.on_projected)?;
            return Ok(());
        }
        // One part alone, which is 0 to the last bit where W has none of it.
        let part = if a > 0.0 { projected } else { weights.f_sub(&projected)? };
        let _ = sum.f_addcmul_(&part, &slopes.only)?;
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
        let [a, b] = self.slopes.both;
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
