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
use crate::smoke::networks::product::{or_zero, plus, product, squared};
use crate::smoke::networks::span::Span;
use crate::smoke::networks::{Held, NetworkPenalty};
use reynolds_torch::error::Result;
use reynolds_torch::layers::Constant;
use reynolds_torch::parameters::Parameters;

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
    /// w to w̄, and w to δ, `[1, S, S]`.
    shared: Constant,
    rest: Constant,
}

impl GroupPenalty {
    /// The penalty of a network's relaxed layers; all but the first have one shape.
    ///
    /// # Errors
    /// [`Error::Parameter`](reynolds_torch::Error::Parameter) if the parameters do not follow each other.
    pub(super) fn new(layers: &[GroupConv], parameters: &Parameters, held: Held) -> Result<Self> {
        let names = |layers: &[GroupConv], part| layers.iter().map(|layer| layer.name(part)).collect::<Vec<_>>();
        let (first, others) = layers.split_at(1);
        let runs = [first, others].into_iter().filter(|run| !run.is_empty());
        let run =
            |run: &[GroupConv]| -> Result<_> { Ok((Span::of(parameters, &names(run, "filters"))?, run.len() as i64)) };
        let mean = 1.0 / SIZES as f64;
        Ok(Self {
            held,
            sizes: first[0].sizes(),
            banks: first[0].banks() as i64,
            outputs: first[0].outputs() as i64,
            mixing: Span::of(parameters, &names(layers, "mixing"))?,
            filters: runs.map(run).collect::<Result<_>>()?,
            shared: projection(|_| mean)?,
            rest: projection(|own| f64::from(u8::from(own)) - mean)?,
        })
    }

    /// Filters of runs of layers in a flat tensor, `[layers, out · in, 9 F]` each.
    fn filters(&self, flat: &Tensor) -> Result<Vec<Tensor>> {
        let columns = self.banks * TAPS as i64;
        let run = |(span, layers): &(Span, i64)| span.view(flat, &[*layers, -1, columns]);
        self.filters.iter().map(run).collect()
    }

    /// Mixing weights in a flat tensor, `[layers, S, F]`.
    fn weights(&self, flat: &Tensor) -> Result<Tensor> {
        self.mixing.view(flat, &[-1, SIZES as i64, self.banks])
    }

    /// RᵀR of each size for every layer, `[layers, S, 81]`.
    fn resampled(&self, like: &Tensor) -> Result<Tensor> {
        Ok(self.sizes.grams().like(like)?.f_unsqueeze(0)?.f_expand([self.layers(), -1, -1], false)?)
    }

    fn layers(&self) -> i64 {
        self.filters.iter().map(|(_, layers)| layers).sum()
    }

    /// Products of taps of filters, summed over pairs of channels, `[layers, (tap, tap), (F, F)]`.
    fn pairs(&self, flat: &Tensor) -> Result<Tensor> {
        let (layers, outputs, banks, taps) = (self.layers(), self.outputs, self.banks, TAPS as i64);
        let empty = |shape: &[i64]| Tensor::f_empty(shape, (flat.kind(), flat.device()));
        // Output by output, then their sum: one product over all pairs of channels would use a corner of a GPU.
        let products = empty(&[layers * outputs, banks * taps, banks * taps])?;
        let mut start = 0;
        for run in self.filters(flat)? {
            let count = run.size()[0] * outputs;
            let parts = run.f_view([count, -1, banks * taps])?;
            let _ = parts.f_transpose(1, 2)?.f_bmm_out(&products.f_narrow(0, start, count)?, &parts)?;
            start += count;
        }
        let pairs = empty(&[layers, taps, taps, banks, banks])?;
        let products = products.f_view([layers, outputs, banks, taps, banks, taps].as_slice())?;
        let _ = products.f_sum_intlist_out(&pairs.f_permute([0, 3, 1, 4, 2])?, 1, false, None)?;
        Ok(pairs.f_view([layers, taps * taps, banks * banks])?)
    }

    /// a G, `[layers · S, F, F]`, of those products.
    fn gram(&self, pairs: &Tensor, factor: f64) -> Result<Tensor> {
        Ok(product(None, factor, &self.resampled(pairs)?, pairs)?.f_view([-1, self.banks, self.banks])?)
    }

