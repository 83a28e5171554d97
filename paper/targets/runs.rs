//! The runs of one cell of a table, a seed each: their numbers, and whether they beat what is trivial.
//!
//! ```text
//! trained iff  mean gain > 3 se      se² = (mean of the runs' own se, over cases)² + (deviation over seeds)²/seeds
//! ```
//!
//! A gain is over a trivial answer to the same cases, so that it is judged case by case; the cases are the same for all seeds, so that
//! their share of the error does not fall with the number of seeds.

use super::point::Trained;
use super::sample::Sample;

/// How many standard errors a cell must beat the trivial answer by.
const MARGIN: f64 = 3.0;

/// A seed and what came of it.
pub(crate) type Run<'a> = (u64, &'a Trained);

/// Whether the loss of a run stopped being finite.
pub(crate) fn is_diverged(run: &Trained) -> bool {
    run.metric("diverged") == 1.0
}

/// Runs whose loss stopped being finite.
pub(crate) fn diverged(runs: &[Run<'_>]) -> usize {
    runs.iter().filter(|(_, run)| is_diverged(run)).count()
}

/// A metric of the runs that did not diverge.
pub(crate) fn sample(runs: &[Run<'_>], metric: &str) -> Sample {
    let finished = runs.iter().filter(|(_, run)| !is_diverged(run));
    Sample::new(finished.map(|(_, run)| run.metric(metric)).collect())
}

/// Mean gain and its standard error; the part of a run's own error that is not known counts as 0 if the seeds have one.
pub(crate) fn gain(gain: &Sample, own: &Sample) -> (f64, f64) {
    let (own, seeds) = (own.mean(), gain.values().len() as f64);
    let between = gain.deviation().powi(2) / seeds;
    let own = if own.is_nan() && between > 0.0 { 0.0 } else { own };
    (gain.mean(), (own.powi(2) + between).sqrt())
}

/// Whether a gain with this standard error is one.
pub(crate) fn is_gain((gain, error): (f64, f64)) -> bool {
    gain > MARGIN * error
}

/// "3 seeds".
pub(crate) fn seeds(count: u64) -> String {
    if count == 1 { "1 seed".into() } else { format!("{count} seeds") }
}

#[cfg(test)]
mod tests {
    use super::*;

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
    fn what_diverged_counts_for_nothing() {
        let lost = Trained { metrics: [("diverged".to_string(), 1.0)].into(), ..Trained::default() };
        let good = Trained { metrics: [("a".to_string(), 2.0)].into(), ..Trained::default() };
        let runs = [(0, &lost), (1, &good)];
        assert_eq!((diverged(&runs), sample(&runs, "a").mean()), (1, 2.0));
    }
}
