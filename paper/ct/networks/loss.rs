//! What the networks are trained on.
//!
//! ```text
//! Σ_i w_i (mean (I⊙(X_i − X*))² + 5·10⁻⁴ Σ |I⊙(X_i − X*)|) + 5·10⁻⁴ Σ_j v_j Σ |I⊙(A_j − (Y − X*))|
//! ```
//!
//! Inner sums and the mean are over pixels and the minibatch.
//!
//! | | weight w | | weight v |
//! |---|---|---|---|
//! | X₀, X of each stage | 0.1 | A of each stage | 0.1 |
//! | final X | 1 | A of the last stage | 1 more |
//! | ACDNet: X of the two early stages | 0.1, 1 | A of these | 0.1, 1 |
//!
//! Every stage sends gradient, as in the codes of the networks' authors; in that of Bai et al., by a slip, only the last one does.

use std::borrow::Borrow;

use super::{Corrupted, Reduction};
use reynolds_torch::error::Result;
use tch::Tensor;

/// The weight of a sum of absolute values beside a mean of squares.
const ABSOLUTE: f64 = 5e-4;
/// The weight of a stage beside the final image.
const STAGE: f64 = 0.1;

/// The loss of a reduction of `input`, a scalar on the tape; `truth` is X*, `[N, 1, H, W]`.
pub fn loss(reduction: &Reduction, input: &Corrupted, truth: &Tensor) -> Result<Tensor> {
    let mut of_stages = vec![STAGE; reduction.artefacts.len()];
    if reduction.early > 0 {
        of_stages[reduction.early - 1] = 1.0;
    }
    let weights = [&[STAGE], &of_stages[..], &[1.0]].concat();
    let images: Vec<&Tensor> = [&reduction.start].into_iter().chain(&reduction.images).collect();
    let wrong = errors(&images, truth, &input.keep)?;
    let squares = wrong.f_square()?.f_sum_dim_intlist(&PIXELS[..], false, None)?;
    let count = truth.numel() as f64;
    let of_images = squares.f_div_scalar(count)?.f_add(&absolute(&wrong)?)?.f_dot(&like(&weights, truth)?)?;

    if let Some(last) = of_stages.last_mut() {
        *last += 1.0;
    }
    let wrong = errors(&reduction.artefacts, &input.image.f_sub(truth)?, &input.keep)?;
    Ok(absolute(&wrong)?.f_dot(&like(&of_stages, truth)?)?.f_add(&of_images)?)
}

/// Minibatch, height and width.
const PIXELS: [i64; 3] = [0, 2, 3];

/// I⊙(X_i − X*) of all, `[N, i, H, W]`.
fn errors<T: Borrow<Tensor>>(images: &[T], truth: &Tensor, keep: &Tensor) -> Result<Tensor> {
    Ok(Tensor::f_cat(images, 1)?.f_sub(truth)?.f_mul(keep)?)
}

/// 5·10⁻⁴ Σ|·| of each, `[i]`.
fn absolute(wrong: &Tensor) -> Result<Tensor> {
    Ok(wrong.f_abs()?.f_sum_dim_intlist(&PIXELS[..], false, None)?.f_mul_scalar(ABSOLUTE)?)
}

/// Weights of a few numbers, made where `like` is: a copy from the host would wait for the device.
fn like(weights: &[f64], like: &Tensor) -> Result<Tensor> {
    let tensor = Tensor::f_full([weights.len() as i64], STAGE, (like.kind(), like.device()))?;
    for (number, &weight) in (0..).zip(weights).filter(|(_, weight)| **weight != STAGE) {
        let _ = tensor.f_narrow(0, number, 1)?.f_fill_(weight)?;
    }
    Ok(tensor)
}
