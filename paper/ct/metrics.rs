//! PSNR and SSIM, case by case, on the device.
//!
//! ```text
//! 8 bits:  x ↦ I ⊙ round(255 · min(max(x/255, 0), ½)/½)        PSNR = 20 log₁₀(255/√(mean (x − y)²)), over all pixels
//! SSIM:    mean over windows inside of (2μ_xμ_y + c₁)(2σ_xy + c₂)/((μ_x² + μ_y² + c₁)(σ_x² + σ_y² + c₂))
//! ```
//!
//! with a Gaussian window of 11 pixels and σ = 1.5, c₁ = (0.01 · 255)², c₂ = (0.03 · 255)². As Bai et al. measure: pixels of metal count
//! as equal. libtorch's convolutions in double precision are slow on a CPU: the window is a running mean along each axis,
//!
//! ```text
//! m₀ = x₀,    mₜ = mₜ₋₁ + wₜ/(w₀ + … + wₜ) · (xₜ − mₜ₋₁),    m₁₀ = Σ wₜ xₜ / Σ wₜ
//! ```

use reynolds_torch::tch::{Kind, Tensor};
use reynolds_train::error::Result;

/// Pixels along a side of the window.
const WINDOW: i64 = 11;
const SIGMA: f64 = 1.5;
const WHITE: f64 = 255.0;

/// PSNR in dB of images `[N, 1, H, W]` from 0 to 255 against the truth, outside the metal (`keep` = 1): `[N]` in double precision on the
/// device. Infinite where they are equal.
pub fn psnr(images: &Tensor, truth: &Tensor, keep: &Tensor) -> Result<Tensor> {
    in_parts(images, truth, keep, |x, y| {
        let mean = x.f_sub(y)?.f_square()?.f_mean_dim([1_i64, 2, 3].as_slice(), false, Kind::Double)?;
        Ok(mean.f_reciprocal()?.f_mul_scalar(WHITE * WHITE)?.f_log10()?.f_mul_scalar(10.0)?)
    })
}

/// SSIM of images `[N, 1, H, W]`, of 11 pixels at least along a side, as [`psnr`]: `[N]`.
pub fn ssim(images: &Tensor, truth: &Tensor, keep: &Tensor) -> Result<Tensor> {
    in_parts(images, truth, keep, |x, y| {
        // The variances occur in their sum only: four maps, not five.
        let squares = x.f_square()?.f_add(&y.f_square()?)?;
        let maps = Tensor::f_stack(&[x, y, &squares, &x.f_mul(y)?], 0)?;
        let means = blurred(&blurred(&maps, 3)?, 4)?;
        let [mean_x, mean_y, squares, product] = [0, 1, 2, 3].map(|number| means.select(0, number));
        let of_means = mean_x.f_square()?.f_add(&mean_y.f_square()?)?;
        let of_product = mean_x.f_mul(&mean_y)?;
        let (c1, c2) = ((0.01 * WHITE).powi(2), (0.03 * WHITE).powi(2));
        let above = (&of_product * 2.0 + c1).f_mul(&((product - &of_product) * 2.0 + c2))?;
        let below = (&of_means + c1).f_mul(&(squares - &of_means + c2))?;
        Ok(above.f_div(&below)?.f_mean_dim([1_i64, 2, 3].as_slice(), false, Kind::Double)?)
    })
}

/// `metric` `[n]` of images and truth in eight bits, `[n, 1, H, W]` each: one by one on a CPU, whose cache holds one; all at once on a GPU.
fn in_parts(
    images: &Tensor,
    truth: &Tensor,
    keep: &Tensor,
    metric: impl Fn(&Tensor, &Tensor) -> Result<Tensor>,
) -> Result<Tensor> {
    let together = if images.device().is_cuda() { images.size()[0] } else { 1 };
    let parts = |tensor: &Tensor| tensor.f_expand_as(images)?.f_split(together, 0);
    let each = parts(images)?.into_iter().zip(parts(truth)?).zip(parts(keep)?);
    let each = each.map(|((image, truth), keep)| metric(&eight_bits(&image, &keep)?, &eight_bits(&truth, &keep)?));
    Ok(Tensor::f_cat(&each.collect::<Result<Vec<_>>>()?, 0)?)
}

fn eight_bits(images: &Tensor, keep: &Tensor) -> Result<Tensor> {
    let halves = images.f_to_kind(Kind::Double)?.f_clamp(0.0, WHITE / 2.0)?.f_mul_scalar(2.0)?;
    Ok(halves.f_round()?.f_mul(keep)?)
}

/// Weighted means over the windows inside along an axis, which becomes ten pixels shorter.
fn blurred(maps: &Tensor, axis: usize) -> Result<Tensor> {
    let weight = |tap: i64| (-((tap - WINDOW / 2).pow(2) as f64) / (2.0 * SIGMA * SIGMA)).exp();
    let at = |tap: i64| maps.f_narrow(axis as i64, tap, maps.size()[axis] - WINDOW + 1);
    let mut sum = weight(0) + weight(1);
    let mut mean = at(0)?.f_lerp(&at(1)?, weight(1) / sum)?;
    for tap in 2..WINDOW {
        sum += weight(tap);
        let _ = mean.f_lerp_(&at(tap)?, weight(tap) / sum)?;
    }
    Ok(mean)
}

#[cfg(test)]
mod tests {
    use super::*;
    use reynolds_torch::tch::Device;

    #[test]
    fn constant_images_by_hand() {
        let constant = |value: f64| Tensor::full([1, 1, 12, 12], value, (Kind::Float, Device::Cpu));
        let c1 = 2.55_f64.powi(2);
        for (x, y, psnr_of, ssim_of) in [
            // In eight bits 2 · 30.2 = 60.4 is 60 and 2 · 40.3 is 81: off by 21 everywhere.
            (30.2, 40.3, 20.0 * (255.0_f64 / 21.0).log10(), (2.0 * 60.0 * 81.0 + c1) / (3600.0 + 6561.0 + c1)),
            (30.2, 30.2, f64::INFINITY, 1.0),
            // Whatever lies above half of the scale is white.
            (200.0, 130.0, f64::INFINITY, 1.0),
        ] {
            let found = [psnr, ssim].map(|metric| metric(&constant(x), &constant(y), &constant(1.0)).unwrap());
            for (found, expected) in found.iter().map(|tensor| tensor.double_value(&[0])).zip([psnr_of, ssim_of]) {
                assert!(
                    found == expected || (found - expected).abs() <= 1e-12 * expected.abs().max(1.0),
                    "{x} {y} {found}"
                );
            }
        }
    }
}
