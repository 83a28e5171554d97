//! The projection penalty of convolutions that are mixed by weights which depend on the pixel.
//!
//! ```text
//! w̄ = mean of w(p)   δ(p) = w(p) − w̄   G_rs = ⟨ψ_r, ψ_s⟩ + ⟨b_r, b_s⟩   ‖P(W)‖² = HW w̄ᵀG w̄   ‖W − P(W)‖² = Σ_p δ(p)ᵀG δ(p)
//! S = λ_G HW w̄w̄ᵀ + λ_⊥ Σ_p δ(p)δ(p)ᵀ      value ⟨S, G⟩      ∇ψ = 2 S ψ      ∇b = 2 S b      ∇w(p) = 2 G (λ_G w̄ + λ_⊥ δ(p))
//! ```
//!
//! W is the affine map of an image on a torus and P its mean over all shifts, which is the same with w̄ in the place of w. The border of
//! zeros that the network has instead of a torus is left out of account. On the mixing weights themselves G is 1, and ψ and b get nothing.
//!
//! All filters are one matrix of rows, and all biases another. With M[row, layer] = 1 if the row is the layer's, G = Mᵀ(Gram matrices of the
//! rows) and M S is what multiplies each row: a dozen operations whatever the number of layers. A term whose λ is 0 takes none.

use tch::{Kind, Tensor};

use super::rgroup::{BIASES, MIXING, OUTPUTS, Rgroup};
use crate::smoke::networks::conv::KERNEL;
use crate::smoke::networks::product::{or_zero, plus, product};
use crate::smoke::networks::span::Span;
use crate::smoke::networks::{Held, NetworkPenalty};
use reynolds_torch::error::Result;
use reynolds_torch::layers::Constant;
use reynolds_torch::parameters::Parameters;

/// Most pieces that a sum over pixels is cut into: a device works on them at once.
const PIECES: i64 = 16;

/// The penalty of a relaxed convolutional network.
#[derive(Debug)]
pub(super) struct RelaxedPenalty {
    held: Held,
    layers: i64,
    banks: i64,
    pixels: i64,
    /// w.
    mixing: Span,
    /// ψ and b, with the number of rows and the length of each.
    blocks: [(Span, [i64; 2]); 2],
    /// M, `[1, rows of ψ and of b, layers]`.
    membership: Constant,
}

impl RelaxedPenalty {
    /// The penalty of this network.
    ///
    /// # Errors
    /// [`Error::Parameter`](reynolds_torch::Error::Parameter) if the parameters are not those of the network.
    pub(super) fn new(network: &Rgroup, parameters: &Parameters, held: Held) -> Result<Self> {
        let &Rgroup { hidden, layers, banks, side, .. } = network;
        let mut owners = Vec::new();
        let mut own = |layers: std::ops::Range<usize>, rows: usize| {
            owners.extend(layers.flat_map(|layer| std::iter::repeat_n(layer, rows)));
        };
        own(0..1, network.inputs);
        own(1..layers - 1, hidden);
        own(layers - 1..layers, OUTPUTS);
        own(0..layers - 1, hidden);
        own(layers - 1..layers, OUTPUTS);
        let mut membership = vec![0.0; owners.len() * layers];
        for (row, layer) in owners.iter().enumerate() {
            membership[row * layers + layer] = 1.0;
        }
        let bias_rows = (layers - 1) * hidden + OUTPUTS;
        let block = |names: &[String], rows: usize, length: usize| -> Result<_> {
            Ok((Span::of(parameters, names)?, [rows as i64, length as i64]))
        };
        let filters: Vec<String> = network.filters().map(|(name, _)| name.into()).collect();
        let blocks = [
            block(&filters, owners.len() - bias_rows, hidden * KERNEL * KERNEL)?,
            block(&BIASES.map(String::from), bias_rows, 1)?,
        ];
        Ok(Self {
            held,
            layers: layers as i64,
            banks: banks as i64,
            pixels: (side * side) as i64,
            mixing: Span::of(parameters, &[MIXING.into()])?,
            membership: Constant::new(&membership, &[1, owners.len() as i64, layers as i64])?,
            blocks,
        })
    }

    /// w in a flat tensor, `[layers, R, pixels]`.
    fn mixing(&self, flat: &Tensor) -> Result<Tensor> {
        self.mixing.view(flat, &[self.layers, self.banks, self.pixels])
    }

    /// ψ and b in a flat tensor, `[rows, R, length]` each.
    fn rows(&self, flat: &Tensor) -> Result<[Tensor; 2]> {
        let rows = |(span, [rows, length]): &(Span, [i64; 2])| span.view(flat, &[*rows, self.banks, *length]);
        Ok([rows(&self.blocks[0])?, rows(&self.blocks[1])?])
    }

    /// Those of a tensor `[rows of ψ and of b, R, R]` that belong to ψ, and those to b.
    fn halves(&self, all: &Tensor) -> Result<[Tensor; 2]> {
        let [(_, [filters, _]), (_, [biases, _])] = self.blocks;
        Ok([all.f_narrow(0, 0, filters)?, all.f_narrow(0, filters, biases)?])
    }

    /// w̄ and δ, `[layers, R, 1]` and `[layers, R, pixels]`.
    fn parts(&self, flat: &Tensor) -> Result<(Tensor, Tensor)> {
        let mixing = self.mixing(flat)?;
        let mean = mixing.f_mean_dim(2, true, mixing.kind())?;
        let deviation = mixing.f_sub(&mean)?;
        Ok((mean, deviation))
    }

