//! The projection penalty of relaxed group convolutions over sizes.
//!
//! ```text
//! w̄_f = mean of w[s, f] over s,   δ = w − w̄
//! mixing     λ_G ‖w̄‖² + λ_⊥ ‖δ‖²                      w̄ counted at every size, so that ‖w̄‖² + ‖δ‖² = ‖w‖²
//! operator   λ_G Σ_s w̄ᵀ G_s w̄ + λ_⊥ Σ_s δ_sᵀ G_s δ_s      (G_s)_{fg} = ⟨R_s ψ_f, R_s ψ_g⟩
//! ```
//!
//! The second is λ_G ‖A w̄‖² + λ_⊥ ‖A δ‖² with A the assembly of all kernels. Changes of size are no compact group: there is no Haar
//! measure, and no Reynolds average to derive P from. P is *defined* here as the replacement of w by w̄, orthogonal in the weights, whose
//! image is the layer of one filter at all sizes. A w̄ and A δ are not orthogonal.
//!
//! A is bilinear, so the gradient reaches the filters: with C_s = λ_G w̄ w̄ᵀ + λ_⊥ δ_s δ_sᵀ it is 2 Σ_s (C_s ⊗ R_sᵀR_s) ψ, a product with a small
//! matrix for each layer, all hidden layers in one batch.

use std::rc::Rc;

use tch::{Kind, Tensor};

use super::group_conv::{GroupConv, SIZES, Sizes};
use super::resample::TAPS;
use crate::error::Result;
use crate::models::smoke::span::Span;
use crate::models::smoke::{Held, NetworkPenalty};
use crate::parameters::Parameters;

/// The penalty of layers whose filters and whose mixing weights follow each other in the flat storage.
#[derive(Debug)]
pub(super) struct GroupPenalty {
    held: Held,
    sizes: Rc<Sizes>,
    banks: i64,
    outputs: i64,
    mixing: Span,
    /// The first layer's filters and those of all others, with the number of layers.
    filters: Vec<(Span, i64)>,
}

impl GroupPenalty {
    /// The penalty of a network's relaxed layers; all but the first have one shape.
    ///
    /// # Errors
    /// [`Error::Parameter`](crate::Error::Parameter) if the parameters do not follow each other.
    pub(super) fn new(layers: &[GroupConv], parameters: &Parameters, held: Held) -> Result<Self> {
        let names = |layers: &[GroupConv], part| layers.iter().map(|layer| layer.name(part)).collect::<Vec<_>>();
        let (first, others) = layers.split_at(1);
        let runs = [first, others].into_iter().filter(|run| !run.is_empty());
        let run =
            |run: &[GroupConv]| -> Result<_> { Ok((Span::of(parameters, &names(run, "filters"))?, run.len() as i64)) };
        Ok(Self {
            held,
            sizes: first[0].sizes(),
            banks: first[0].banks() as i64,
            outputs: first[0].outputs() as i64,
            mixing: Span::of(parameters, &names(layers, "mixing"))?,
            filters: runs.map(run).collect::<Result<_>>()?,
        })
    }

    /// Filters of runs of layers in a flat tensor, `[layers, out · in, 9 F]` each.
    fn filters(&self, flat: &Tensor) -> Result<Vec<Tensor>> {
        let columns = self.banks * TAPS as i64;
        let run = |(span, layers): &(Span, i64)| span.view(flat, &[*layers, -1, columns]);
        self.filters.iter().map(run).collect()
    }

    /// Mixing weights in a flat tensor, `[layers, F, S]`.
    fn weights(&self, flat: &Tensor) -> Result<Tensor> {
        Ok(self.mixing.view(flat, &[-1, SIZES as i64, self.banks])?.f_transpose(1, 2)?)
    }

    /// G, `[layers, F, F, S]`.
    fn gram(&self, filters: &[Tensor]) -> Result<Tensor> {
        let banks = self.banks;
        // Output by output, then their sum: one product over all pairs of channels would use a corner of a GPU.
        let product = |run: &Tensor| -> Result<Tensor> {
            let (layers, columns) = (run.size()[0], run.size()[2]);
            let parts = run.f_view([layers * self.outputs, -1, columns])?;
            let parts = parts.f_transpose(1, 2)?.f_bmm(&parts)?.f_view([layers, self.outputs, columns, columns])?;
            Ok(parts.f_sum_dim_intlist(1, false, None)?)
        };
        let products = filters.iter().map(product);
        let products = Tensor::f_cat(&products.collect::<Result<Vec<_>>>()?, 0)?;
        let taps = TAPS as i64;
        let pairs = products.f_view([-1, banks, taps, banks, taps])?.f_permute([0, 1, 3, 2, 4])?;
        let grams = self.sizes.grams().like(&products)?;
        let gram = pairs.f_reshape([-1, taps * taps])?.f_mm(&grams.f_transpose(0, 1)?)?;
        Ok(gram.f_view([-1, banks, banks, SIZES as i64])?)
    }

