//! A convolution of volumes.
//!
//! ```text
//! y = K ⋆ x + b      K ∈ ℝ^{out × in × k × k × k}, zeros around x, stride and padding the same along each axis
//! ```

use reynolds::random::Random;
use serde::{Deserialize, Serialize};
use tch::Tensor;

use super::conv2d::weight_and_bias;
use super::folded_conv3d;
use crate::error::Result;
use crate::parameters::{Builder, Parameters};
use crate::precision::Precision;

/// How the features of volumes lie in memory on CUDA, where convolutions follow the layout of their kernels; on the CPU always by planes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Layout {
    /// `[N, D, H, W, C]`.
    #[default]
    Channels,
    /// `[N, C, D, H, W]`.
    Planes,
}

impl Layout {
    /// A kernel `[out, in, k, k, k]` in this layout and `precision`, on the tape if it is: one copy, or none.
    pub fn kernel(self, kernel: &Tensor, precision: Precision) -> Result<Tensor> {
        match self {
            // Copied even where there is one input channel: the strides tell libtorch the layout.
            Self::Channels => Ok(precision.copy(&kernel.f_permute([0, 2, 3, 4, 1])?)?.f_permute([0, 4, 1, 2, 3])?),
            Self::Planes => precision.cast(kernel),
        }
    }
}

/// The window of a convolution.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Window {
    /// k.
    pub side: usize,
    /// Voxels from one output to the next.
    pub stride: usize,
    /// Zeros on either side.
    pub padding: usize,
}

/// `[N, in, D, H, W]` → `[N, out, D′, H′, W′]`.
#[derive(Debug, Clone)]
pub struct Conv3d {
    weight: String,
    bias: String,
    window: Window,
}

impl Conv3d {
    /// Adds `name.weight`, `[out, in, k, k, k]`, and `name.bias`, `[out]`, both uniform in ±1/√(in k³), as PyTorch begins.
    pub fn new(
        builder: &mut Builder,
        name: &str,
        [inputs, outputs]: [usize; 2],
        window: Window,
        random: &mut Random,
    ) -> Result<Self> {
        let side = window.side;
        let [weight, bias] = weight_and_bias(builder, name, &[outputs, inputs, side, side, side], random)?;
        Ok(Self { weight, bias, window })
    }

    /// Name of K.
    pub fn weight(&self) -> &str {
        &self.weight
    }

    /// Name of b.
    pub fn bias(&self) -> &str {
        &self.bias
    }

    /// k, stride and padding.
    pub fn window(&self) -> Window {
        self.window
    }

    /// K in layout and precision, and b in the same precision, on the tape.
    pub fn assemble(&self, parameters: &Parameters, layout: Layout, precision: Precision) -> Result<[Tensor; 2]> {
        let kernel = layout.kernel(&parameters.get(&self.weight)?, precision)?;
        Ok([kernel, precision.cast(&parameters.get(&self.bias)?)?])
    }

    /// K ⋆ x + b, or K ⋆ x.
    pub fn forward(&self, kernel: &Tensor, bias: Option<&Tensor>, input: &Tensor) -> Result<Tensor> {
        convolve3d(input, kernel, bias, self.window)
    }
}

/// K ⋆ x + b with a kernel `[out, in, k, k, k]`; on CUDA with taps folded into channels where the kernel has channels innermost.
pub(crate) fn convolve3d(input: &Tensor, kernel: &Tensor, bias: Option<&Tensor>, window: Window) -> Result<Tensor> {
    if input.device().is_cuda() && kernel.stride()[1] == 1 && window.side > 1 {
        return folded_conv3d::convolve(input, kernel, bias, window);
    }
    let [stride, padding] = [window.stride, window.padding].map(|n| [n as i64; 3]);
    Ok(input.f_conv3d(kernel, bias, stride, padding, [1, 1, 1], 1)?)
}

#[cfg(test)]
mod tests {
    use tch::Kind;

    use super::*;
    use crate::testing::{built, normal};

    #[test]
    fn a_convolution_by_hand_with_zeros_around() {
        let window = Window { side: 2, stride: 2, padding: 1 };
        let (layer, mut parameters) = built(|builder| Conv3d::new(builder, "c", [1, 1], window, &mut Random::new(0)));
        let numbers: Vec<f64> = (1..=8).map(f64::from).collect();
        parameters.assign(&Tensor::from_slice(&[&numbers[..], &[0.5]].concat())).unwrap();
        let input = Tensor::from_slice(&numbers).view([1, 1, 2, 2, 2]);
        let [kernel, bias] = layer.assemble(&parameters, Layout::Channels, Precision::F32).unwrap();
        let output = layer.forward(&kernel, Some(&bias), &input).unwrap();
        // Every window sees one voxel: that of the corner opposite in the kernel.
        let expected: Vec<f64> = (0..8).map(|at| numbers[at] * numbers[7 - at] + 0.5).collect();
        assert_eq!(Vec::<f64>::try_from(output.detach().view([-1])).unwrap(), expected);
    }

    #[test]
    fn channels_innermost_are_the_same_kernel_with_the_same_gradient() {
        let kernel = normal(&[2, 3, 2, 2, 2], 1).set_requires_grad(true);
        let copy = Layout::Channels.kernel(&kernel, Precision::F32).unwrap();
        assert_eq!((copy.stride()[1], copy.stride()[4]), (1, 3));
        assert_eq!(copy, kernel);
        let factor = normal(&[2, 3, 2, 2, 2], 2);
        let gradient = Tensor::run_backward(&[(copy * &factor).sum(Kind::Double)], &[&kernel], false, false);
        assert_eq!(gradient[0], factor);
        // One input channel, too, says that it is innermost.
        let single = Layout::Channels.kernel(&kernel.narrow(1, 0, 1), Precision::Bf16).unwrap();
        assert_eq!((single.stride(), single.kind()), (vec![8, 1, 4, 2, 1], Kind::BFloat16));
    }
}
