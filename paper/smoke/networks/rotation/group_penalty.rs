//! The projection penalty of relaxed group convolutions, bilinear in filters and mixing weights.
//!
//! ```text
//! w̄ = mean of w(n)   δ(n) = w(n) − w̄   G_ab = ⟨ψ_a, ψ_b⟩        ‖P(K)‖² = 4 w̄ᵀG w̄      ‖K − P(K)‖² = Σ_n δ(n)ᵀG δ(n)
//! S = 4λ_G w̄w̄ᵀ + λ_⊥ Σ_n δ(n)δ(n)ᵀ        value ⟨S, G⟩      ∇ψ = 2 S ψ      ∇w(n) = 2 G (λ_G w̄ + λ_⊥ δ(n))
//! ```
//!
//! One pass over the filters for G and one for ∇ψ, whatever the number of layers. On the mixing weights themselves G is 1 and the filters
//! get nothing. The first layer counts with the four turns of each frame as its inputs and the last with four turns of its answer: what is
//! held are the kernels before [`Rgroup`](super::rgroup::Rgroup) folds lifting and reading out into them.

use tch::{Kind, Tensor};

use super::relaxed_group::{RelaxedGroup, TURNS};
use super::rgroup::MIXING;
use crate::smoke::networks::product::{plus, squared};
use crate::smoke::networks::{Held, NetworkPenalty};
use reynolds_torch::error::{Error, Result};
use reynolds_torch::parameters::{Entry, Parameters};

/// The penalty of stacks of layers that share one tensor of mixing weights.
#[derive(Debug)]
pub(super) struct GroupPenalty {
    held: Held,
    /// Where w lies, and its shape `[layers, 4, banks]`.
    mixing: Place<3>,
    /// Where ψ of each stack lies, and its shape `[layers, out, banks, numbers]`.
    filters: Vec<Place<4>>,
}

/// A piece of a flat tensor in its shape.
#[derive(Debug)]
struct Place<const N: usize> {
    start: i64,
    shape: [i64; N],
}

impl<const N: usize> Place<N> {
    fn new(parameters: &Parameters, name: &str, shape: [i64; N]) -> Result<Self> {
        let entry: Option<&Entry> = parameters.entries().iter().find(|entry| entry.name == name);
        let entry = entry.ok_or_else(|| Error::parameter(name, "one of the network", "none"))?;
        Ok(Self { start: entry.start as i64, shape })
    }

    fn of(&self, flat: &Tensor) -> Result<Tensor> {
        Ok(flat.f_narrow(0, self.start, self.shape.iter().product())?.f_view(self.shape.as_slice())?)
    }
}

impl GroupPenalty {
    /// The penalty of these stacks.
    ///
    /// # Errors
    /// [`Error::Parameter`] if the parameters are not those of the network.
    pub(super) fn new(stacks: &[RelaxedGroup], parameters: &Parameters, held: Held) -> Result<Self> {
        let layers: usize = stacks.iter().map(|stack| stack.layers).sum();
        let banks = stacks.first().map_or(0, |stack| stack.banks);
        let mixing = Place::new(parameters, MIXING, [layers, TURNS, banks].map(|side| side as i64))?;
        let places = stacks.iter().map(|stack| Place::new(parameters, &stack.filters_name(), stack.sides()));
        Ok(Self { held, mixing, filters: places.collect::<Result<_>>()? })
    }

    /// w̄, `[layers, 1, banks]`, and δ, `[layers, 4, banks]`.
    fn parts(&self, flat: &Tensor) -> Result<(Tensor, Tensor)> {
        let mixing = self.mixing.of(flat)?;
        let mean = mixing.f_mean_dim(1, true, mixing.kind())?;
        let deviation = mixing.f_sub(&mean)?;
        Ok((mean, deviation))
    }

    /// G of every layer, `[layers, banks, banks]`: summed output by output, so that no sum is long.
    fn gram(&self, flat: &Tensor) -> Result<Tensor> {
        let of_stack = |place: &Place<4>| -> Result<Tensor> {
            let filters = place.of(flat)?;
            Ok(filters.f_matmul(&filters.f_transpose(2, 3)?)?.f_sum_dim_intlist(1, false, flat.kind())?)
        };
        Ok(Tensor::f_cat(&self.filters.iter().map(of_stack).collect::<Result<Vec<_>>>()?, 0)?)
    }

