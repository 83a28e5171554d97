//! A convolution of volumes as one of planes, or as a product, with taps folded into channels.
//!
//! ```text
//! x̃[(n, d), (t, c), h, w] = x[n, c, s·d + t − p, h, w]          K ⋆₃ x = K̃ ⋆₂ x̃,    K̃[o, (t, c), y, x] = K[o, c, t, y, x]
//! ```
//!
//! t runs over the k taps along the depth. The copy has k times the numbers of x; in exchange the planar convolutions are the ones that GPU
//! libraries do well. One input channel leaves nothing to fold it with: then all k³ taps are folded, and the rest is a product.
//!
//! On an H200 with torch 2.11, forward and backward for 32 volumes (`docs/gpu-notes.md`): 54 → 192 channels, 5³, 27³: 59 ms as a spatial
//! convolution in TF32, 33 ms folded, 25 ms in bf16; 1 → 246 channels, 7³: 10 ms and 3 ms.

use tch::Tensor;

use super::Window;
use crate::error::Result;

/// K ⋆ x + b, `[N, in, D, H, W]` → `[N, out, D′, H′, W′]` with channels innermost in memory; kernel `[out, in, k, k, k]`.
pub(super) fn convolve(input: &Tensor, kernel: &Tensor, bias: Option<&Tensor>, window: Window) -> Result<Tensor> {
    let innermost = input.f_permute([0, 2, 3, 4, 1])?;
    let output = if input.size()[1] == 1 {
        as_product(&innermost, kernel, bias, window)?
    } else {
        by_planes(&innermost, kernel, bias, window)?
    };
    Ok(output.f_permute([0, 4, 1, 2, 3])?)
}

/// `[N, D, H, W, in]` → `[N, D′, H′, W′, out]`.
fn by_planes(input: &Tensor, kernel: &Tensor, bias: Option<&Tensor>, window: Window) -> Result<Tensor> {
    let [side, stride, padding] = [window.side, window.stride, window.padding].map(|n| n as i64);
    let padded = match padding {
        0 => input.shallow_clone(),
        _ => input.f_constant_pad_nd([0, 0, 0, 0, 0, 0, padding, padding])?,
    };
    let depth = (padded.size()[1] - side).div_euclid(stride) + 1;
    let taps = (0..side).map(|tap| padded.f_slice(1, tap, tap + stride * (depth - 1) + 1, stride));
    let folded = Tensor::f_cat(&taps.collect::<Result<Vec<_>, _>>()?, 4)?;
    let planes = folded.f_flatten(0, 1)?.f_permute([0, 3, 1, 2])?;
    let kernel = kernel.f_permute([0, 3, 4, 2, 1])?.f_flatten(3, 4)?.f_contiguous()?.f_permute([0, 3, 1, 2])?;
    let planes = planes.f_conv2d(&kernel, bias, [stride; 2], [padding; 2], [1; 2], 1)?.f_permute([0, 2, 3, 1])?;
    let size = planes.size();
    Ok(planes.f_reshape([input.size()[0], depth, size[1], size[2], size[3]])?)
}

/// `[N, D, H, W, 1]` → `[N, D′, H′, W′, out]`.
fn as_product(input: &Tensor, kernel: &Tensor, bias: Option<&Tensor>, window: Window) -> Result<Tensor> {
    let [side, stride, padding] = [window.side, window.stride, window.padding].map(|n| n as i64);
    let mut taps = input.f_select(4, 0)?.f_constant_pad_nd([padding; 6])?;
    for axis in 1..=3 {
        taps = taps.f_unfold(axis, side, stride)?;
    }
    let taps = taps.f_flatten(4, 6)?;
    Ok(taps.f_linear(&kernel.f_flatten(1, 4)?, bias)?)
}

#[cfg(test)]
mod tests {
    use tch::Kind;

    use super::*;
    use crate::testing::{largest, normal};

    #[test]
    fn folded_it_is_the_spatial_convolution_with_its_gradients_and_channels_innermost() {
        for (inputs, side, stride, padding) in [
            (1, 3, 1, 0),
            (1, 5, 1, 2),
            (1, 3, 2, 1),
            (3, 5, 1, 2),
            (2, 3, 2, 1),
            (4, 3, 2, 2),
            (2, 3, 1, 0),
            (3, 1, 1, 0),
        ] {
            let random = |shape: &[i64], seed| normal(shape, seed).set_requires_grad(true);
            let volumes = random(&[2, inputs, 6, 7, 8], 1);
            let (kernel, bias) = (random(&[5, inputs, side, side, side], 2), random(&[5], 3));
            let window = Window { side: side as usize, stride, padding };
            let folded = convolve(&volumes, &kernel, Some(&bias), window).unwrap();
            let [steps, zeros] = [stride, padding].map(|n| [n as i64; 3]);
            let spatial = volumes.conv3d(&kernel, Some(&bias), steps, zeros, [1; 3], 1);
            assert_eq!((folded.size(), folded.stride()[1]), (spatial.size(), 1));
            let weights = normal(&spatial.size(), 4);
            let slopes = |output: &Tensor| {
                let loss = (output * &weights).sum(Kind::Double);
                Tensor::run_backward(&[loss], &[&volumes, &kernel, &bias], false, false)
            };
            let pairs = slopes(&folded).into_iter().zip(slopes(&spatial)).chain([(folded.detach(), spatial.detach())]);
            for (found, expected) in pairs {
                assert!(largest(&(found - &expected)) < 1e-13 * largest(&expected).max(1.0));
            }
        }
    }
}
