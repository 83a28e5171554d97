//! A dense real linear map with a bias.
//!
//! ```text
//! y = W x + b,    W ∈ ℝ^{out × in},  b ∈ ℝ^{out}
//! ```

use reynolds::random::Random;
use tch::Tensor;

use super::conv2d::weight_and_bias;
use crate::error::Result;
use crate::parameters::{Builder, Parameters};

/// `[N, in]` → `[N, out]`, real.
#[derive(Debug, Clone)]
pub struct Linear {
    weight: String,
    bias: String,
}

impl Linear {
    /// Adds `name.weight`, `[out, in]`, and `name.bias`, `[out]`, both uniform in ±1/√in, as PyTorch begins.
    pub fn new(builder: &mut Builder, name: &str, inputs: usize, outputs: usize, random: &mut Random) -> Result<Self> {
        let [weight, bias] = weight_and_bias(builder, name, &[outputs, inputs], random)?;
        Ok(Self { weight, bias })
    }

    /// x Wᵀ + b.
    pub fn forward(&self, parameters: &Parameters, input: &Tensor) -> Result<Tensor> {
        Ok(input.f_linear(&parameters.get(&self.weight)?, Some(parameters.get(&self.bias)?))?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::built;

    #[test]
    fn a_row_by_hand() {
        let (layer, mut parameters) = built(|builder| Linear::new(builder, "l", 2, 2, &mut Random::new(0)));
        parameters.assign(&Tensor::from_slice(&[1.0, 2.0, 3.0, 4.0, 10.0, 20.0])).unwrap();
        let output = layer.forward(&parameters, &Tensor::from_slice(&[1.0, -1.0]).view([1, 2])).unwrap();
        assert_eq!(Vec::<f64>::try_from(output.detach().view([-1])).unwrap(), [9.0, 19.0]);
    }
}
