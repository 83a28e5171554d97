//! What decides a claim: gains over a trivial answer, differences of two cells, and the sentence of numbers.
//!
//! ```text
//! trained     mean gain > 3 se     se² = (mean of the runs' own se, over cases)² + (deviation over seeds)²/seeds
//! different   beyond 2 se          se² = d₁²/n₁ + d₂²/n₂, d: deviation over the n seeds of a cell
//! the same    mean ± 2 se within ± margin; matches: mean − 2 se above −margin; the margin is stated beforehand
//! ```
//!
//! A gain is over a trivial answer to the same cases. These are the same for all seeds, so that their share of the error does not fall with
//! the number of seeds. A claim about differences needs two seeds, whose spread is known.

use super::Sample;
use reynolds_report::Check;

/// Standard errors that a gain over the trivial answer must exceed.
const MARGIN: f64 = 3.0;

/// Standard errors that a difference must exceed.
const ERRORS: f64 = 2.0;

pub(crate) const ONE_SEED: &str = "; undecided: needs at least two seeds";

/// Mean gain and its standard error; a run's own error counts as 0 if it is not known and the seeds differ.
pub(crate) fn gain(gain: &Sample, own: &Sample) -> (f64, f64) {
    let (own, seeds) = (own.mean(), gain.values().len() as f64);
    let between = gain.deviation().powi(2) / seeds;
    let own = if own.is_nan() && between > 0.0 { 0.0 } else { own };
    (gain.mean(), (own.powi(2) + between).sqrt())
}

pub(crate) fn is_gain((gain, error): (f64, f64)) -> bool {
    gain > MARGIN * error
}

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

    pub(crate) fn rises(&self) -> bool {
        self.spread_known && self.mean > ERRORS * self.error
    }

    pub(crate) fn falls(&self) -> bool {
        self.spread_known && self.mean < -ERRORS * self.error
    }

    /// Whether the whole interval lies within ± `margin`.
    pub(crate) fn is_within(&self, margin: f64) -> bool {
        self.spread_known && self.mean.abs() + ERRORS * self.error <= margin
    }

    /// Whether the first is at most `margin` smaller, over the whole interval.
    pub(crate) fn is_not_below(&self, margin: f64) -> bool {
        self.spread_known && self.mean - ERRORS * self.error >= -margin
    }

    /// Whether the interval reaches over an end of ± `margin`, so that neither verdict is shown.
    pub(crate) fn straddles(&self, margin: f64) -> bool {
        let reach = ERRORS * self.error;
        self.spread_known && (self.mean.abs() - reach..self.mean.abs() + reach).contains(&margin)
    }
}

/// Said of a claim of no difference that the spread leaves open.
pub(crate) fn undecided(margin: f64) -> String {
    format!("; undecided: two standard errors reach over the margin of {margin:.3}")
}

/// A claim with its verdict, not held unless the spread over seeds is known and each of `rows`, (label, trained), is trained.
pub(crate) fn judged<L: AsRef<str>>(
    claim: impl Into<String>,
    held: bool,
    found: impl Into<String>,
    spread_known: bool,
    rows: impl IntoIterator<Item = (L, bool)>,
) -> Check {
    let mut found = found.into();
    if !spread_known {
        found += ONE_SEED;
    }
    let untrained = rows.into_iter().filter(|(_, trained)| !trained);
    let untrained: Vec<String> = untrained.map(|(label, _)| format!("{} is not trained", label.as_ref())).collect();
    if !untrained.is_empty() {
        found += &format!("; {}", untrained.join(", "));
    }
    Check::new(claim, held && spread_known && untrained.is_empty(), found)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn between(first: &[f64], second: &[f64]) -> Difference {
        Difference::new(&Sample::new(first.to_vec()), &Sample::new(second.to_vec()))
    }

    #[test]
    fn a_gain_is_one_beyond_three_standard_errors_of_cases_and_seeds() {
        let judged =
            |gains: &[f64], own: f64| is_gain(gain(&Sample::new(gains.to_vec()), &Sample::new(vec![own; gains.len()])));
        assert!(judged(&[0.31], 0.1) && !judged(&[0.29], 0.1));
        // Mean 0.4; over seeds 0.2/√2·√2 = 0.2 of deviation, 0.1414 of standard error.
        assert!(!judged(&[0.2588, 0.5412], 0.0));
        assert!(judged(&[0.3, 0.3002], f64::NAN) && !judged(&[0.3, 0.3], f64::NAN) && !judged(&[], 0.0));
    }

    #[test]
    fn a_difference_is_one_beyond_two_standard_errors_and_needs_two_seeds() {
        // Deviations √2/10 and 0 over two seeds: a standard error of 0.1.
        assert!(between(&[1.3, 1.5], &[1.0, 1.0]).rises() && between(&[1.0, 1.0], &[1.3, 1.5]).falls());
        let small = between(&[1.0, 1.2], &[1.0, 1.0]);
        assert!(!small.rises() && !small.falls() && !small.is_within(0.2));
        assert!(small.is_within(0.31) && small.straddles(0.2) && !small.straddles(0.31));
        assert!(small.is_not_below(0.11) && !small.is_not_below(0.09));
        assert!(between(&[1.1, 1.1], &[1.0, 1.0]).is_within(0.2) && !between(&[1.3, 1.3], &[1.0, 1.0]).is_within(0.2));
        let large = between(&[9.0], &[1.0, 1.0]);
        assert!(!large.rises() && !large.falls() && !large.is_within(100.0) && !large.is_not_below(100.0));
    }

    #[test]
    fn a_claim_needs_its_rows_trained_and_a_spread() {
        let of = |held, known, trained| judged("it falls", held, "1 2", known, [("a", true), ("b", trained)]);
        assert_eq!(of(true, true, true), Check::new("it falls", true, "1 2"));
        assert_eq!(of(true, true, false), Check::new("it falls", false, "1 2; b is not trained"));
        assert_eq!(of(true, false, true), Check::new("it falls", false, format!("1 2{ONE_SEED}")));
    }
}
