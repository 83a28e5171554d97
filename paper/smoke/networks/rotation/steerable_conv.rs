//! C4-steerable convolutions, one set of coefficients for all positions, and Equiv, the network of them.
//!
//! ```text
//! K[o, i] = Σ_b w[o, i, b] K_b      K_b a basis of the band-limited C4-steerable kernels on 3×3
//! T vectors ──conv──► h regular fields ──normalise, ReLU, conv──► … ──conv──► 1 vector
//! ```
//!
//! There is no bias: a normalisation follows, and no vector but zero is fixed by the turns. Normalisation shares statistics inside a field and
//! ReLU acts on regular fields, so that every step commutes with quarter turns.

use super::basis::steerable_basis;
use super::fields::{Field, Fields};
use super::*;

/// Fields to fields, exactly equivariant.
#[derive(Debug)]
pub(crate) struct SteerableConv {
    weight: String,
    domain: Fields,
    codomain: Fields,
    /// `[b, codomain · domain · 9]`.
    basis: Constant,
}

impl SteerableConv {
    /// Adds `name.weight`, `[out, in, b]`, normal with the variance of He's rule: an output channel has twice the mean square of the input.
    pub(crate) fn new(new: &mut Construction<'_>, name: &str, [domain, codomain]: [Fields; 2]) -> Result<Self> {
        let elements = steerable_basis(domain.1, codomain.1)?;
        let flat: Vec<f64> = elements.concat();
        let energy: f64 = flat.iter().map(|value| value * value).sum();
        let deviation = (2.0 * codomain.1.dim() as f64 / (domain.0 as f64 * energy)).sqrt();
        let shape = [codomain.0, domain.0, elements.len()];
        let values: Vec<f64> = (0..shape.iter().product()).map(|_| deviation * new.random.normal()).collect();
        let weight = format!("{name}.weight");
        new.builder.real(&weight, &shape, &values)?;
        let basis = Constant::new(&flat, &[elements.len() as i64, -1])?;
        Ok(Self { weight, domain, codomain, basis })
    }

    pub(crate) fn count([domain, codomain]: [Fields; 2]) -> usize {
        // The six scalar functions on 3×3, a quarter of all maps between the fields.
        let elements = 6 * domain.1.dim() * codomain.1.dim() / 4;
        codomain.0 * domain.0 * elements
    }

    /// K, `[out channels, in channels, 3, 3]`.
    pub(crate) fn kernel(&self, parameters: &Parameters) -> Result<Tensor> {
        let weight = parameters.get(&self.weight)?;
        let basis = self.basis.like(&weight)?;
        let mixed = weight.f_view([-1, basis.size()[0]])?.f_mm(&basis)?;
        let ((inputs, domain), (outputs, codomain)) = (self.domain, self.codomain);
        let shape = [1, outputs, inputs, codomain.dim(), domain.dim(), 3, 3].map(|side| side as i64);
        let layers = layers_of(&mixed.f_view(shape.as_slice())?.f_permute([0, 1, 3, 2, 4, 5, 6])?)?;
        Ok(layers.into_iter().next().expect("one layer was asked for"))
    }
}

impl Layer for SteerableConv {
    fn kernels(&self, parameters: &Parameters) -> Result<Vec<Tensor>> {
        Ok(vec![self.kernel(parameters)?])
    }

    fn forward(&self, _: &Parameters, kernels: &[Tensor], input: &Tensor) -> Result<Tensor> {
        convolve(input, &kernels[0], None, 1)
    }
}

/// The fields from and to which each layer maps.
pub(crate) fn pairs(new: &Construction<'_>) -> Vec<[Fields; 2]> {
    let mut fields = vec![(new.config.hidden, Field::Regular); new.config.layers + 1];
    (fields[0], fields[new.config.layers]) = ((new.frames.count, Field::Vector), (1, Field::Vector));
    fields.windows(2).map(|pair| [pair[0], pair[1]]).collect()
}

pub(crate) fn count(pairs: &[[Fields; 2]]) -> usize {
    let convolutions: usize = pairs.iter().map(|&pair| SteerableConv::count(pair)).sum();
    let norms: usize = pairs[..pairs.len() - 1].iter().map(|[_, (fields, _)]| 2 * fields).sum();
    convolutions + norms
}

/// These layers with normalisation after all but the last: adds `layers.N.weight` and `norms.N`.
pub(crate) fn equiv(new: &mut Construction<'_>, pairs: &[[Fields; 2]]) -> Result<Body> {
    let layer = |(number, &pair): (usize, &[Fields; 2])| -> Result<Box<dyn Layer>> {
        Ok(Box::new(SteerableConv::new(new, &format!("layers.{number}"), pair)?))
    };
    let layers = pairs.iter().enumerate().map(layer).collect::<Result<_>>()?;
    Ok(Body::new(layers, norms(new.builder, pairs.len(), new.config.hidden, Field::Regular.dim())?))
}
