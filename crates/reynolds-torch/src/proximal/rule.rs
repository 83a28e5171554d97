//! The factors of each parameter at its energies, on the device.

use tch::{Kind, Tensor};

use crate::error::Result;
use crate::numbers::Numbers;

/// W ← a P(W) + b (W − P(W)): where a and b come from.
#[derive(Debug)]
pub(crate) enum Rescaling<'a> {
    /// The same for all parameters.
    Even(&'a Numbers),
    /// Those of each parameter, `[2, count]` in double precision; a is 1, and no smaller than b, if `perp_alone`.
    Each { factors: &'a Tensor, perp_alone: bool },
    /// From ‖P(W)‖² and ‖W − P(W)‖² of each parameter.
    ByRule(&'a Rule<'a>),
}

/// How the factors of P(W) and W − P(W) follow from ‖P(W)‖² and ‖W − P(W)‖²; `[count]` numbers are in double precision. kernel.cu has the
/// same rules.
#[derive(Debug)]
pub(crate) enum Rule<'a> {
    /// Each part · max(0, 1 − ηλ/‖part‖).
    Plain {
        /// ηλ_G and ηλ_⊥, to be multiplied by those of each parameter, `[2, count]`; and the number of this call.
        by: &'a Numbers,
        scales: &'a Tensor,
        whole: bool,
        /// The number of the call since which W − P(W) was made 0 by its own factor, and P(W) was not 0, at every call, else −1: `[count]`
        /// (int64).
        exact_since: &'a Tensor,
    },
    /// W − P(W) · min(1, slope ‖P(W)‖/‖W − P(W)‖).
    Target { slope: f64, step: &'a Numbers, network: bool, strengths: &'a Tensor },
    /// λ_⊥ ← max(0, λ_⊥ + rate (‖W − P(W)‖/‖W‖ − τ)), then W − P(W) / (1 + 2ηλ_⊥).
    Dual { tau: f64, rate: f64, step: &'a Numbers, network: bool, strengths: &'a Tensor },
}

impl Rule<'_> {
    /// Whether P(W) stays what it is.
    pub(crate) fn perp_alone(&self) -> bool {
        match self {
            Self::Plain { by, .. } => by.host()[0] == 0.0,
            _ => true,
        }
    }

    /// The factors `[2, count]` at energies `[2, count]`; what the rule keeps is changed in place.
    pub(crate) fn factors(&self, energies: &Tensor) -> Result<Tensor> {
        match *self {
            Self::Plain { by, scales, whole, exact_since } => {
                let [on_g, on_perp, call] = by.host()[..] else { unreachable!("three numbers") };
                let (equivariant, perp) = (energies.f_get(0)?, energies.f_get(1)?);
                let b = threshold(&perp, on_perp, &scales.f_get(1)?)?;
                let a = if whole {
                    let all = equivariant.f_add(&perp.f_mul(&b)?.f_mul_(&b)?)?;
                    threshold(&all, on_g, &scales.f_get(0)?)?
                } else {
                    threshold(&equivariant, on_g, &scales.f_get(0)?)?
                };
                note(exact_since, &b, &equivariant.f_mul(&a)?, call as i64)?;
                let b = if whole { b.f_mul(&a)? } else { b };
                Ok(Tensor::f_stack(&[a, b], 0)?)
            }
            Self::Target { slope, step, network, strengths } => {
                let energies = of_network(energies, network)?;
                let roots = energies.f_sqrt()?;
                let (most, perp) = (roots.f_get(0)?.f_mul_scalar(slope)?, roots.f_get(1)?);
                let within = perp.f_le_tensor(&most)?;
                let s = perp.f_ones_like()?.f_where_self(&within, &most.f_div(&perp)?)?;
                let strength = s.f_reciprocal()?.f_sub_scalar(1.0)?.f_div_scalar(2.0 * step.host()[0])?;
                beside_one(s, strengths, &strength)
            }
            Self::Dual { tau, rate, step, network, strengths } => {
                let energies = of_network(energies, network)?;
                let (perp, total) = (energies.f_get(1)?, energies.f_sum_dim_intlist(0, false, None)?);
                // 0 where W is 0.
                let alive = total.f_ne(0.0)?;
                let residual = perp.f_div(&total.f_where_self(&alive, &total.f_ones_like()?)?)?.f_sqrt()?;
                let moved = residual.f_sub_scalar(tau)?.f_mul_scalar_(rate)?.f_add_(strengths)?.f_clamp_min(0.0)?;
                let b = moved.f_mul_scalar(2.0 * step.host()[0])?.f_add_scalar_(1.0)?.f_reciprocal()?;
                beside_one(b, strengths, &moved)
            }
        }
    }
}

/// Energies of the whole network in place of each parameter's, `[2, count]`.
fn of_network(energies: &Tensor, network: bool) -> Result<Tensor> {
    if !network {
        return Ok(energies.shallow_clone());
    }
    Ok(energies.f_sum_dim_intlist(1, true, None)?.f_expand_as(energies)?)
}

/// max(0, 1 − t/n) at n² = `energies`, t = `by · scales`; 1 at t = 0.
fn threshold(energies: &Tensor, by: f64, scales: &Tensor) -> Result<Tensor> {
    if by == 0.0 {
        return Ok(energies.f_ones_like()?);
    }
    let by = scales.f_mul_scalar(by)?;
    let factors = by.f_div(&energies.f_sqrt()?)?.f_neg_()?.f_add_scalar_(1.0)?.f_clamp_min(0.0)?;
    Ok(factors.f_ones_like()?.f_where_self(&by.f_eq(0.0)?, &factors)?)
}

/// Notes where the factors of W − P(W) are 0 and P(W) is not, and since when.
fn note(exact_since: &Tensor, factors: &Tensor, equivariant: &Tensor, call: i64) -> Result<()> {
    let exact = factors.f_eq(0.0)?.f_logical_and(&equivariant.f_gt(0.0)?)?;
    let fresh = exact.f_logical_and(&exact_since.f_lt(0.0)?)?;
    let mut since = exact_since.shallow_clone();
    let _ = since.f_masked_fill_(&fresh, call)?.f_masked_fill_(&exact.f_logical_not()?, -1_i64)?;
    Ok(())
}

/// 1 on P(W) and these on W − P(W), `[2, count]`; what they amount to is kept.
fn beside_one(factors: Tensor, strengths: &Tensor, of_factors: &Tensor) -> Result<Tensor> {
    strengths.shallow_clone().f_copy_(of_factors)?;
    Ok(Tensor::f_stack(&[factors.f_ones_like()?, factors], 0)?.f_to_kind(Kind::Double)?)
}