    /// `gradient` ← `gradient` + 2 S ψ for every stack.
    fn add_to_filters(&self, flat: &Tensor, twice: &Tensor, gradient: &Tensor) -> Result<()> {
        let mut layer = 0;
        for place in &self.filters {
            let [layers, outputs, banks, numbers] = place.shape;
            let batched = [layers * outputs, banks, numbers];
            let factor = twice.f_narrow(0, layer, layers)?.f_unsqueeze(1)?;
            let factor = factor.f_expand([layers, outputs, banks, banks], false)?.f_reshape([-1, banks, banks])?;
            let _ = place.of(gradient)?.f_view(batched)?.f_baddbmm_(&factor, &place.of(flat)?.f_view(batched)?)?;
            layer += layers;
        }
        Ok(())
    }
}

/// a mᵀm, `[layers, banks, banks]`, of `[layers, rows, banks]`.
fn scaled_outer(rows: &Tensor, factor: f64) -> Result<Tensor> {
    Ok(rows.f_transpose(1, 2)?.f_bmm(rows)?.f_mul_scalar_(factor)?)
}

impl NetworkPenalty for GroupPenalty {
    fn add_gradient(
        &self,
        parameters: &Parameters,
        lambda_g: f64,
        lambda_perp: f64,
        gradient: &Tensor,
    ) -> Result<Tensor> {
        let _guard = tch::no_grad_guard();
        let flat = parameters.flat();
        let (mean, deviation) = self.parts(flat)?;
        // λ_G w̄ + λ_⊥ δ(n), half the slope by w if G is 1.
        let mut pulled = deviation.f_mul_scalar(lambda_perp)?.f_add_(&mean.f_mul_scalar(lambda_g)?)?;
        let mut on_mixing = self.mixing.of(gradient)?;
        if self.held == Held::Mixing {
            let _ = on_mixing.f_add_(&pulled.f_mul_scalar_(2.0)?)?;
            let rest = squared(&deviation, lambda_perp)?;
            return if lambda_g == 0.0 { Ok(rest) } else { plus(Some(rest), squared(&mean, lambda_g * TURNS as f64)?) };
        }
        let gram = self.gram(flat)?;
        let mut weights = scaled_outer(&deviation, 2.0 * lambda_perp)?;
        if lambda_g != 0.0 {
            weights = weights.f_add_(&scaled_outer(&mean, 2.0 * lambda_g * TURNS as f64)?)?;
        }
        self.add_to_filters(flat, &weights, gradient)?;
        let _ = on_mixing.f_add_(&pulled.f_bmm(&gram)?.f_mul_scalar_(2.0)?)?;
        Ok(weights.f_mul_(&gram)?.f_sum(flat.kind())?.f_mul_scalar_(0.5)?)
    }

    fn energies(&self, parameters: &Parameters) -> Result<(f64, f64)> {
        let _guard = tch::no_grad_guard();
        let flat = parameters.flat().f_to_kind(Kind::Double)?;
        let (mean, deviation) = self.parts(&flat)?;
        let gram = match self.held {
            Held::Operator => Some(self.gram(&flat)?),
            Held::Mixing => None,
        };
        let energy = |rows: &Tensor, times: f64| -> Result<f64> {
            let pulled = gram.as_ref().map_or_else(|| Ok(rows.shallow_clone()), |gram| rows.f_bmm(gram))?;
            Ok(times * f64::try_from(pulled.f_mul(rows)?.f_sum(Kind::Double)?)?)
        };
        Ok((energy(&mean, TURNS as f64)?, energy(&deviation, 1.0)?))
    }

    fn project(&self, parameters: &Parameters) -> Result<()> {
        let _guard = tch::no_grad_guard();
        let (mean, _) = self.parts(parameters.flat())?;
        self.mixing.of(parameters.flat())?.f_copy_(&mean)?;
        Ok(())
    }
}
