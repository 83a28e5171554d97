//! A counter-based random generator: the same seed and place give the same numbers on every machine and thread count.
//!
//! The numbers are those of `reynolds::random::Random`, which this crate, depending on none of ours, cannot use.

/// SplitMix64: a counter stepped by the golden ratio and mixed.
#[derive(Debug, Clone)]
pub(crate) struct Random {
    counter: u64,
}

impl Random {
    fn new(seed: u64) -> Random {
        Random { counter: seed.wrapping_mul(0xd6e8_feb8_6659_fd93) }
    }

    /// The stream of a seed and a place, whatever was drawn before.
    pub(crate) fn at(seed: u64, place: &[u64]) -> Random {
        place.iter().fold(Random::new(seed), |mut stream, &number| {
            let mixed = stream.bits();
            Random::new(mixed ^ Random::new(number).bits())
        })
    }

    /// 64 random bits.
    pub(crate) fn bits(&mut self) -> u64 {
        self.counter = self.counter.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.counter;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// Uniform in [0, 1).
    pub(crate) fn uniform(&mut self) -> f64 {
        (self.bits() >> 11) as f64 / (1_u64 << 53) as f64
    }

    /// Uniform from `low` to `high`.
    pub(crate) fn between(&mut self, low: f64, high: f64) -> f64 {
        low + (high - low) * self.uniform()
    }

    /// Uniform in 0..n, which is not empty.
    pub(crate) fn below(&mut self, n: usize) -> usize {
        (self.bits() % n as u64) as usize
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
}
