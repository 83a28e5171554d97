//! Relaxed steerable convolutions: a steerable kernel whose coefficients differ from position to position.
//!
//! ```text
//! K[o, i](k) = Σ_b w[o, i, k, b] K_b(k)      k = 1…9, K_b a basis of the band-limited C4-steerable kernels
//! ```
//!
//! K is equivariant as soon as w is constant on the orbits of positions (centre, edges, corners), and averaging w over them is the
//! Reynolds projection of K. Equal layers are held in one tensor, so that all of them are mixed by one batched product.

use reynolds::random::Random;
use tch::Tensor;

use super::basis::steerable_basis;
use super::fields::{Fields, POSITIONS};
use crate::smoke::networks::kernels::layers_of;
use reynolds_torch::error::Result;
use reynolds_torch::layers::{Constant, uniform};
use reynolds_torch::parameters::{Builder, Parameters};

/// A number of layers that all map `inputs` fields of one kind to `outputs` of another.
#[derive(Debug)]
pub(super) struct RelaxedSteerable {
    name: String,
    layers: usize,
    pub(super) domain: Fields,
    pub(super) codomain: Fields,
    /// K_b, each `[codomain, domain, 9]`.
    elements: Vec<Vec<f64>>,
    /// `[9, b, codomain · domain]`.
    by_position: Constant,
}

impl RelaxedSteerable {
    /// Adds `name.weight`, `[layers, out, in, 9, b]`, uniform in ±1/√(9 in) as in Wang's code.
    pub(super) fn new(
        builder: &mut Builder,
        name: &str,
        layers: usize,
        domain: Fields,
        codomain: Fields,
        random: &mut Random,
    ) -> Result<Self> {
        let elements = steerable_basis(domain.1, codomain.1)?;
        let pairs = domain.1.dim() * codomain.1.dim();
        let at = |k: usize| {
            elements.iter().flat_map(move |element| (0..pairs).map(move |pair| element[pair * POSITIONS + k]))
        };
        let by_position: Vec<f64> = (0..POSITIONS).flat_map(at).collect();
        let shape = [POSITIONS as i64, elements.len() as i64, pairs as i64];
        let by_position = Constant::new(&by_position, &shape)?;
        let shape = [layers, codomain.0, domain.0, POSITIONS, elements.len()];
        let bound = 1.0 / ((POSITIONS * domain.0) as f64).sqrt();
        builder.real(&format!("{name}.weight"), &shape, &uniform(shape.iter().product(), bound, random))?;
        Ok(Self { name: name.into(), layers, domain, codomain, elements, by_position })
    }

    /// Adds `name.bias`, `[layers, channels]`, zero: one number a channel, as in Wang's code, where one a regular field would commute
    /// with the turns.
    pub(super) fn add_bias(&self, builder: &mut Builder) -> Result<()> {
        let channels = self.codomain.0 * self.codomain.1.dim();
        builder.real(&self.bias_name(), &[self.layers, channels], &vec![0.0; self.layers * channels])
    }

    /// The name of w.
    pub(super) fn weight_name(&self) -> String {
        format!("{}.weight", self.name)
    }

    /// The name of the biases.
    pub(super) fn bias_name(&self) -> String {
        format!("{}.bias", self.name)
    }

    /// The basis, each element row-major `[codomain, domain, 9]`.
    pub(super) fn elements(&self) -> &[Vec<f64>] {
        &self.elements
    }

    /// K of each layer.
    pub(super) fn kernels(&self, parameters: &Parameters) -> Result<Vec<Tensor>> {
        let weight = parameters.get(&self.weight_name())?;
        let (layers, (inputs, domain), (outputs, codomain)) = (self.layers, self.domain, self.codomain);
        let by_position = weight.f_view([-1, POSITIONS as i64, self.elements.len() as i64])?.f_transpose(0, 1)?;
        let mixed = by_position.f_bmm(&self.by_position.like(&weight)?)?;
        let shape = [3, 3, layers, outputs, inputs, codomain.dim(), domain.dim()].map(|side| side as i64);
        layers_of(&mixed.f_view(shape.as_slice())?.f_permute([2, 3, 5, 4, 6, 0, 1])?)
    }

    /// The bias of each layer.
    pub(super) fn biases(&self, parameters: &Parameters) -> Result<Vec<Tensor>> {
        Ok(parameters.get(&self.bias_name())?.f_unbind(0)?)
    }

    /// Σ over layers of the mean of |w(k) − w(k + 1)|, positions in row-major order.
    pub(super) fn roughness(&self, parameters: &Parameters) -> Result<Tensor> {
        let weight = parameters.get(&self.weight_name())?;
        let steps = POSITIONS as i64 - 1;
        let difference = weight.f_narrow(3, 1, steps)?.f_sub(&weight.f_narrow(3, 0, steps)?)?;
        Ok(difference.f_abs()?.f_mean(weight.kind())?.f_mul_scalar(self.layers as f64)?)
    }
}
