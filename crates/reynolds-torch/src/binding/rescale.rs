//! `W ← a P(W) + b (W − P(W))` in place, on all bound parameters at once.

use tch::Tensor;

use super::Binding;
use crate::error::Result;
use crate::proximal::Rescaling;

impl Binding {
    /// By executors of the core or by kernels where there are some for these parameters, else by operations of libtorch.
    pub(crate) fn rescale(&self, flat: &mut Tensor, rescaling: &Rescaling<'_>) -> Result<()> {
        let _guard = tch::no_grad_guard();
        match self.one_pass(flat)? {
            Some(one_pass) if one_pass.rescale(flat, rescaling)? => Ok(()),
            _ => self.rescale_by_operations(flat, rescaling),
        }
    }

    pub(super) fn rescale_by_operations(&self, flat: &mut Tensor, rescaling: &Rescaling<'_>) -> Result<()> {
        let weights = self.gather(flat)?;
        if let Rescaling::Even(factors) = rescaling {
            return self.rescale_evenly(flat, weights, [factors.host()[0], factors.host()[1]]);
        }
        let projected = self.projector.apply(&weights)?;
        let (factors, perp_alone) = match rescaling {
            Rescaling::ByRule(rule) => {
                let energies = self.segments.energies([&projected, &weights.f_sub(&projected)?])?;
                (rule.factors(&energies)?, rule.perp_alone())
            }
            Rescaling::Each { factors, perp_alone } => (factors.shallow_clone(), *perp_alone),
            Rescaling::Even(_) => unreachable!("handled above"),
        };
        let (a, b) = (factors.f_get(0)?, factors.f_get(1)?);
        let spread = |numbers: &Tensor| self.segments.spread(&numbers.f_to_kind(self.kind)?);
        let base = if perp_alone { b.shallow_clone() } else { a.f_minimum(&b)? };
        let on_projected = spread(&a.f_sub(&base)?)?.f_mul(&projected)?;
        let mut sum = weights.f_mul(&spread(&base)?)?.f_add_(&on_projected)?;
        if !perp_alone {
            sum = sum.f_add_(&weights.f_sub(&projected)?.f_mul_(&spread(&b.f_sub(&base)?)?)?)?;
        }
        // No factor is above 1: where the smaller is 1 every bit stays, the sign of −0 too.
        let unchanged = self.segments.spread(&base.f_eq(1.0)?)?;
        self.selection.put(flat, &weights.f_where_self(&unchanged, &sum)?)
    }

    fn rescale_evenly(&self, flat: &mut Tensor, mut weights: Tensor, [a, b]: [f64; 2]) -> Result<()> {
        if (a, b) == (1.0, 1.0) {
            return Ok(());
        }
        // The smaller factor on W, the difference on one part: b = 0 leaves exactly a P(W), and a = b scales W to the last bit.
        let (base, more) = (a.min(b), (a - b).abs());
        if a == b {
            weights = weights.f_mul_scalar_(a)?;
        } else {
            let projected = self.projector.apply(&weights)?;
            let mut larger = if a > b { projected } else { weights.f_sub(&projected)? };
            weights = weights.f_mul_scalar_(base)?.f_add_(&larger.f_mul_scalar_(more)?)?;
        }
        // Views of the flat tensor are changed already.
        if self.selection.view(flat)?.is_some() { Ok(()) } else { self.selection.put(flat, &weights) }
    }
}
