//! Real spherical harmonics of any degree.
//!
//! On the unit sphere, with Q the associated Legendre function without its sine factor and without the Condon–Shortley sign,
//!
//! ```text
//! Y_lm(x, y, z) = √2ᵃ N_lm Q_l^|m|(z) · { Re (x + iy)^m  (m ≥ 0),   Im (x + iy)^|m|  (m < 0) },      a = [m ≠ 0]
//! Σ_m Y_lm² = 2l + 1,      Y_1 = √3 (y, z, x),      Y_l(−x) = (−1)^l Y_l(x)
//! ```
//!
//! ```
//! use reynolds::steerable::spherical_harmonics;
//! let y = spherical_harmonics(1, [0.0, 0.0, 2.0]);
//! assert!((y[1] - 3f64.sqrt()).abs() < 1e-15);
//! ```

use std::f64::consts::SQRT_2;

/// Y_l at the direction of `point` (x, y, z), `[2l + 1]` in the order m = −l..l.
///
/// The length of `point` does not matter; at the origin, which has no direction, Y_0 = 1 and Y_l = 0 for l > 0.
pub fn spherical_harmonics(degree: usize, point: [f64; 3]) -> Vec<f64> {
    spherical_harmonics_all(degree, point).swap_remove(degree)
}

/// Y_0, …, Y_max at the direction of `point`, by one recursion: entry l is `[2l + 1]` in the order m = −l..l.
///
/// The recursion runs upwards in l at fixed m on normalised functions, which keeps every intermediate number within
/// √(2l + 1): there is nothing to overflow or cancel.
pub fn spherical_harmonics_all(max_degree: usize, point: [f64; 3]) -> Vec<Vec<f64>> {
    let mut harmonics: Vec<Vec<f64>> = (0..=max_degree).map(|l| vec![0.0; 2 * l + 1]).collect();
    harmonics[0][0] = 1.0;
    let scale = point.iter().fold(0.0, |largest: f64, c| largest.max(c.abs()));
    if scale == 0.0 {
        return harmonics;
    }
    // Dividing by the largest coordinate first keeps the squares of tiny and huge points in range.
    let scaled = point.map(|c| c / scale);
    let length = scaled.iter().map(|c| c * c).sum::<f64>().sqrt();
    let [x, y, z] = scaled.map(|c| c / length);
    let (mut cosine, mut sine) = (1.0, 0.0); // Re and Im of (x + iy)^m
    let mut sectoral = 1.0; // N_mm Q_m^m
    for m in 0..=max_degree {
        if m > 0 {
            (cosine, sine) = (x * cosine - y * sine, y * cosine + x * sine);
            sectoral *= ((2 * m + 1) as f64 / (2 * m) as f64).sqrt();
        }
        let factor = if m == 0 { 1.0 } else { SQRT_2 };
        let (mut before, mut now) = (0.0, sectoral);
        for l in m..=max_degree {
            if l > m {
                (before, now) = (now, legendre_step(l, m, z, now, before));
            }
            harmonics[l][l + m] = factor * now * cosine;
            if m > 0 {
                harmonics[l][l - m] = factor * now * sine;
            }
        }
    }
    harmonics
}

/// N_lm Q_l^m(z) from degrees l − 1 (`last`) and l − 2 (`before`).
fn legendre_step(l: usize, m: usize, z: f64, last: f64, before: f64) -> f64 {
    let (l, m) = (l as f64, m as f64);
    let rise = ((4.0 * l * l - 1.0) / (l * l - m * m)).sqrt();
    let below = l - 1.0;
    let fall = ((below * below - m * m).max(0.0) / (4.0 * below * below - 1.0).abs()).sqrt();
    rise * (z * last - fall * before)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn unit(seed: usize) -> [f64; 3] {
        let t = seed as f64;
        let v = [(1.3 * t + 0.2).sin(), (2.1 * t - 0.7).cos(), (0.9 * t + 1.1).sin()];
        let n = v.iter().map(|c| c * c).sum::<f64>().sqrt();
        v.map(|c| c / n)
    }

    #[test]
    fn squares_sum_to_the_dimension_up_to_degree_32() {
        for seed in 0..40 {
            for (l, y) in spherical_harmonics_all(32, unit(seed)).iter().enumerate() {
                let sum: f64 = y.iter().map(|v| v * v).sum();
                assert!((sum - (2 * l + 1) as f64).abs() < 1e-11, "l = {l}: {sum}");
            }
        }
    }

    #[test]
    fn value_depends_on_the_direction_alone_and_has_parity() {
        let [x, y, z] = unit(5);
        for scale in [1e-200, 3.0, 1e200] {
            for l in 0..6 {
                let near = spherical_harmonics(l, [x, y, z]);
                let far = spherical_harmonics(l, [-scale * x, -scale * y, -scale * z]);
                let sign = if l % 2 == 0 { 1.0 } else { -1.0 };
                assert!(near.iter().zip(&far).all(|(a, b)| (a - sign * b).abs() < 1e-13));
            }
        }
    }

    #[test]
    fn origin_has_degree_zero_only() {
        assert_eq!(spherical_harmonics(0, [0.0; 3]), vec![1.0]);
        assert_eq!(spherical_harmonics(2, [0.0; 3]), vec![0.0; 5]);
    }
}
