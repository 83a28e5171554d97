//! What decides a claim: gains over a trivial answer, and differences of two cells.
//!
//! ```text
//! trained     mean gain > 3 se     se² = (mean of the runs' own se, over cases)² + (deviation over seeds)²/seeds
//! different   beyond 2 se          se² = d₁²/n₁ + d₂²/n₂, d: deviation over the n seeds of a cell
//! the same    mean ± 2 se within ± margin; matches: mean − 2 se above −margin; the margin is stated beforehand
//! undecided   mean ± 2 se reaches over 0, or over the margin
//! ```
//!
//! A gain is over a trivial answer to the same cases. These are the same for all seeds, so that their share of the error does not fall with
//! the number of seeds. A claim about differences needs two seeds, whose spread is known.

use super::Sample;
use reynolds_report::{Check, Reason, Verdict};

/// Standard errors that a gain over the trivial answer must exceed.
const MARGIN: f64 = 3.0;

/// Standard errors that a difference must exceed.
const ERRORS: f64 = 2.0;

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

    /// Whether the first is greater.
    pub(crate) fn rises(&self) -> Verdict {
        self.judged(self.mean, Reason::SmallDifference)
    }

    /// Whether the first is less.
    pub(crate) fn falls(&self) -> Verdict {
        self.judged(-self.mean, Reason::SmallDifference)
    }

    /// Whether the whole interval lies within ± `margin`.
    pub(crate) fn is_within(&self, margin: f64) -> Verdict {
        self.judged(margin - self.mean.abs(), Reason::WideSpread)
    }

    /// Whether the first is at most `margin` smaller, over the whole interval.
    pub(crate) fn is_not_below(&self, margin: f64) -> Verdict {
        self.judged(self.mean + margin, Reason::WideSpread)
    }

    /// Whether `excess` is positive beyond the error; what diverged, NaN, shows nothing that is claimed.
    fn judged(&self, excess: f64, open: Reason) -> Verdict {
        if !self.spread_known {
            Verdict::Undecided(Reason::OneSeed)
        } else if excess.abs() < ERRORS * self.error {
            Verdict::Undecided(open)
        } else {
            Verdict::from(excess > 0.0)
        }
    }
}

/// The verdict that so many seeds allow.
pub(crate) fn over_seeds(seeds: usize, held: bool) -> Verdict {
    if seeds >= 2 { held.into() } else { Verdict::Undecided(Reason::OneSeed) }
}

/// A claim with its verdict, undecided unless each of `rows`, (label, trained), is trained.
pub(crate) fn judged<L: AsRef<str>>(
    claim: impl Into<String>,
    verdict: Verdict,
    found: impl Into<String>,
    rows: impl IntoIterator<Item = (L, bool)>,
) -> Check {
    let untrained = rows.into_iter().filter(|(_, trained)| !trained);
    let untrained: Vec<String> = untrained.map(|(label, _)| format!("{} is not trained", label.as_ref())).collect();
    if untrained.is_empty() {
        return Check::new(claim, verdict, found);
    }
    let verdict = match verdict {
        Verdict::Undecided(_) => verdict,
        Verdict::Held | Verdict::Fell => Verdict::Undecided(Reason::NotTrained),
    };
    Check::new(claim, verdict, format!("{}; {}", found.into(), untrained.join(", ")))
}

#[cfg(test)]
mod tests {
    use super::*;
    use Verdict::{Fell, Held, Undecided};

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
        let (more, less) = (between(&[1.3, 1.5], &[1.0, 1.0]), between(&[1.0, 1.0], &[1.3, 1.5]));
        assert_eq!([more.rises(), more.falls(), less.rises(), less.falls()], [Held, Fell, Fell, Held]);
        let small = between(&[1.0, 1.2], &[1.0, 1.0]);
        assert_eq!([small.rises(), small.falls()], [Undecided(Reason::SmallDifference); 2]);
        let wide = Undecided(Reason::WideSpread);
        assert_eq!([0.31, 0.2].map(|margin| small.is_within(margin)), [Held, wide]);
        assert_eq!([0.11, 0.09].map(|margin| small.is_not_below(margin)), [Held, wide]);
        assert_eq!([1.1, 1.3].map(|mean| between(&[mean; 2], &[1.0; 2]).is_within(0.2)), [Held, Fell]);
        assert_eq!([0.9, 0.7].map(|mean| between(&[mean; 2], &[1.0; 2]).is_not_below(0.2)), [Held, Fell]);
        assert_eq!(between(&[f64::NAN; 2], &[1.0; 2]).rises(), Fell);
        let large = between(&[9.0], &[1.0, 1.0]);
        let all = [large.rises(), large.falls(), large.is_within(100.0), large.is_not_below(100.0)];
        assert_eq!(all, [Undecided(Reason::OneSeed); 4]);
    }

    #[test]
    fn a_claim_needs_its_rows_trained() {
        let of = |verdict, trained| judged("it falls", verdict, "1 2", [("a", true), ("b", trained)]);
        assert_eq!(of(Held, true), Check::new("it falls", true, "1 2"));
        for verdict in [Held, Fell] {
            let found = "1 2; b is not trained";
            assert_eq!(of(verdict, false), Check::new("it falls", Undecided(Reason::NotTrained), found));
        }
        assert_eq!(of(over_seeds(1, true), false).verdict, Undecided(Reason::OneSeed));
        assert_eq!([over_seeds(2, true), over_seeds(2, false)], [Held, Fell]);
    }
}
