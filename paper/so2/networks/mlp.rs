//! The baseline: a plain network of dense layers with ReLU between them.
//!
//! ```text
//! T(x) = L_k ∘ ReLU ∘ L_{k−1} ∘ … ∘ ReLU ∘ L_1 (x)
//! ```

use reynolds::random::Random;
use tch::Tensor;

use crate::network::Network;
use reynolds_torch::error::{Error, Result};
use reynolds_torch::layers::{Linear, Pass};
use reynolds_torch::parameters::{Builder, Parameters};

/// Dense layers with ReLU between them, on raw coordinates.
///
/// ```
/// use reynolds::random::Random;
/// use reynolds_paper::{network::{Network, TRAIN}, so2::networks::Mlp};
/// use reynolds_torch::{Parameters, tch::{Device, Kind, Tensor}};
/// let mut builder = Parameters::builder();
/// let mlp = Mlp::new(&mut builder, &[2, 64, 64, 1], &mut Random::new(0))?;
/// let parameters = builder.build(Kind::Float, Device::Cpu)?;
/// assert_eq!(parameters.len(), 2 * 64 + 64 + 64 * 64 + 64 + 64 + 1);
/// let points = Tensor::ones([5, 2], (Kind::Float, Device::Cpu));
/// assert_eq!(mlp.forward(&parameters, &[], &points, TRAIN)?.size(), [5]);
/// # Ok::<(), reynolds_torch::Error>(())
/// ```
#[derive(Debug, Clone)]
pub struct Mlp {
    layers: Vec<Linear>,
}

impl Mlp {
    /// Adds `layers.0.weight`, `layers.0.bias`, … for layers of these widths, from input to output.
    pub fn new(builder: &mut Builder, widths: &[usize], random: &mut Random) -> Result<Self> {
        if widths.len() < 2 || widths.contains(&0) || widths.last() != Some(&1) {
            return Err(Error::setting("widths", "two or more, none 0 and the last 1", format!("{widths:?}")));
        }
        let pairs = widths.windows(2).enumerate();
        let layers =
            pairs.map(|(number, pair)| Linear::new(builder, &format!("layers.{number}"), pair[0], pair[1], random));
        Ok(Self { layers: layers.collect::<Result<_>>()? })
    }
}

impl Network for Mlp {
    fn forward(&self, parameters: &Parameters, _: &[Tensor], features: &Tensor, _: Pass) -> Result<Tensor> {
        let (last, hidden) = self.layers.split_last().expect("two or more widths");
        let mut x = features.shallow_clone();
        for layer in hidden {
            x = layer.forward(parameters, &x)?.f_relu()?;
        }
        Ok(last.forward(parameters, &x)?.f_squeeze_dim(1)?)
    }
}

#[cfg(test)]
mod tests {
    use tch::{Device, Kind};

    use super::*;
    use crate::network::TRAIN;

    #[test]
    fn one_hidden_layer_by_hand() {
        let mut builder = Parameters::builder();
        let mlp = Mlp::new(&mut builder, &[2, 2, 1], &mut Random::new(0)).unwrap();
        let mut parameters = builder.build(Kind::Double, Device::Cpu).unwrap();
        // W₁ = 1, b₁ = (0, −5), W₂ = (2, 3), b₂ = 1 at x = (1, 3): ReLU(1, −2) = (1, 0), so 3.
        parameters.assign(&Tensor::from_slice(&[1.0, 0.0, 0.0, 1.0, 0.0, -5.0, 2.0, 3.0, 1.0])).unwrap();
        let logit = mlp.forward(&parameters, &[], &Tensor::from_slice(&[1.0, 3.0]).view([1, 2]), TRAIN).unwrap();
        assert_eq!(Vec::<f64>::try_from(logit.detach()).unwrap(), [3.0]);
    }

    #[test]
    fn bad_widths_are_errors() {
        for widths in [&[][..], &[2], &[2, 0, 1], &[2, 4]] {
            assert!(Mlp::new(&mut Parameters::builder(), widths, &mut Random::new(0)).is_err(), "{widths:?}");
        }
    }
}
