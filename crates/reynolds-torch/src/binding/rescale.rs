//! `W ← a P(W) + b (W − P(W))` in place, on all bound parameters at once.

use tch::Tensor;

use super::Binding;
use crate::error::Result;
use crate::proximal::Rule;

impl Binding {
    /// The same factors for every parameter.
    pub(crate) fn rescale(&self, flat: &Tensor, [a, b]: [f64; 2]) -> Result<()> {
        let _guard = tch::no_grad_guard();
        self.check(flat)?;
        if (a, b) == (1.0, 1.0) {
            return Ok(());
        }
        // The smaller factor on W, the difference on one part: b = 0 leaves exactly a P(W), and a = b scales W to the last bit.
        let (base, more) = (a.min(b), (a - b).abs());
        let mut weights = self.gather(flat)?;
        if a == b {
            weights = weights.f_mul_scalar_(a)?;
        } else if a < b || !self.projector.rescale(&mut weights, base, more)? {
            let projected = self.projector.apply(&weights)?;
            let mut larger = if a > b { projected } else { weights.f_sub(&projected)? };
            weights = weights.f_mul_scalar_(base)?.f_add_(&larger.f_mul_scalar_(more)?)?;
        }
        self.put_back(flat, &weights)
    }

    /// Factors `[2, count]` of each parameter, in double precision: first those of P(W), which are all 1 and the larger ones if `perp_alone`.
    pub(crate) fn rescale_each(&self, flat: &Tensor, factors: &Tensor, perp_alone: bool) -> Result<()> {
        let _guard = tch::no_grad_guard();
        let weights = self.gather(flat)?;
        let projected = self.projector.apply(&weights)?;
        self.rescale_parts(flat, [&weights, &projected], factors, perp_alone)
    }

    /// Factors that follow by a rule from ‖P(W)‖² and ‖W − P(W)‖² of each parameter.
    pub(crate) fn rescale_by_rule(&self, flat: &Tensor, rule: &Rule<'_>) -> Result<()> {
        let _guard = tch::no_grad_guard();
        let weights = self.gather(flat)?;
        let projected = self.projector.apply(&weights)?;
        let energies = self.segments.energies([&projected, &weights.f_sub(&projected)?])?;
        self.rescale_parts(flat, [&weights, &projected], &rule.factors(&energies)?, rule.perp_alone())
    }

    fn rescale_parts(
        &self,
        flat: &Tensor,
        [weights, projected]: [&Tensor; 2],
        factors: &Tensor,
        perp_alone: bool,
    ) -> Result<()> {
        let (a, b) = (factors.f_get(0)?, factors.f_get(1)?);
        let spread = |numbers: &Tensor| self.segments.spread(&numbers.f_to_kind(self.kind)?);
        let base = if perp_alone { b.shallow_clone() } else { a.f_minimum(&b)? };
        let on_projected = spread(&a.f_sub(&base)?)?.f_mul(projected)?;
        let mut sum = weights.f_mul(&spread(&base)?)?.f_add_(&on_projected)?;
        if !perp_alone {
            sum = sum.f_add_(&weights.f_sub(projected)?.f_mul_(&spread(&b.f_sub(&base)?)?)?)?;
        }
        self.place.put(flat, &sum)
    }

    /// Numbers that were gathered and changed in place: views of the flat tensor are there already.
    fn put_back(&self, flat: &Tensor, weights: &Tensor) -> Result<()> {
        if self.place.view(flat)?.is_some() { Ok(()) } else { self.place.put(flat, weights) }
    }
}
