//! A counter-based random generator: the same seed gives the same numbers on every machine and thread count.
//!
//! ```
//! use reynolds::random::Random;
//! let (mut a, mut b) = (Random::new(7), Random::new(7));
//! assert_eq!(a.normal(), b.normal());
//! ```

use faer::Mat;

use crate::scalar::Scalar;

/// SplitMix64: a counter stepped by the golden ratio and mixed.
#[derive(Debug, Clone)]
pub struct Random {
    counter: u64,
}

impl Random {
    /// The stream of a seed.
    pub fn new(seed: u64) -> Self {
        Self { counter: seed.wrapping_mul(0xd6e8_feb8_6659_fd93) }
    }

    /// The stream of a seed and a place: the numbers of (seed, epoch, step) do not depend on what was drawn before.
    ///
    /// ```
    /// use reynolds::random::Random;
    /// assert_ne!(Random::at(7, &[0, 1]).bits(), Random::at(7, &[1, 0]).bits());
    /// ```
    pub fn at(seed: u64, place: &[u64]) -> Self {
        place.iter().fold(Self::new(seed), |mut stream, &number| {
            let mixed = stream.bits();
            Self::new(mixed ^ Self::new(number).bits())
        })
    }

    /// 64 random bits.
    pub fn bits(&mut self) -> u64 {
        self.counter = self.counter.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.counter;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// Uniform in [0, 1).
    pub fn uniform(&mut self) -> f64 {
        (self.bits() >> 11) as f64 / (1_u64 << 53) as f64
    }

    /// Uniform from `low` to `high`.
    pub fn between(&mut self, low: f64, high: f64) -> f64 {
        low + (high - low) * self.uniform()
    }

    /// Uniform in 0..n, for n > 0.
    pub fn below(&mut self, n: usize) -> usize {
        assert!(n > 0, "no number lies below zero");
        (self.bits() % n as u64) as usize
    }

    /// 0 … count − 1 in a random order (Fisher–Yates).
    pub fn permutation(&mut self, count: usize) -> Vec<usize> {
        let mut order: Vec<usize> = (0..count).collect();
        (1..count).rev().for_each(|last| order.swap(last, self.below(last + 1)));
        order
    }

    /// Standard normal (Box–Muller).
    pub fn normal(&mut self) -> f64 {
        let radius = (-2.0 * (1.0 - self.uniform()).ln()).sqrt();
        radius * (std::f64::consts::TAU * self.uniform()).cos()
    }

    /// A matrix `[rows, columns]` of standard normal entries.
    pub fn matrix<F: Scalar>(&mut self, rows: usize, columns: usize) -> Mat<F> {
        Mat::from_fn(rows, columns, |_, _| {
            let re = self.normal();
            F::from_real_parts([re, self.normal()])
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn streams_are_those_of_splitmix() {
        // The published first outputs of SplitMix64 from the counter 1234567.
        let mut stream = Random { counter: 1_234_567 };
        let first = [stream.bits(), stream.bits(), stream.bits()];
        assert_eq!(first, [6_457_827_717_110_365_317, 3_203_168_211_198_807_973, 9_817_491_932_198_370_423]);
    }

    #[test]
    fn places_are_told_apart_and_numbers_lie_in_their_ranges() {
        let mut stream = Random::at(3, &[1, 2]);
        assert_ne!(stream.clone().bits(), Random::at(3, &[2, 1]).bits());
        for _ in 0..1000 {
            assert!((-2.0..5.0).contains(&stream.between(-2.0, 5.0)) && stream.below(7) < 7);
        }
    }

    /// Made data sets and runs are functions of these numbers, computed here by a program in Python.
    #[test]
    fn numbers_of_a_place_never_change() {
        let mut stream = Random::at(7, &[1, 2]);
        let drawn = (stream.bits(), stream.below(1000), stream.between(-1.0, 1.0));
        assert_eq!(drawn, (2_754_574_883_773_347_217, 959, 0.39057752676211077));
    }
}
