//! K-nets: how the kernels of a sample are mixed from the atoms of a dictionary.
//!
//! ```text
//! k ← ReLU(k + W₂ ReLU(W₁k + b₁) + b₂)      k ∈ ℝ^{C·d};   then each of the C rows is divided by its norm + 1e-6
//! ```
//!
//! The scale of the input does not matter: it may be a sum over all pixels. The published threshold is in no equation, but counts as a
//! parameter.

use reynolds::random::Random;
use reynolds_torch::error::Result;
use reynolds_torch::layers::Linear;
use reynolds_torch::parameters::{Builder, Parameters};
use tch::{Kind, Tensor};

#[derive(Debug)]
pub(super) struct KNet {
    first: Linear,
    second: Linear,
}

impl KNet {
    /// Adds `k.number.0.…`, `k.number.1.…` and `k.number.threshold` for `width` = C·d coefficients.
    pub(super) fn new(builder: &mut Builder, number: usize, width: usize, random: &mut Random) -> Result<Self> {
        let mut linear = |half: usize| Linear::new(builder, &format!("k.{number}.{half}"), width, width, random);
        let (first, second) = (linear(0)?, linear(1)?);
        builder.real(&format!("k.{number}.threshold"), &[width], &vec![0.0; width])?;
        Ok(Self { first, second })
    }

    /// Coefficients `[N, C, d]` → the same, none negative, each row of norm 1 or all zero.
    pub(super) fn forward(&self, parameters: &Parameters, coefficients: &Tensor) -> Result<Tensor> {
        let flat = coefficients.f_flatten(1, 2)?;
        let hidden = self.first.forward(parameters, &flat)?.f_relu()?;
        let moved = self.second.forward(parameters, &hidden)?.f_add(&flat)?.f_relu()?.f_view_as(coefficients)?;
        // The gradient of this norm is zero at zero.
        let norms = moved.f_linalg_norm(2.0, [2].as_slice(), true, None::<Kind>)?.f_add_scalar(1e-6)?;
        Ok(moved.f_div(&norms)?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::largest;
    use tch::Device;

    #[test]
    fn rows_have_norm_one_whatever_the_scale_and_rows_of_zeros_have_a_gradient() {
        let mut builder = Parameters::builder();
        let net = KNet::new(&mut builder, 0, 6, &mut Random::new(1)).unwrap();
        let mut parameters = builder.build(Kind::Double, Device::Cpu).unwrap();
        assert_eq!(parameters.len(), 2 * (36 + 6) + 6);
        // The residual part is small beside 1e6: the second row of the second sample is negative, and becomes zero.
        let values = [3.0, 4.0, -1.0, 1.0, 0.0, 2.0, 1.0, 2.0, 2.0, -1.0, -2.0, -2.0].map(|value| value * 1e6);
        let quiet = parameters.flat() * 1e-3;
        parameters.assign(&quiet).unwrap();
        let output = net.forward(&parameters, &Tensor::from_slice(&values).view([2, 2, 3])).unwrap();
        let norms = output.square().sum_dim_intlist([2].as_slice(), false, Kind::Double);
        assert!(largest(&norms - &Tensor::from_slice(&[1.0, 1.0, 1.0, 0.0]).view([2, 2])) < 1e-9);
        assert!((output.double_value(&[0, 0, 0]) - 0.6).abs() < 1e-2);
        let gradient = parameters.gradient(&output.square().sum(Kind::Double)).unwrap();
        assert!(f64::try_from(gradient.isfinite().all().to_kind(Kind::Double)).unwrap() == 1.0);
    }
}
