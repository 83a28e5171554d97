//! Networks of layers with ReLU between them: most columns of the table.
//!
//! ```text
//! [ layer → batch normalisation → ReLU ] × (L − 1) → layer        with or without the normalisation
//! ```

use super::lift::{BEFORE, Encoder};
use super::*;
use reynolds_torch::parameters::Builder;

/// The weight of the dense path in the constraint of RPP, as in Wang's code.
const DENSE: f64 = 1e-6;

/// A layer whose output has the side of its input.
pub(crate) trait Layer {
    /// Its kernels, on the tape; every layer of a network has the same number.
    fn kernels(&self, parameters: &Parameters) -> Result<Vec<Tensor>>;

    /// `[N, in, H, W]` → `[N, out, H, W]` with what [`Layer::kernels`] made.
    fn forward(&self, parameters: &Parameters, kernels: &[Tensor], input: &Tensor) -> Result<Tensor>;
}

pub(crate) struct Body {
    pub(crate) layers: Vec<Box<dyn Layer>>,
    /// One fewer than layers, or none.
    pub(crate) norms: Vec<BatchNorm>,
    pub(crate) encoder: Option<Encoder>,
    /// Names of the dense paths of RPP, whose squares are its constraint.
    pub(crate) dense: Vec<String>,
}

impl Body {
    pub(crate) fn new(layers: Vec<Box<dyn Layer>>, norms: Vec<BatchNorm>) -> Self {
        Self { layers, norms, encoder: None, dense: Vec::new() }
    }
}

/// Adds `norms.N` for all layers but the last, each of `fields` fields of `dim` channels.
pub(crate) fn norms(builder: &mut Builder, layers: usize, fields: usize, dim: usize) -> Result<Vec<BatchNorm>> {
    (0..layers - 1).map(|number| BatchNorm::new(builder, &format!("norms.{number}"), fields, dim)).collect()
}

impl Network for Body {
    fn assemble(&self, parameters: &Parameters, _: Pass) -> Result<Vec<Tensor>> {
        let kernels = self.layers.iter().map(|layer| layer.kernels(parameters)).collect::<Result<Vec<_>>>()?;
        Ok(kernels.into_iter().flatten().collect())
    }

    fn forward(&self, parameters: &Parameters, assembled: &[Tensor], frames: &Tensor, pass: Pass) -> Result<Tensor> {
        let mut features = frames.shallow_clone();
        let kernels = assembled.chunks(assembled.len() / self.layers.len());
        for (number, (layer, kernels)) in self.layers.iter().zip(kernels).enumerate() {
            if let Some(encoder) = &self.encoder
                && number == BEFORE
            {
                features = encoder.tell(parameters, frames, &features, pass.mode)?;
            }
            features = layer.forward(parameters, kernels, &features)?;
            if let Some(norm) = self.norms.get(number) {
                features = norm.forward(parameters, &features, pass.mode)?;
            }
            if number + 1 < self.layers.len() {
                features = features.f_relu()?;
            }
        }
        Ok(features)
    }

    /// 10⁻⁶ Σ‖dense weights and biases‖². Wang's code has no α here: its constraint is this one at α = 1.
    fn prior(&self, parameters: &Parameters) -> Result<Option<Tensor>> {
        if self.dense.is_empty() {
            return Ok(None);
        }
        let kind = parameters.flat().kind();
        let names = self.dense.iter().flat_map(|name| ["weight", "bias"].map(|part| format!("{name}.{part}")));
        let squares = names.map(|name| -> Result<Tensor> { Ok(parameters.get(&name)?.f_square()?.f_sum(kind)?) });
        let sum = Tensor::f_stack(&squares.collect::<Result<Vec<_>>>()?, 0)?.f_sum(kind)?;
        Ok(Some(sum.f_mul_scalar(DENSE)?))
    }
}
