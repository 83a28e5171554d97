//! A planar convolution that keeps the side of its input.
//!
//! ```text
//! y = K ⋆ x + b      K ∈ ℝ^{out × in × k × k}, k odd, zero padding (k − 1)/2, stride 1
//! ```

use reynolds::random::Random;
use tch::Tensor;

use crate::error::Result;
use crate::parameters::{Builder, Parameters};

/// `[N, in, H, W]` → `[N, out, H, W]`.
#[derive(Debug, Clone)]
pub struct Conv2d {
    weight: String,
    bias: String,
}

impl Conv2d {
    /// Adds `name.weight`, `[out, in, k, k]`, and `name.bias`, `[out]`, both uniform in ±1/√(in k²), as PyTorch begins.
    pub fn new(
        builder: &mut Builder,
        name: &str,
        [inputs, outputs]: [usize; 2],
        side: usize,
        random: &mut Random,
    ) -> Result<Self> {
        let [weight, bias] = weight_and_bias(builder, name, &[outputs, inputs, side, side], random)?;
        Ok(Self { weight, bias })
    }

    /// K, on the tape, channels innermost in memory.
    pub fn kernel(&self, parameters: &Parameters) -> Result<Tensor> {
        kernel_layout(parameters.get(&self.weight)?)
    }

    /// K ⋆ x + b with K from [`Conv2d::kernel`].
    pub fn forward(&self, parameters: &Parameters, kernel: &Tensor, input: &Tensor) -> Result<Tensor> {
        convolve(input, kernel, Some(&parameters.get(&self.bias)?), 1)
    }
}

/// Adds `name.weight` of a shape `[out, in, k…]` and `name.bias`, `[out]`, both uniform in ±1/√(in k…), as PyTorch begins; their names.
pub(super) fn weight_and_bias(
    builder: &mut Builder,
    name: &str,
    shape: &[usize],
    random: &mut Random,
) -> Result<[String; 2]> {
    let seen: usize = shape[1..].iter().product();
    let bound = 1.0 / (seen as f64).sqrt();
    let names = ["weight", "bias"].map(|part| format!("{name}.{part}"));
    builder.real(&names[0], shape, &uniform(shape[0] * seen, bound, random))?;
    builder.real(&names[1], &shape[..1], &uniform(shape[0], bound, random))?;
    Ok(names)
}

/// `count` numbers, uniform in ±bound.
pub fn uniform(count: usize, bound: f64, random: &mut Random) -> Vec<f64> {
    (0..count).map(|_| bound * (2.0 * random.uniform() - 1.0)).collect()
}

/// Convolution with zero padding that keeps the side; `kernel` is `[out, in / groups, k, k]`, k odd.
pub fn convolve(input: &Tensor, kernel: &Tensor, bias: Option<&Tensor>, groups: i64) -> Result<Tensor> {
    let padding = (kernel.size().last().copied().unwrap_or(1) - 1) / 2;
    Ok(input.f_conv2d(kernel, bias, [1, 1], [padding, padding], [1, 1], groups)?)
}

/// A kernel `[out, in, k, k]` with channels innermost in memory: convolutions follow the layout of their kernel and are fastest so, by 1.14
/// for training steps of the networks that forecast smoke on two cores of an AMD EPYC.
pub fn kernel_layout(kernel: Tensor) -> Result<Tensor> {
    Ok(kernel.f_permute([0, 2, 3, 1])?.f_contiguous()?.f_permute([0, 3, 1, 2])?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{built, largest};

    #[test]
    fn a_convolution_by_hand_with_zeros_around() {
        let (layer, mut parameters) = built(|builder| Conv2d::new(builder, "c", [1, 1], 3, &mut Random::new(0)));
        parameters.assign(&Tensor::from_slice(&[0.0, 1.0, 0.0, 2.0, 3.0, 4.0, 0.0, 5.0, 0.0, 0.5])).unwrap();
        let input = Tensor::from_slice(&[1.0, 2.0, 3.0, 4.0]).view([1, 1, 2, 2]);
        let output = layer.forward(&parameters, &layer.kernel(&parameters).unwrap(), &input).unwrap();
        // Top left: 3·1 + 4·2 + 5·3 + b; bottom right: 1·2 + 2·3 + 3·4 + b.
        let expected = [26.5, 28.5, 26.5, 20.5];
        assert_eq!(Vec::<f64>::try_from(output.detach().view([-1])).unwrap(), expected);
    }

    #[test]
    fn counts_and_ranges_are_those_of_pytorch() {
        for (shape, seen) in [(&[40, 25][..], 25), (&[6, 4, 3, 3], 36), (&[6, 4, 3, 3, 3], 108)] {
            let (_, parameters) = built(|builder| weight_and_bias(builder, "c", shape, &mut Random::new(1)));
            assert_eq!(parameters.len(), shape[0] * (seen + 1));
            let (found, bound) = (largest(&parameters.get("c.weight").unwrap()), 1.0 / (seen as f64).sqrt());
            assert!((0.95 * bound..bound).contains(&found), "{found}");
        }
    }
}