    /// ⟨ψ_r, ψ_s⟩ and ⟨b_r, b_s⟩ row by row, `[1, rows, R²]`.
    fn grams(&self, flat: &Tensor) -> Result<Tensor> {
        let rows = self.blocks.iter().map(|(_, [rows, _])| rows).sum();
        let grams = Tensor::f_empty([rows, self.banks, self.banks], (flat.kind(), flat.device()))?;
        let ([filters, biases], [of_filters, of_biases]) = (self.rows(flat)?, self.halves(&grams)?);
        let _ = filters.f_bmm_out(&of_filters, &filters.f_transpose(1, 2)?)?;
        let _ = biases.f_mul_out(&of_biases, &biases.f_transpose(1, 2)?)?;
        Ok(grams.f_view([1, rows, self.banks * self.banks])?)
    }

    /// ½ Σ_p x(p) x(p)ᵀ, `[1, layers, R²]`, of `[layers, R, pixels]`. The product is of all pieces with all, for a batch of pieces would
    /// be a copy; those of a piece with itself are summed.
    fn half_outer(&self, part: &Tensor) -> Result<Tensor> {
        let Self { layers, banks, pixels, .. } = *self;
        let pieces = greatest_divisor(pixels, PIECES);
        let part = part.f_reshape([layers, banks * pieces, pixels / pieces])?;
        let products = product(None, 0.5, &part, &part.f_transpose(1, 2)?)?;
        let own = products.f_view([layers, banks, pieces, banks, pieces].as_slice())?.f_diagonal(0, 2, 4)?;
        Ok(own.f_sum_dim_intlist(3, false, part.kind())?.f_view([1, layers, banks * banks])?)
    }

    /// The penalty on the affine maps, of the terms λ ‖x‖² with x `[layers, R, pixels]`.
    fn operator(&self, flat: &Tensor, terms: &[(f64, Tensor)], gradient: &Tensor) -> Result<Option<Tensor>> {
        let Self { layers, banks, .. } = *self;
        let grams = self.grams(flat)?;
        let membership = self.membership.like(flat)?;
        let (mut factors, mut value): (Option<Tensor>, Option<Tensor>) = (None, None);
        for (lambda, part) in terms {
            let half = self.half_outer(part)?;
            let pull = product(None, 2.0 * lambda, &membership.f_transpose(1, 2)?, &grams)?;
            let _ = self.mixing(gradient)?.f_baddbmm_(&pull.f_view([layers, banks, banks])?, part)?;
            factors = Some(product(factors.as_ref(), 4.0 * lambda, &membership, &half)?);
            value = Some(plus(value, half.f_view([-1])?.f_dot(&pull.f_view([-1])?)?)?);
        }
        if let Some(factors) = factors {
            let factors = self.halves(&factors.f_view([-1, banks, banks])?)?;
            for ((rows, mut slopes), factors) in self.rows(flat)?.iter().zip(self.rows(gradient)?).zip(factors) {
                let _ = slopes.f_baddbmm_(&factors, rows)?;
            }
        }
        Ok(value)
    }

    /// The penalty on the mixing weights.
    fn plain(&self, flat: &Tensor, terms: &[(f64, Tensor)], gradient: &Tensor) -> Result<Option<Tensor>> {
        let mut value = None;
        for (lambda, part) in terms {
            let slope = part.f_mul_scalar(2.0 * lambda)?;
            let _ = self.mixing(gradient)?.f_add_(&slope)?;
            value = Some(plus(value, slope.f_mul(part)?.f_sum(flat.kind())?.f_mul_scalar_(0.5)?)?);
        }
        Ok(value)
    }
}

/// The greatest divisor of `number` that is at most `most`.
fn greatest_divisor(number: i64, most: i64) -> i64 {
    (1..=most).rev().find(|divisor| number % divisor == 0).unwrap_or(1)
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
        let (mean, deviation) = self.parts(flat)?;
        let mut terms = Vec::with_capacity(2);
        if lambda_g != 0.0 {
            terms.push((lambda_g, mean.f_expand_as(&deviation)?));
        }
        if lambda_perp != 0.0 {
            terms.push((lambda_perp, deviation));
        }
        let value = match self.held {
            Held::Operator => self.operator(flat, &terms, gradient)?,
            Held::Mixing => self.plain(flat, &terms, gradient)?,
        };
        or_zero(value, flat)
    }

    fn energies(&self, parameters: &Parameters) -> Result<(f64, f64)> {
        let _guard = tch::no_grad_guard();
        let flat = parameters.flat().f_to_kind(Kind::Double)?;
        let (mean, deviation) = self.parts(&flat)?;
        let gram = match self.held {
            Held::Operator => {
                let gram = product(None, 1.0, &self.membership.like(&flat)?.f_transpose(1, 2)?, &self.grams(&flat)?)?;
                Some(gram.f_view([self.layers, self.banks, self.banks])?)
            }
            Held::Mixing => None,
        };
        let energy = |part: &Tensor, times: f64| -> Result<f64> {
            let pulled = gram.as_ref().map_or_else(|| Ok(part.shallow_clone()), |gram| gram.f_bmm(part))?;
            Ok(times * f64::try_from(pulled.f_mul(part)?.f_sum(Kind::Double)?)?)
        };
        Ok((energy(&mean, self.pixels as f64)?, energy(&deviation, 1.0)?))
    }

    fn project(&self, parameters: &Parameters) -> Result<()> {
        let _guard = tch::no_grad_guard();
        let (mean, _) = self.parts(parameters.flat())?;
        self.mixing(parameters.flat())?.f_copy_(&mean)?;
        Ok(())
    }
}
