//! When the numbers of two cells differ.
//!
//! ```text
//! se of a difference: √(d₁²/n₁ + d₂²/n₂), d: deviation over the n seeds of a cell        a difference is one beyond 2 se
//! ```
//!
//! One seed has no spread to tell a change by: nothing is said of fewer than two.

use super::sample::Sample;

/// Standard errors that a difference must exceed.
const ERRORS: f64 = 2.0;

/// What is written of effects that nobody can judge.
pub(crate) const ONE_SEED: &str = "; not held by fewer than two seeds, whose spread is not known";

/// One number minus another, with its standard error.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Difference {
    pub(crate) mean: f64,
    pub(crate) error: f64,
    /// Whether both have two seeds or more.
    pub(crate) spread_known: bool,
}

impl Difference {
    /// `first` minus `second`.
    pub(crate) fn new(first: &Sample, second: &Sample) -> Self {
        let square = |sample: &Sample| sample.deviation().powi(2) / sample.values().len() as f64;
        Self {
            mean: first.mean() - second.mean(),
            error: (square(first) + square(second)).sqrt(),
            spread_known: first.values().len() >= 2 && second.values().len() >= 2,
        }
    }

    /// Whether the first is larger.
    pub(crate) fn rises(&self) -> bool {
        self.spread_known && self.mean > ERRORS * self.error
    }

    /// Whether the first is smaller.
    pub(crate) fn falls(&self) -> bool {
        self.spread_known && self.mean < -ERRORS * self.error
    }

    /// Whether there is none, or one of at most `share`, whatever the seeds say.
    pub(crate) fn is_none(&self, share: f64) -> bool {
        self.spread_known && self.mean.abs() <= (ERRORS * self.error).max(share)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn between(first: &[f64], second: &[f64]) -> Difference {
        Difference::new(&Sample::new(first.to_vec()), &Sample::new(second.to_vec()))
    }

    #[test]
    fn a_difference_is_one_beyond_two_standard_errors() {
        // Deviations √2/10 and 0 over two seeds: a standard error of 0.1.
        assert!(between(&[1.3, 1.5], &[1.0, 1.0]).rises() && between(&[1.0, 1.0], &[1.3, 1.5]).falls());
        let small = between(&[1.0, 1.2], &[1.0, 1.0]);
        assert!(!small.rises() && !small.falls() && small.is_none(0.0));
        assert!(between(&[1.1, 1.1], &[1.0, 1.0]).is_none(0.2) && !between(&[1.3, 1.3], &[1.0, 1.0]).is_none(0.2));
    }

    #[test]
    fn one_seed_shows_nothing() {
        let large = between(&[9.0], &[1.0, 1.0]);
        assert!(!large.rises() && !large.falls() && !large.is_none(100.0));
    }
}
