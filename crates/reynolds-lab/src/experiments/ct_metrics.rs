//! How near an image comes to the truth: PSNR and SSIM, case by case, on the device.
//!
//! ```text
//! 8 bits:  x ↦ I ⊙ round(255 · min(max(x/255, 0), ½)/½)        PSNR = 20 log₁₀(255/√(mean (x − y)²)), over all pixels
//! SSIM:    mean over windows inside of (2μ_xμ_y + c₁)(2σ_xy + c₂)/((μ_x² + μ_y² + c₁)(σ_x² + σ_y² + c₂))
//! ```
//!
//! with a Gaussian window of 11 pixels and σ = 1.5, c₁ = (0.01 · 255)², c₂ = (0.03 · 255)². As Bai et al. measure: pixels of metal count
//! as equal. In double precision: CUDA rounds convolutions of single precision to ten bits.

use reynolds_torch::tch::{Device, Kind, Tensor};

use crate::error::Result;

/// Pixels along a side of the window.
const WINDOW: i64 = 11;

/// The width of the window.
const SIGMA: f64 = 1.5;

/// The largest number of eight bits.
const WHITE: f64 = 255.0;

/// PSNR in dB of images `[N, 1, H, W]` from 0 to 255 against the truth, outside the metal (`keep` = 1): `[N]` in double precision on the
/// device. Infinite where they are equal.
///
/// # Errors
/// If the shapes differ or the device has no room.
pub fn psnr(images: &Tensor, truth: &Tensor, keep: &Tensor) -> Result<Tensor> {
    let difference = eight_bits(images, keep)?.f_sub(&eight_bits(truth, keep)?)?;
    let mean = difference.f_square()?.f_mean_dim([1_i64, 2, 3].as_slice(), false, Kind::Double)?;
    Ok(mean.f_reciprocal()?.f_mul_scalar(WHITE * WHITE)?.f_log10()?.f_mul_scalar(10.0)?)
}

/// SSIM of images `[N, 1, H, W]`, of 11 pixels at least along a side, as [`psnr`]: `[N]`.
///
/// # Errors
/// As [`psnr`].
pub fn ssim(images: &Tensor, truth: &Tensor, keep: &Tensor) -> Result<Tensor> {
    let (x, y) = (eight_bits(images, keep)?, eight_bits(truth, keep)?);
    let maps = [x.f_square()?, y.f_square()?, x.f_mul(&y)?];
    let maps = Tensor::f_cat(&[&x, &y, &maps[0], &maps[1], &maps[2]], 1)?;
    let [mean_x, mean_y, square_x, square_y, product] = blurred(&maps)?;
    let (xx, yy, xy) = (mean_x.f_square()?, mean_y.f_square()?, mean_x.f_mul(&mean_y)?);
    let (c1, c2) = ((0.01 * WHITE).powi(2), (0.03 * WHITE).powi(2));
    let above = (&xy * 2.0 + c1).f_mul(&((product - &xy) * 2.0 + c2))?;
    let below = (&xx + &yy + c1).f_mul(&(square_x - xx + square_y - yy + c2))?;
    Ok(above.f_div(&below)?.f_mean_dim([1_i64, 2].as_slice(), false, Kind::Double)?)
}

fn eight_bits(images: &Tensor, keep: &Tensor) -> Result<Tensor> {
    let halves = images.f_to_kind(Kind::Double)?.f_clamp(0.0, WHITE / 2.0)?.f_mul_scalar(2.0)?;
    Ok(halves.f_round()?.f_mul(keep)?)
}

/// Weighted means over the windows inside, `[N, H − 10, W − 10]` of each of the five maps `[N, 5, H, W]`.
fn blurred(maps: &Tensor) -> Result<[Tensor; 5]> {
    let [count, _, height, width] = maps.size()[..] else { unreachable!("five maps were put side by side") };
    let window = window(maps.device())?;
    let flat = maps.f_view([-1, 1, height, width])?;
    let rows = flat.f_conv2d(&window.f_view([1, 1, WINDOW, 1])?, None::<Tensor>, [1, 1], [0, 0], [1, 1], 1)?;
    let both = rows.f_conv2d(&window.f_view([1, 1, 1, WINDOW])?, None::<Tensor>, [1, 1], [0, 0], [1, 1], 1)?;
    let both = both.f_view([count, 5, height - WINDOW + 1, width - WINDOW + 1])?;
    Ok([0, 1, 2, 3, 4].map(|number| both.select(1, number)))
}

