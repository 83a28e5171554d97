//! What the networks are trained on.
//!
//! ```text
//! Σ_i w_i (mean (I⊙(X_i − X*))² + 5·10⁻⁴ Σ |I⊙(X_i − X*)|) + 5·10⁻⁴ Σ_j v_j Σ |I⊙(A_j − (Y − X*))|
//! ```
//!
//! The inner sums are over pixels and the minibatch, the mean too.
//!
//! | | weight w | | weight v |
//! |---|---|---|---|
//! | X₀, X of each stage | 0.1 | A of each stage | 0.1 |
//! | final X | 1 | A of the last stage | 1 more |
//! | ACDNet: X of the two early stages | 0.1, 1 | A of these | 0.1, 1 |
//!
//! Every stage sends gradient, as in the codes of the networks' authors. In the code of Bai et al. only the last stage does, for the running
//! sums of the others are turned into plain numbers there: a slip, which is not repeated here.

use tch::Tensor;

use super::{Corrupted, Reduction};
use reynolds_torch::error::Result;

/// The weight of a sum of absolute values beside a mean of squares.
const ABSOLUTE: f64 = 5e-4;
/// The weight of a stage beside the final image.
const STAGE: f64 = 0.1;

/// The loss of a reduction of `input`, a scalar on the tape; `truth` is X*, `[N, 1, H, W]`.
pub fn loss(reduction: &Reduction, input: &Corrupted, truth: &Tensor) -> Result<Tensor> {
    let early = [STAGE, 1.0];
    let mut weights = vec![STAGE; reduction.images.len() + 1];
    weights[reduction.images.len()] = 1.0;
    weights.extend_from_slice(&early[..reduction.early_images.len()]);
    let images = [&reduction.start].into_iter().chain(&reduction.images).chain(&reduction.early_images);
    let wrong = errors(images, truth, &input.keep)?;
    let squares = wrong.f_square()?.f_sum_dim_intlist(&PIXELS[..], false, None)?;
    let count = truth.numel() as f64;
    let of_images = squares.f_div_scalar(count)?.f_add(&absolute(&wrong)?)?.f_dot(&like(&weights, truth)?)?;

    let mut weights = vec![STAGE; reduction.artefacts.len()];
    if let Some(last) = weights.last_mut() {
        *last += 1.0;
    }
    weights.extend_from_slice(&early[..reduction.early_artefacts.len()]);
    let artefacts = reduction.artefacts.iter().chain(&reduction.early_artefacts);
    let wrong = errors(artefacts, &input.image.f_sub(truth)?, &input.keep)?;
    Ok(absolute(&wrong)?.f_dot(&like(&weights, truth)?)?.f_add(&of_images)?)
}

/// Minibatch, height and width.
const PIXELS: [i64; 3] = [0, 2, 3];

/// I⊙(X_i − X*) of all, `[N, i, H, W]`.
fn errors<'a>(images: impl Iterator<Item = &'a Tensor>, truth: &Tensor, keep: &Tensor) -> Result<Tensor> {
    let images: Vec<&Tensor> = images.collect();
    Ok(Tensor::f_cat(&images, 1)?.f_sub(truth)?.f_mul(keep)?)
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
