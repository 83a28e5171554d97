//! A dense real linear map with a bias.
//!
//! ```text
//! y = W x + b,    W ∈ ℝ^{out × in},  b ∈ ℝ^{out}
//! ```

use reynolds::random::Random;
use tch::Tensor;

use crate::error::Result;
use crate::parameters::{Builder, Parameters};

/// `[N, in]` → `[N, out]`, real.
///
/// ```
/// use reynolds::random::Random;
/// use reynolds_torch::{Parameters, layers::Linear, tch::{Device, Kind, Tensor}};
/// let mut builder = Parameters::builder();
/// let layer = Linear::new(&mut builder, "head", 16, 1, &mut Random::new(0))?;
/// let parameters = builder.build(Kind::Float, Device::Cpu)?;
/// let output = layer.forward(&parameters, &Tensor::ones([5, 16], (Kind::Float, Device::Cpu)))?;
/// assert_eq!(output.size(), [5, 1]);
/// # Ok::<(), reynolds_torch::Error>(())
/// ```
#[derive(Debug, Clone)]
pub struct Linear {
    weight: String,
    bias: String,
}

impl Linear {
    /// Adds `name.weight`, `[out, in]`, and `name.bias`, `[out]`, both uniform in ±1/√in, as PyTorch begins.
    pub fn new(builder: &mut Builder, name: &str, inputs: usize, outputs: usize, random: &mut Random) -> Result<Self> {
        let bound = 1.0 / (inputs as f64).sqrt();
        let mut draw =
            |count: usize| -> Vec<f64> { (0..count).map(|_| bound * (2.0 * random.uniform() - 1.0)).collect() };
        let layer = Self { weight: format!("{name}.weight"), bias: format!("{name}.bias") };
        builder.real(&layer.weight, &[outputs, inputs], &draw(inputs * outputs))?;
        builder.real(&layer.bias, &[outputs], &draw(outputs))?;
        Ok(layer)
    }

    /// x Wᵀ + b.
    pub fn forward(&self, parameters: &Parameters, input: &Tensor) -> Result<Tensor> {
        Ok(input.f_linear(&parameters.get(&self.weight)?, Some(parameters.get(&self.bias)?))?)
    }
}

#[cfg(test)]
mod tests {
    use tch::{Device, Kind};

    use super::*;

    #[test]
    fn a_row_by_hand() {
        let mut builder = Parameters::builder();
        builder.real("l.weight", &[2, 2], &[1.0, 2.0, 3.0, 4.0]).unwrap();
        builder.real("l.bias", &[2], &[10.0, 20.0]).unwrap();
        let layer = Linear { weight: "l.weight".into(), bias: "l.bias".into() };
        let parameters = builder.build(Kind::Double, Device::Cpu).unwrap();
        let output = layer.forward(&parameters, &Tensor::from_slice(&[1.0, -1.0]).view([1, 2])).unwrap();
        assert_eq!(Vec::<f64>::try_from(output.detach().view([-1])).unwrap(), [9.0, 19.0]);
    }

    #[test]
    fn initial_weights_fill_their_range() {
        let mut builder = Parameters::builder();
        let layer = Linear::new(&mut builder, "l", 25, 40, &mut Random::new(1)).unwrap();
        let parameters = builder.build(Kind::Double, Device::Cpu).unwrap();
        let values = Vec::<f64>::try_from(parameters.get(&layer.weight).unwrap().detach().view([-1])).unwrap();
        assert!(values.iter().all(|value| value.abs() <= 0.2) && values.iter().any(|value| value.abs() > 0.19));
    }
}
