//! The plain convolutional network.
//!
//! ```text
//! [ conv3 → batch normalisation → ReLU ] × (L − 1) → conv3
//! ```
//!
//! It commutes with shifts away from the border, where the padding is zero. Wang's network for changes of size has no normalisation.

use super::*;

pub(crate) const KERNEL: usize = 3;

impl Layer for Conv2d {
    fn kernels(&self, parameters: &Parameters) -> Result<Vec<Tensor>> {
        Ok(vec![self.kernel(parameters)?])
    }

    fn forward(&self, parameters: &Parameters, kernels: &[Tensor], input: &Tensor) -> Result<Tensor> {
        Conv2d::forward(self, parameters, &kernels[0], input)
    }
}

/// Layers from and to these numbers of channels: adds `layers.N.weight`, `layers.N.bias` and, if `normalised`, `norms.N`.
pub(crate) fn network(new: &mut Construction<'_>, pairs: &[[usize; 2]], normalised: bool) -> Result<Body> {
    let layer = |(number, pair): (usize, &[usize; 2])| -> Result<Box<dyn Layer>> {
        Ok(Box::new(Conv2d::new(new.builder, &format!("layers.{number}"), *pair, KERNEL, new.random)?))
    };
    let layers = pairs.iter().enumerate().map(layer).collect::<Result<_>>()?;
    let norms = if normalised { norms(new.builder, pairs.len(), new.config.hidden, 1)? } else { Vec::new() };
    Ok(Body::new(layers, norms))
}

pub(crate) fn count(pairs: &[[usize; 2]], normalised: bool) -> usize {
    let convolutions: usize = pairs.iter().map(|[inputs, outputs]| outputs * (inputs * KERNEL * KERNEL + 1)).sum();
    let norms: usize = pairs[..pairs.len() - 1].iter().map(|[_, outputs]| 2 * outputs).sum();
    convolutions + if normalised { norms } else { 0 }
}
