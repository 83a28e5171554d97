//! Photon counts: Poisson's law.
//!
//! ```text
//! P(n) = λⁿ e^{−λ} / n!          λ < 10: products of uniform numbers until they fall below e^{−λ}
//!                                λ ≥ 10: transformed rejection with a squeeze (Hörmann 1993, "PTRS")
//! ```
//!
//! The random numbers of a ray are a function of seed, exposure, view and cell, not of the number of threads.

use reynolds::random::Random;

/// Which of the two scans of a pair.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Exposure {
    Clean = 0,
    Metal = 1,
}

/// How many photons arrive at a cell of `mean` expected.
pub(super) fn arrived(mean: f64, seed: u64, exposure: Exposure, view: usize, cell: usize) -> f64 {
    let mut random = Random::at(seed, &[0x6374, exposure as u64, view as u64, cell as u64]);
    if mean < 10.0 { few(mean, &mut random) } else { many(mean, &mut random) }
}

fn few(mean: f64, random: &mut Random) -> f64 {
    let limit = (-mean).exp();
    let mut count = 0.0;
    let mut product = random.uniform();
    while product > limit {
        product *= random.uniform();
        count += 1.0;
    }
    count
}

fn many(mean: f64, random: &mut Random) -> f64 {
    let b = 0.931 + 2.53 * mean.sqrt();
    let a = -0.059 + 0.024_83 * b;
    let squeeze = 0.9277 - 3.6224 / (b - 2.0);
    loop {
        let u = random.uniform() - 0.5;
        let v = random.uniform();
        let distance = 0.5 - u.abs();
        let count = ((2.0 * a / distance + b) * u + mean + 0.43).floor();
        if distance >= 0.07 && v <= squeeze {
            return count;
        }
        if count < 0.0 || (distance < 0.013 && v > distance) {
            continue;
        }
        let inverse_alpha = 1.1239 + 1.1328 / (b - 3.4);
        let left = (v * inverse_alpha / (a / (distance * distance) + b)).ln();
        if left <= count * mean.ln() - mean - ln_factorial(count) {
            return count;
        }
    }
}

/// ln n!, to 1e-10 of itself: Stirling's series from 10 on.
fn ln_factorial(n: f64) -> f64 {
    if n < 10.0 {
        return (2..=n as u32).map(|k| f64::from(k).ln()).sum();
    }
    let square = n * n;
    let series = (1.0 / 12.0 - (1.0 / 360.0 - (1.0 / 1260.0) / square) / square) / n;
    (n + 0.5) * n.ln() - n + 0.5 * std::f64::consts::TAU.ln() + series
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_have_the_mean_and_the_variance_of_poisson() {
        let draws = 40_000;
        for mean in [0.0, 0.3, 4.0, 9.9, 10.0, 25.0, 700.0, 2e7] {
            let counts: Vec<f64> = (0..draws).map(|cell| arrived(mean, 5, Exposure::Clean, 3, cell)).collect();
            let found = counts.iter().sum::<f64>() / draws as f64;
            let variance = counts.iter().map(|count| (count - mean).powi(2)).sum::<f64>() / draws as f64;
            // Four standard errors; the fourth moment of the counts is 3λ² + λ.
            let error = 4.0 * (mean / draws as f64).sqrt();
            assert!((found - mean).abs() <= error, "mean {mean}: {found}");
            let error = 4.0 * ((2.0 * mean * mean + mean) / draws as f64).sqrt();
            assert!((variance - mean).abs() <= error, "variance {mean}: {variance}");
        }
    }

    #[test]
    fn counts_follow_poisson_on_both_sides_of_the_switch() {
        let draws = 50_000;
        for mean in [9.5_f64, 10.5] {
            let mut found = [0.0; 40];
            (0..draws).for_each(|cell| found[(arrived(mean, 9, Exposure::Metal, 1, cell) as usize).min(39)] += 1.0);
            for (count, &found) in found.iter().enumerate().take(25) {
                let expected = draws as f64 * (count as f64 * mean.ln() - mean - ln_factorial(count as f64)).exp();
                let is_close = (found - expected).abs() <= 4.5 * expected.sqrt() + 1.0;
                assert!(is_close, "{mean}, {count}: {found}, {expected}");
            }
        }
    }

    #[test]
    fn logarithms_of_factorials_are_right() {
        let mut exact = 0.0;
        for n in 1..200_u32 {
            exact += f64::from(n).ln();
            assert!((ln_factorial(f64::from(n)) - exact).abs() < 1e-8, "{n}");
        }
    }
}
