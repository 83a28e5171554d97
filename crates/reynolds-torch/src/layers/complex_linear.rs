//! A dense complex linear map without bias.
//!
//! ```text
//! y = W x,    W ∈ ℂ^{out × in}
//! ```
//!
//! A bias on a channel that turns would break the symmetry, so there is none.

use reynolds::random::Random;
use tch::Tensor;

use crate::error::Result;
use crate::parameters::{Builder, Parameters};

/// `[N, in]` → `[N, out]`, complex.
#[derive(Debug, Clone)]
pub struct ComplexLinear {
    name: String,
}

impl ComplexLinear {
    /// Adds `name`, `[out, in]`, with real and imaginary parts drawn from N(0, 1/(2·in)): |y|² is |x|²·out/in on average.
    pub fn new(builder: &mut Builder, name: &str, inputs: usize, outputs: usize, random: &mut Random) -> Result<Self> {
        let scale = (0.5 / inputs as f64).sqrt();
        let values: Vec<(f64, f64)> =
            (0..inputs * outputs).map(|_| (scale * random.normal(), scale * random.normal())).collect();
        builder.complex(name, &[outputs, inputs], &values)?;
        Ok(Self { name: name.into() })
    }

    /// The name of W.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// W, `[out, in]`, on the tape.
    pub fn weight(&self, parameters: &Parameters) -> Result<Tensor> {
        parameters.get(&self.name)
    }

    /// x Wᵀ.
    pub fn forward(&self, parameters: &Parameters, input: &Tensor) -> Result<Tensor> {
        apply(&self.weight(parameters)?, input)
    }
}

/// x Wᵀ, as (W xᵀ)ᵀ: where the rows of xᵀ lie one after the other, as those of the result do, the tape's products read their factors
/// conjugated in place, and what goes on channel by channel runs along the N numbers of each.
pub fn apply(weight: &Tensor, input: &Tensor) -> Result<Tensor> {
    Ok(weight.f_mm(&input.f_transpose(0, 1)?)?.f_transpose(0, 1)?)
}

#[cfg(test)]
mod tests {
    use tch::Kind;

    use super::*;
    use crate::testing::{built, largest, normal};

    fn layer(inputs: usize, outputs: usize) -> (ComplexLinear, Parameters) {
        built(|builder| ComplexLinear::new(builder, "w", inputs, outputs, &mut Random::new(3)))
    }

    /// Not the Hermitian one: W is not conjugated.
    #[test]
    fn both_orders_of_memory_have_one_product_and_one_gradient() {
        let (layer, parameters) = layer(6, 4);
        let input = Tensor::complex(&normal(&[5, 6], 1), &normal(&[5, 6], 2));
        let turned = input.transpose(0, 1).contiguous().transpose(0, 1);
        let product = || input.matmul(&layer.weight(&parameters).unwrap().transpose(0, 1));
        let gradient = |output: &Tensor| parameters.gradient(&output.abs().square().sum(Kind::Double)).unwrap();
        for input in [&input, &turned] {
            let output = layer.forward(&parameters, input).unwrap();
            assert!(largest(&(&output - product())) < 1e-14);
            assert!(largest(&(gradient(&output) - gradient(&product()))) < 1e-13);
        }
    }

    #[test]
    fn initial_weights_have_half_their_variance_in_each_part() {
        let (layer, parameters) = layer(50, 400);
        let weight = layer.weight(&parameters).unwrap().detach();
        // 20,000 samples: the variance is known to 1 %; five times that is allowed.
        for part in [weight.real(), weight.imag()] {
            let variance = part.square().mean(Kind::Double).double_value(&[]);
            assert!((variance * 100.0 - 1.0).abs() < 0.05, "{variance}");
        }
    }
}
