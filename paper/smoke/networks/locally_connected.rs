//! A convolution with a kernel of its own at every pixel.
//!
//! ```text
//! y_o(p) = Σ_{d,i} w[p, o, d, i] x_i(p + d)      d over k × k offsets, k odd, zeros around the image, no bias
//! ```
//!
//! One product of matrices a pixel, in one batch: kernels `[out, k²·in]` on patches `[k²·in, N]`. Kernels and features have the pixel
//! outermost in memory, so that only the patches are copied, k² times the input.

use reynolds::random::Random;
use tch::Tensor;

use reynolds_torch::error::Result;
use reynolds_torch::layers::uniform;
use reynolds_torch::parameters::{Builder, Parameters};

/// `[H, W, in, N]` → `[H, W, out, N]`, see [`LocallyConnected::pixels_first`].
#[derive(Debug, Clone)]
pub(crate) struct LocallyConnected {
    weight: String,
    inputs: i64,
    outputs: i64,
    kernel: i64,
    side: i64,
}

impl LocallyConnected {
    /// Adds `name.weight`, `[H, W, out, k, k, in]` with H = W = `side`, uniform in ±1/√(in k²).
    pub(crate) fn new(
        builder: &mut Builder,
        name: &str,
        [inputs, outputs]: [usize; 2],
        kernel: usize,
        side: usize,
        random: &mut Random,
    ) -> Result<Self> {
        let weight = format!("{name}.weight");
        let bound = 1.0 / ((inputs * kernel * kernel) as f64).sqrt();
        let numbers = uniform(Self::count([inputs, outputs], kernel, side), bound, random);
        builder.real(&weight, &[side, side, outputs, kernel, kernel, inputs], &numbers)?;
        let [inputs, outputs, kernel, side] = [inputs, outputs, kernel, side].map(|size| size as i64);
        Ok(Self { weight, inputs, outputs, kernel, side })
    }

    pub(crate) fn count([inputs, outputs]: [usize; 2], kernel: usize, side: usize) -> usize {
        inputs * outputs * kernel * kernel * side * side
    }

    /// w, on the tape, `[H, W, out, k, k, in]`.
    pub(crate) fn weight(&self, parameters: &Parameters) -> Result<Tensor> {
        parameters.get(&self.weight)
    }

    pub(crate) fn forward(&self, parameters: &Parameters, input: &Tensor) -> Result<Tensor> {
        let Self { inputs, outputs, kernel, side, .. } = *self;
        let (margin, pixels, taps) = ((kernel - 1) / 2, side * side, kernel * kernel * inputs);
        let samples = input.size().last().copied().unwrap_or(1);
        let padded = input.f_constant_pad_nd([0, 0, 0, 0, margin, margin, margin, margin])?;
        // [H, W, in, N, k, k], a view, and its one copy.
        let patches = padded.f_unfold(0, kernel, 1)?.f_unfold(1, kernel, 1)?;
        let patches = patches.f_permute([0, 1, 4, 5, 2, 3])?.f_reshape([pixels, taps, samples])?;
        let kernels = self.weight(parameters)?.f_view([pixels, outputs, taps])?;
        Ok(kernels.f_bmm(&patches)?.f_view([side, side, outputs, samples])?)
    }

    /// Images `[N, C, H, W]` as this layer takes them, `[H, W, C, N]`.
    pub(crate) fn pixels_first(images: &Tensor) -> Result<Tensor> {
        Ok(images.f_permute([2, 3, 1, 0])?.f_contiguous()?)
    }

    /// Back to images `[N, C, H, W]`.
    pub(crate) fn images(features: &Tensor) -> Result<Tensor> {
        Ok(features.f_permute([3, 2, 0, 1])?)
    }
}

#[cfg(test)]
mod tests {
    use tch::{Device, Kind};

    use super::*;
    use reynolds_torch::layers::convolve;

    fn layer() -> (LocallyConnected, Parameters) {
        let mut builder = Parameters::builder();
        let layer = LocallyConnected::new(&mut builder, "l", [3, 2], 3, 4, &mut Random::new(5)).unwrap();
        (layer, builder.build(Kind::Double, Device::Cpu).unwrap())
    }

    fn images() -> Tensor {
        let mut random = Random::new(6);
        let numbers: Vec<f64> = (0..2 * 3 * 16).map(|_| random.normal()).collect();
        Tensor::from_slice(&numbers).view([2, 3, 4, 4])
    }

    #[test]
    fn at_each_pixel_it_is_the_convolution_with_that_pixels_kernel() {
        let (layer, parameters) = layer();
        let images = images();
        let input = LocallyConnected::pixels_first(&images).unwrap();
        let ours = LocallyConnected::images(&layer.forward(&parameters, &input).unwrap()).unwrap();
        for (y, x) in [(0, 0), (1, 2), (3, 0), (3, 3)] {
            let kernel = layer.weight(&parameters).unwrap().get(y).get(x).permute([0, 3, 1, 2]);
            let expected = convolve(&images, &kernel, None, 1).unwrap();
            let difference = (&ours - &expected).narrow(2, y, 1).narrow(3, x, 1).abs().max();
            assert!(f64::try_from(difference).unwrap() < 1e-13, "at ({y}, {x})");
        }
        assert_eq!(ours.size(), [2, 2, 4, 4]);
    }
}
