//! C4-steerable convolutions: one set of coefficients for all positions.
//!
//! ```text
//! K[o, i] = Σ_b w[o, i, b] K_b      K_b a basis of the band-limited C4-steerable kernels on 3×3
//! ```
//!
//! There is no bias: what follows normalises, and no vector but zero is fixed by the turns.

use reynolds::random::Random;
use tch::Tensor;

use super::basis::steerable_basis;
use super::fields::Fields;
use crate::smoke::networks::kernels::layers_of;
use reynolds_torch::error::Result;
use reynolds_torch::layers::Constant;
use reynolds_torch::parameters::{Builder, Parameters};

/// Fields to fields, exactly equivariant.
#[derive(Debug)]
pub(super) struct SteerableConv {
    weight: String,
    domain: Fields,
    codomain: Fields,
    /// `[b, codomain · domain · 9]`.
    basis: Constant,
}

impl SteerableConv {
    /// Adds `name.weight`, `[out, in, b]`, normal with the variance of He's rule: an output channel has twice the mean square of the input.
    pub(super) fn new(
        builder: &mut Builder,
        name: &str,
        domain: Fields,
        codomain: Fields,
        random: &mut Random,
    ) -> Result<Self> {
        let elements = steerable_basis(domain.1, codomain.1)?;
        let flat: Vec<f64> = elements.concat();
        let energy: f64 = flat.iter().map(|value| value * value).sum();
        let deviation = (2.0 * codomain.1.dim() as f64 / (domain.0 as f64 * energy)).sqrt();
        let shape = [codomain.0, domain.0, elements.len()];
        let values: Vec<f64> = (0..shape.iter().product()).map(|_| deviation * random.normal()).collect();
        let weight = format!("{name}.weight");
        builder.real(&weight, &shape, &values)?;
        let basis = Constant::new(&flat, &[elements.len() as i64, -1])?;
        Ok(Self { weight, domain, codomain, basis })
    }

    /// How many parameters it would have.
    pub(super) fn count(domain: Fields, codomain: Fields) -> usize {
        // The six scalar functions on 3×3, a quarter of all maps between the fields.
        let elements = 6 * domain.1.dim() * codomain.1.dim() / 4;
        codomain.0 * domain.0 * elements
    }

    /// K, `[out channels, in channels, 3, 3]`.
    pub(super) fn kernel(&self, parameters: &Parameters) -> Result<Tensor> {
        let weight = parameters.get(&self.weight)?;
        let basis = self.basis.like(&weight)?;
        let mixed = weight.f_view([-1, basis.size()[0]])?.f_mm(&basis)?;
        let ((inputs, domain), (outputs, codomain)) = (self.domain, self.codomain);
        let shape = [1, outputs, inputs, codomain.dim(), domain.dim(), 3, 3].map(|side| side as i64);
        let layers = layers_of(&mixed.f_view(shape.as_slice())?.f_permute([0, 1, 3, 2, 4, 5, 6])?)?;
        Ok(layers.into_iter().next().expect("one layer was asked for"))
    }
}
