//! The projection penalty of convolutions that are mixed by weights which depend on the pixel.
//!
//! ```text
//! w̄ = mean of w(p)   δ(p) = w(p) − w̄   G_rs = ⟨ψ_r, ψ_s⟩ + ⟨b_r, b_s⟩   ‖P(W)‖² = HW w̄ᵀG w̄   ‖W − P(W)‖² = Σ_p δ(p)ᵀG δ(p)
//! S = λ_G HW w̄w̄ᵀ + λ_⊥ Σ_p δ(p)δ(p)ᵀ      value ⟨S, G⟩      ∇ψ = 2 S ψ      ∇b = 2 S b      ∇w(p) = 2 G (λ_G w̄ + λ_⊥ δ(p))
//! ```
//!
//! W is the affine map of an image on a torus and P its mean over all shifts, which is the same with w̄ in the place of w. The border of
//! zeros that the network has instead of a torus is left out of account. On the mixing weights themselves G is 1, and ψ and b get nothing.
//! The number of operations does not depend on the number of layers.

use tch::{Kind, Tensor};

use super::rgroup::{MIXING, Stack};
use crate::error::{Error, Result};
use crate::models::smoke::{Held, NetworkPenalty};
use crate::parameters::{Entry, Parameters};

/// The penalty of stacks of layers that share one tensor of mixing weights.
#[derive(Debug)]
pub(super) struct RelaxedPenalty {
    held: Held,
    /// w, `[layers, R, pixels]`.
    mixing: Place,
    /// ψ, `[layers, R, out, in · k²]`, and b, `[layers, R, out, 1]`, stack after stack.
    filters: Vec<[Place; 2]>,
}

/// A piece of a flat tensor in its shape.
#[derive(Debug)]
struct Place {
    start: i64,
    shape: Vec<i64>,
}

impl Place {
    fn new(parameters: &Parameters, name: &str, shape: &[i64]) -> Result<Self> {
        let entry: Option<&Entry> = parameters.entries().iter().find(|entry| entry.name == name);
        let entry = entry.ok_or_else(|| Error::parameter(name, "one of the network", "none"))?;
        Ok(Self { start: entry.start as i64, shape: shape.to_vec() })
    }

    fn of(&self, flat: &Tensor) -> Result<Tensor> {
        Ok(flat.f_narrow(0, self.start, self.shape.iter().product())?.f_view(self.shape.as_slice())?)
    }
}

/// What everything else is made of.
struct Parts {
    /// w̄, `[layers, R, 1]`.
    mean: Tensor,
    /// δ, `[layers, R, pixels]`.
    deviation: Tensor,
    /// HW w̄w̄ᵀ and Σ_p δ(p)δ(p)ᵀ, `[layers, R, R]`.
    outer: [Tensor; 2],
    /// G, `[layers, R, R]`; of the mixing weights themselves 1.
    gram: Tensor,
}

impl RelaxedPenalty {
    /// The penalty of these stacks.
    ///
    /// # Errors
    /// [`Error::Parameter`] if the parameters are not those of the network.
    pub(super) fn new(stacks: &[Stack], parameters: &Parameters, held: Held) -> Result<Self> {
        let layers: i64 = stacks.iter().map(|stack| stack.sides[0]).sum();
        let banks = stacks.first().map_or(1, |stack| stack.sides[1]);
        let pixels = parameters.get(MIXING).numel() as i64 / (layers * banks);
        let mixing = Place::new(parameters, MIXING, &[layers, banks, pixels])?;
        let filters = stacks.iter().map(|Stack { weight, bias, sides: [layers, banks, outputs, taps] }| {
            let weight = Place::new(parameters, weight, &[*layers, *banks, *outputs, *taps])?;
            Ok([weight, Place::new(parameters, bias, &[*layers, *banks, *outputs, 1])?])
        });
        Ok(Self { held, mixing, filters: filters.collect::<Result<_>>()? })
    }

