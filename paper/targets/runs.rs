//! The runs of one cell of a table, a seed each.

use super::judge;
use super::{Frame, Point, Sample, Trained};

/// A seed with its result.
pub(crate) type Run<'a> = (u64, &'a Trained);

/// The runs of a cell, by seed.
#[derive(Debug, Clone, Default)]
pub(crate) struct Runs<'a>(Vec<Run<'a>>);

impl<'a> Runs<'a> {
    pub(crate) fn new(runs: Vec<Run<'a>>) -> Self {
        Self(runs)
    }

    /// The points of these seeds, as far as they were run.
    pub(crate) fn find<P: Point>(
        frame: &'a Frame,
        seeds: impl IntoIterator<Item = u64>,
        point: impl Fn(u64) -> P,
    ) -> Self {
        Self(seeds.into_iter().filter_map(|seed| Some((seed, frame.find(&point(seed))?))).collect())
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(crate) fn len(&self) -> usize {
        self.0.len()
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = Run<'a>> + '_ {
        self.0.iter().copied()
    }

    pub(crate) fn first(&self) -> Option<&'a Trained> {
        self.0.first().map(|(_, run)| *run)
    }

    pub(crate) fn seeds(&self) -> Vec<u64> {
        self.iter().map(|(seed, _)| seed).collect()
    }

    /// A metric of the first run, for what all have in common; NaN if there is none.
    pub(crate) fn metric(&self, name: &str) -> f64 {
        self.first().map_or(f64::NAN, |run| run.metric(name))
    }

    /// A metric of the runs that did not diverge.
    pub(crate) fn sample(&self, metric: &str) -> Sample {
        Sample::new(self.iter().filter(|(_, run)| !is_diverged(run)).map(|(_, run)| run.metric(metric)).collect())
    }

    pub(crate) fn diverged(&self) -> usize {
        self.iter().filter(|(_, run)| is_diverged(run)).count()
    }

    /// Mean of a gain and its standard error, from the metrics `gain` and "`gain`_se".
    pub(crate) fn gain(&self, gain: &str) -> (f64, f64) {
        judge::gain(&self.sample(gain), &self.sample(&format!("{gain}_se")))
    }

    /// Whether none diverged and that gain is one.
    pub(crate) fn is_trained(&self, gain: &str) -> bool {
        self.diverged() == 0 && judge::is_gain(self.gain(gain))
    }

    /// A number of these runs with its label where runs diverged or are not trained.
    pub(crate) fn labelled(&self, number: String, is_trained: bool) -> String {
        match self.diverged() {
            0 if is_trained => number,
            0 => number + " not trained",
            all if all == self.len() => "diverged, not trained".into(),
            some => {
                let label = if is_trained { "" } else { " not trained" };
                format!("{number} ({some} of {} diverged){label}", self.len())
            }
        }
    }
}

/// The first finite value of a metric, for what is the same for all runs of several cells, such as a trivial answer.
pub(crate) fn in_common<'a>(cells: impl IntoIterator<Item = &'a Runs<'a>>, metric: &str) -> f64 {
    let mut values = cells.into_iter().flat_map(Runs::iter).map(|(_, run)| run.metric(metric));
    values.find(|value| value.is_finite()).unwrap_or(f64::NAN)
}

/// Whether the loss of a run stopped being finite.
pub(crate) fn is_diverged(run: &Trained) -> bool {
    run.metric("diverged") == 1.0
}

/// "3 seeds".
pub(crate) fn seeds(count: u64) -> String {
    if count == 1 { "1 seed".into() } else { format!("{count} seeds") }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::targets::synthetic::{diverged, trained};

    #[test]
    fn diverged_runs_count_for_nothing_and_are_labelled() {
        let (lost, good) = (diverged(), trained([("a", 2.0), ("gain", 1.0), ("gain_se", 0.1)]));
        let runs = Runs::new(vec![(0, &lost), (1, &good)]);
        assert_eq!((runs.diverged(), runs.sample("a").mean(), runs.gain("gain")), (1, 2.0, (1.0, 0.1)));
        assert!(!runs.is_trained("gain") && Runs::new(vec![(1, &good)]).is_trained("gain"));
        assert_eq!(runs.labelled("2".into(), false), "2 (1 of 2 diverged) not trained");
        assert_eq!(Runs::new(vec![(0, &lost)]).labelled("2".into(), false), "diverged, not trained");
        assert_eq!(in_common([&runs], "a"), 2.0);
    }
}