    /// Σ_s C_s ⊗ R_sᵀR_s for each layer, `[layers, 9 F, 9 F]`, of C `[layers, F, F, S]`.
    fn spread(&self, form: &Tensor) -> Result<Tensor> {
        let (banks, taps) = (self.banks, TAPS as i64);
        let product = form.f_reshape([-1, SIZES as i64])?.f_mm(&self.sizes.grams().like(form)?)?;
        let product = product.f_view([-1, banks, banks, taps, taps])?.f_permute([0, 1, 3, 2, 4])?;
        Ok(product.f_reshape([-1, banks * taps, banks * taps])?)
    }

    /// The operator's penalty.
    fn operator(&self, flat: &Tensor, lambda_g: f64, lambda_perp: f64, gradient: &Tensor) -> Result<Tensor> {
        let filters = self.filters(flat)?;
        let gram = self.gram(&filters)?;
        let weights = self.weights(flat)?;
        let mean = weights.f_mean_dim(2, true, flat.kind())?;
        let mut form: Option<Tensor> = None;
        let mut slopes = self.weights(gradient)?;
        for (lambda, part, shared) in
            [(lambda_g, mean.f_expand_as(&weights)?, true), (lambda_perp, weights.f_sub(&mean)?, false)]
        {
            if lambda == 0.0 {
                continue;
            }
            let scaled = part.f_mul_scalar(2.0 * lambda)?;
            let outer = scaled.f_unsqueeze(2)?.f_mul(&part.f_unsqueeze(1)?)?;
            // 2λ G_s part_s, and what of it the weights of all sizes, or of each but their mean, feel.
            let slope = gram.f_mul(&scaled.f_unsqueeze(1)?)?.f_sum_dim_intlist(2, false, None)?;
            let common = slope.f_mean_dim(2, true, flat.kind())?;
            let _ = slopes.f_add_(&if shared { common } else { slope.f_sub(&common)? })?;
            form = Some(match form {
                Some(form) => form.f_add(&outer)?,
                None => outer,
            });
        }
        let Some(form) = form else { return Ok(Tensor::f_zeros([], (flat.kind(), flat.device()))?) };
        let mut start = 0;
        let matrices = self.spread(&form)?;
        for (filters, mut slopes) in filters.iter().zip(self.filters(gradient)?) {
            let layers = filters.size()[0];
            let _ = slopes.f_baddbmm_(filters, &matrices.f_narrow(0, start, layers)?)?;
            start += layers;
        }
        Ok(form.f_mul(&gram)?.f_sum(flat.kind())?.f_mul_scalar_(0.5)?)
    }

    /// The mixing weights' penalty.
    fn mixing(&self, flat: &Tensor, lambda_g: f64, lambda_perp: f64, gradient: &Tensor) -> Result<Tensor> {
        let weights = self.weights(flat)?;
        let mean = weights.f_mean_dim(2, true, flat.kind())?;
        let slope =
            weights.f_sub(&mean)?.f_mul_scalar_(2.0 * lambda_perp)?.f_add_(&mean.f_mul_scalar(2.0 * lambda_g)?)?;
        let _ = self.weights(gradient)?.f_add_(&slope)?;
        Ok(slope.f_mul(&weights)?.f_sum(flat.kind())?.f_mul_scalar_(0.5)?)
    }
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
        match self.held {
            Held::Operator => self.operator(parameters.flat(), lambda_g, lambda_perp, gradient),
            Held::Mixing => self.mixing(parameters.flat(), lambda_g, lambda_perp, gradient),
        }
    }

    fn energies(&self, parameters: &Parameters) -> Result<(f64, f64)> {
        let _guard = tch::no_grad_guard();
        let flat = parameters.flat().f_to_kind(Kind::Double)?;
        let weights = self.weights(&flat)?;
        let mean = weights.f_mean_dim(2, true, Kind::Double)?;
        let gram = match self.held {
            Held::Operator => Some(self.gram(&self.filters(&flat)?)?),
            Held::Mixing => None,
        };
        let energy = |part: &Tensor| -> Result<f64> {
            let sum = match &gram {
                Some(gram) => gram.f_mul(&part.f_unsqueeze(2)?)?.f_mul(&part.f_unsqueeze(1)?)?,
                None => part.f_square()?,
            };
            Ok(f64::try_from(sum.f_sum(Kind::Double)?)?)
        };
        Ok((energy(&mean.f_expand_as(&weights)?)?, energy(&weights.f_sub(&mean)?)?))
    }

    fn project(&self, parameters: &Parameters) -> Result<()> {
        let _guard = tch::no_grad_guard();
        let mut weights = self.weights(parameters.flat())?;
        let mean = weights.f_mean_dim(2, true, weights.kind())?;
        weights.f_copy_(&mean)?;
        Ok(())
    }
}