    fn parts(&self, flat: &Tensor) -> Result<Parts> {
        let mixing = self.mixing.of(flat)?;
        let mean = mixing.f_mean_dim(2, true, mixing.kind())?;
        let deviation = mixing.f_sub(&mean)?;
        let square = |part: &Tensor| -> Result<Tensor> { Ok(part.f_matmul(&part.f_transpose(1, 2)?)?) };
        let outer = [square(&mean)?.f_mul_scalar(self.mixing.shape[2] as f64)?, square(&deviation)?];
        let gram = match self.held {
            Held::Operator => self.gram(flat)?,
            Held::Mixing => {
                Tensor::f_eye(self.mixing.shape[1], (flat.kind(), flat.device()))?.f_expand_as(&outer[0])?
            }
        };
        Ok(Parts { mean, deviation, outer, gram })
    }

    /// G, summed output by output, so that no sum is long and a device has many to work on.
    fn gram(&self, flat: &Tensor) -> Result<Tensor> {
        let of_place = |place: &Place| -> Result<Tensor> {
            let filters = place.of(flat)?.f_transpose(1, 2)?;
            Ok(filters.f_matmul(&filters.f_transpose(2, 3)?)?.f_sum_dim_intlist(1, false, flat.kind())?)
        };
        let of_stack = |[weight, bias]: &[Place; 2]| Ok(of_place(weight)?.f_add(&of_place(bias)?)?);
        Ok(Tensor::f_cat(&self.filters.iter().map(of_stack).collect::<Result<Vec<_>>>()?, 0)?)
    }

    /// `gradient` ← `gradient` + 2 S ψ, and 2 S b, for every stack.
    fn add_to_filters(&self, flat: &Tensor, twice: &Tensor, gradient: &Tensor) -> Result<()> {
        let mut layer = 0;
        for places in &self.filters {
            let layers = places[0].shape[0];
            let outer = twice.f_narrow(0, layer, layers)?;
            for place in places {
                let filters = place.of(flat)?.f_flatten(2, 3)?;
                let _ = place.of(gradient)?.f_flatten(2, 3)?.f_baddbmm_(&outer, &filters)?;
            }
            layer += layers;
        }
        Ok(())
    }
}

impl NetworkPenalty for RelaxedPenalty {
    fn add_gradient(
        &self,
        parameters: &Parameters,
        lambda_g: f64,
        lambda_perp: f64,
        gradient: &Tensor,
    ) -> Result<Tensor> {
        let _guard = tch::no_grad_guard();
        let flat = parameters.flat();
        let Parts { mean, deviation, outer: [equivariant, perp], gram } = self.parts(flat)?;
        let outer = equivariant.f_mul_scalar(lambda_g)?.f_add(&perp.f_mul_scalar(lambda_perp)?)?;
        let twice = mean.f_mul_scalar(2.0 * lambda_g)?.f_add(&deviation.f_mul_scalar(2.0 * lambda_perp)?)?;
        let _ = self.mixing.of(gradient)?.f_baddbmm_(&gram, &twice)?;
        if self.held == Held::Operator {
            self.add_to_filters(flat, &outer.f_mul_scalar(2.0)?, gradient)?;
        }
        Ok(outer.f_mul(&gram)?.f_sum(flat.kind())?)
    }

    fn energies(&self, parameters: &Parameters) -> Result<(f64, f64)> {
        let _guard = tch::no_grad_guard();
        let Parts { outer, gram, .. } = self.parts(parameters.flat())?;
        let energies = Tensor::f_stack(&outer, 0)?.f_mul(&gram)?.f_sum_dim_intlist(
            [1_i64, 2, 3].as_slice(),
            false,
            Kind::Double,
        )?;
        let energies = Vec::<f64>::try_from(energies)?;
        Ok((energies[0], energies[1]))
    }

    fn project(&self, parameters: &Parameters) -> Result<()> {
        let _guard = tch::no_grad_guard();
        let mut mixing = self.mixing.of(parameters.flat())?;
        let mean = mixing.f_mean_dim(2, true, mixing.kind())?;
        mixing.f_copy_(&mean.f_expand_as(&mixing)?)?;
        Ok(())
    }
}
