//! A convolution with a kernel of its own at every pixel.
//!
//! ```text
//! y_o(p) = Σ_{d,i} w[p, o, d, i] x_i(p + d)      d over k × k offsets, k odd, zeros around the image, no bias
//! ```
//!
//! One product of matrices a pixel, in one batch: kernels `[out, k²·in]` on patches `[k²·in, N]`. Kernels and features have the pixel
//! outermost in memory, so that only the patches are copied, k² times the input.

use super::*;

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
        new: &mut Construction<'_>,
        name: &str,
        [inputs, outputs]: [usize; 2],
        kernel: usize,
    ) -> Result<Self> {
        let (weight, side) = (format!("{name}.weight"), new.frames.side);
        new.uniform(&weight, &[side, side, outputs, kernel, kernel, inputs], inputs * kernel * kernel)?;
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