    /// The operator's penalty.
    fn operator(&self, flat: &Tensor, lambda_g: f64, lambda_perp: f64, gradient: &Tensor) -> Result<Tensor> {
        let (layers, banks, taps) = (self.layers(), self.banks, TAPS as i64);
        let pairs = self.pairs(flat)?;
        let weights = self.weights(flat)?;
        let mean = weights.f_mean_dim(1, true, flat.kind())?;
        let resampled = self.resampled(flat)?;
        let mut terms = Vec::with_capacity(2);
        if lambda_g != 0.0 {
            terms.push((lambda_g, mean.f_expand_as(&weights)?, &self.shared));
        }
        if lambda_perp != 0.0 {
            terms.push((lambda_perp, weights.f_sub(&mean)?, &self.rest));
        }
        // Σ_s 2 C_s ⊗ R_sᵀR_s, [layers, (tap, tap), (F, F)].
        let (mut forms, mut value): (Option<Tensor>, Option<Tensor>) = (None, None);
        for (lambda, part, projection) in terms {
            let part = part.f_reshape([-1, banks, 1])?;
            let half_outer = product(None, 0.5, &part, &part.f_transpose(1, 2)?)?;
            let gram = self.gram(&pairs, 2.0 * lambda)?;
            // 2λ G_s part_s, and what of it the weights of all sizes, or of each but their mean, feel.
            let slope = gram.f_bmm(&part)?.f_view([layers, SIZES as i64, banks])?;
            let projection = projection.like(flat)?.f_expand([layers, -1, -1], false)?;
            let _ = self.weights(gradient)?.f_baddbmm_(&projection, &slope)?;
            let outer = half_outer.f_view([layers, SIZES as i64, banks * banks])?;
            forms = Some(product(forms.as_ref(), 4.0 * lambda, &resampled.f_transpose(1, 2)?, &outer)?);
            value = Some(plus(value, half_outer.f_view([-1])?.f_dot(&gram.f_view([-1])?)?)?);
        }
        let Some(forms) = forms else { return or_zero(value, flat) };
        let matrices = forms.f_view([layers, taps, taps, banks, banks])?.f_permute([0, 3, 1, 4, 2])?;
        let matrices = matrices.f_reshape([layers, banks * taps, banks * taps])?;
        let mut start = 0;
        for (filters, mut slopes) in self.filters(flat)?.iter().zip(self.filters(gradient)?) {
            let layers = filters.size()[0];
            let _ = slopes.f_baddbmm_(filters, &matrices.f_narrow(0, start, layers)?)?;
            start += layers;
        }
        or_zero(value, flat)
    }

    /// The mixing weights' penalty.
    fn mixing(&self, flat: &Tensor, lambda_g: f64, lambda_perp: f64, gradient: &Tensor) -> Result<Tensor> {
        let weights = self.weights(flat)?;
        let mean = weights.f_mean_dim(1, true, flat.kind())?;
        let deviation = weights.f_sub(&mean)?;
        let slope = deviation.f_mul_scalar(2.0 * lambda_perp)?.f_add_(&mean.f_mul_scalar(2.0 * lambda_g)?)?;
        let _ = self.weights(gradient)?.f_add_(&slope)?;
        let rest = squared(&deviation, lambda_perp)?;
        if lambda_g == 0.0 { Ok(rest) } else { plus(Some(rest), squared(&mean, lambda_g * SIZES as f64)?) }
    }
}

/// `[1, S, S]` of what is on the diagonal and what is not.
fn projection(entry: impl Fn(bool) -> f64) -> Result<Constant> {
    let entries: Vec<f64> = (0..SIZES * SIZES).map(|at| entry(at / SIZES == at % SIZES)).collect();
    Constant::new(&entries, &[1, SIZES as i64, SIZES as i64])
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
        let mean = weights.f_mean_dim(1, true, Kind::Double)?;
        let gram = match self.held {
            Held::Operator => Some(self.gram(&self.pairs(&flat)?, 1.0)?),
            Held::Mixing => None,
        };
        let energy = |part: &Tensor| -> Result<f64> {
            let part = part.f_reshape([-1, self.banks, 1])?;
            let pulled = gram.as_ref().map_or_else(|| Ok(part.shallow_clone()), |gram| gram.f_bmm(&part))?;
            Ok(f64::try_from(pulled.f_mul(&part)?.f_sum(Kind::Double)?)?)
        };
        Ok((energy(&mean.f_expand_as(&weights)?)?, energy(&weights.f_sub(&mean)?)?))
    }

    fn project(&self, parameters: &Parameters) -> Result<()> {
        let _guard = tch::no_grad_guard();
        let mut weights = self.weights(parameters.flat())?;
        let mean = weights.f_mean_dim(1, true, weights.kind())?;
        weights.f_copy_(&mean)?;
        Ok(())
    }
}
