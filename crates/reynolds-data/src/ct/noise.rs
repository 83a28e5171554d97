//! How many photons arrive: Poisson's law, each ray from random numbers of its own.
//!
//! ```text
//! P(n) = λⁿ e^{−λ} / n!          λ < 10: products of uniform numbers until they fall below e^{−λ}
//!                                λ ≥ 10: transformed rejection with a squeeze (Hörmann 1993, "PTRS")
//! ```
//!
//! The numbers of a ray are a function of seed, view and cell. Two scans with one seed therefore differ only where what is
//! scanned differs, and no outcome depends on the number of threads.

/// Random numbers of a ray.
#[derive(Debug, Clone)]
pub(super) struct Stream {
    state: u64,
}

/// A bijection of 64 bits that leaves no pattern (the finaliser of SplitMix64).
fn mix(value: u64) -> u64 {
    let value = (value ^ (value >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let value = (value ^ (value >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    value ^ (value >> 31)
}

impl Stream {
    pub(super) fn new(seed: u64, view: usize, cell: usize) -> Self {
        let place = ((view as u64) << 32) | cell as u64;
        Self { state: mix(mix(seed.wrapping_add(0x9e37_79b9_7f4a_7c15)) ^ place) }
    }

    /// Uniform in (0, 1).
    fn uniform(&mut self) -> f64 {
        self.state = self.state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        ((mix(self.state) >> 12) as f64 + 0.5) / 4_503_599_627_370_496.0
    }

    /// How many arrive of `mean` expected.
    pub(super) fn poisson(&mut self, mean: f64) -> f64 {
        if mean < 10.0 { self.few(mean) } else { self.many(mean) }
    }

    fn few(&mut self, mean: f64) -> f64 {
        let limit = (-mean).exp();
        let mut count = 0.0;
        let mut product = self.uniform();
        while product > limit {
            product *= self.uniform();
            count += 1.0;
        }
        count
    }

    fn many(&mut self, mean: f64) -> f64 {
        let b = 0.931 + 2.53 * mean.sqrt();
        let a = -0.059 + 0.024_83 * b;
        let squeeze = 0.9277 - 3.6224 / (b - 2.0);
        loop {
            let u = self.uniform() - 0.5;
            let v = self.uniform();
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