/// A Gaussian of sum 1, `[11]`.
fn window(device: Device) -> Result<Tensor> {
    let at = |place: i64| (-((place - WINDOW / 2).pow(2) as f64) / (2.0 * SIGMA * SIGMA)).exp();
    let weights: Vec<f64> = (0..WINDOW).map(at).collect();
    let sum: f64 = weights.iter().sum();
    let weights: Vec<f64> = weights.iter().map(|weight| weight / sum).collect();
    Ok(Tensor::f_from_slice(&weights)?.f_to_device(device)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn constant(value: f64) -> Tensor {
        Tensor::full([1, 1, 12, 12], value, (Kind::Float, Device::Cpu))
    }

    fn one(tensor: Result<Tensor>) -> f64 {
        tensor.unwrap().double_value(&[0])
    }

    fn close(a: f64, b: f64) {
        assert!((a - b).abs() <= 1e-12 * b.abs().max(1.0), "{a} {b}");
    }

    #[test]
    fn constant_images_by_hand() {
        let all = constant(1.0);
        // In eight bits 2 · 30.2 = 60.4 is 60 and 2 · 40.3 is 81: off by 21 everywhere.
        let (x, y) = (constant(30.2), constant(40.3));
        close(one(psnr(&x, &y, &all)), 20.0 * (255.0_f64 / 21.0).log10());
        let c1 = 2.55_f64.powi(2);
        close(one(ssim(&x, &y, &all)), (2.0 * 60.0 * 81.0 + c1) / (3600.0 + 6561.0 + c1));
        assert_eq!(one(psnr(&x, &x, &all)), f64::INFINITY);
        close(one(ssim(&x, &x, &all)), 1.0);
        // Whatever lies above half of the scale is white.
        assert_eq!(one(psnr(&constant(200.0), &constant(130.0), &all)), f64::INFINITY);
    }

    #[test]
    fn metal_counts_as_equal_and_as_black() {
        let keep = constant(1.0);
        let _ = keep.narrow(2, 0, 6).fill_(0.0);
        // Half of the pixels are off by 20.
        close(one(psnr(&constant(10.0), &constant(20.0), &keep)), 20.0 * (255.0 / 200.0_f64.sqrt()).log10());
        let _ = keep.shallow_clone().fill_(0.0);
        close(one(ssim(&constant(10.0), &constant(20.0), &keep)), 1.0);
    }

    /// One pixel of 11 × 11 is 10 in x and everything is 0 in y: with its weight w there, one window has all of it.
    #[test]
    fn one_window_by_hand() {
        let (x, y) = (
            Tensor::zeros([1, 1, 11, 11], (Kind::Float, Device::Cpu)),
            constant(0.0).narrow(2, 0, 11).narrow(3, 0, 11),
        );
        let _ = x.get(0).get(0).get(5).get(4).fill_(5.0);
        let row: Vec<f64> = (-5..=5).map(|n: i32| (-f64::from(n * n) / 4.5).exp()).collect();
        let sum: f64 = row.iter().sum();
        let weight = row[5] * row[4] / (sum * sum);
        let (mean, variance) = (10.0 * weight, 100.0 * weight - (10.0 * weight).powi(2));
        let (c1, c2) = (2.55_f64.powi(2), 7.65_f64.powi(2));
        close(one(ssim(&x, &y, &x.ones_like())), c1 * c2 / ((mean * mean + c1) * (variance + c2)));
    }

    #[test]
    fn images_of_a_batch_do_not_touch() {
        let x = Tensor::cat(&[constant(10.0), constant(50.0)], 0);
        let y = Tensor::cat(&[constant(20.0), constant(50.0)], 0);
        let all = x.ones_like();
        let each = |metric: fn(&Tensor, &Tensor, &Tensor) -> Result<Tensor>| {
            Vec::<f64>::try_from(metric(&x, &y, &all).unwrap()).unwrap()
        };
        close(each(psnr)[0], one(psnr(&constant(10.0), &constant(20.0), &constant(1.0))));
        assert_eq!(each(psnr)[1], f64::INFINITY);
        close(each(ssim)[1], 1.0);
        assert!(each(ssim)[0] < 1.0);
    }
}
