//! The strengths of a row: the paper's on its sets, the best on validation on others.
//!
//! ```text
//! grid      learning rates × λ_G × λ_⊥ at seed 0, then the other seeds of the best
//! staged    learning rates at the first λ_G and the middle λ_⊥, then λ_G × λ_⊥ at the best of them, then the other seeds
//! best      validation accuracy, then the smaller validation loss, then what comes first
//! ```

use super::settings::{Table, Tuning, grid};
use super::*;

impl Table {
    /// Tried first on a set without published strengths.
    pub(super) fn first(&self, row: Row) -> Vec<Strengths> {
        let rates = self.learning_rates.as_slice().iter();
        let (first, perps) = (self.lambda_g.as_slice()[0], self.lambda_perp.increasing());
        let middle = perps[perps.len() / 2];
        match (row.is_ours(), self.tuning) {
            (true, Tuning::Grid) => rates.flat_map(|&rate| grid(rate, &self.lambda_g, &self.lambda_perp)).collect(),
            (is_ours, _) => {
                let (lambda_g, lambda_perp) = if is_ours { (first, middle) } else { (0.0, 0.0) };
                rates.map(|&learning_rate| Strengths { learning_rate, lambda_g, lambda_perp }).collect()
            }
        }
    }

    /// Tried once the best of the first, which is among them, is known.
    fn second(&self, row: Row, best: Strengths) -> Vec<Strengths> {
        match row.is_ours() && self.tuning == Tuning::Staged {
            true => grid(best.learning_rate, &self.lambda_g, &self.lambda_perp),
            false => vec![best],
        }
    }

    /// Number of settings of a row that are tried on a set without published strengths.
    pub(super) fn tried(&self, row: Row) -> usize {
        let first = self.first(row);
        first.len() + self.second(row, first[0]).len() - 1
    }
}

/// Validation accuracy, negated, then loss; runs without them come last.
fn order(run: &Trained) -> (f64, f64) {
    let number = |metric: &str, none: f64| {
        let value = if is_diverged(run) { none } else { run.metric(metric) };
        if value.is_finite() { value } else { none }
    };
    (-number("validation/accuracy", f64::NEG_INFINITY), number("validation/loss", f64::INFINITY))
}

fn best(frame: &Frame, tried: &[VolumeRun]) -> Option<VolumeRun> {
    let mut best: Option<(&VolumeRun, (f64, f64))> = None;
    for run in tried {
        let order = order(frame.find(run)?);
        if best.is_none_or(|(_, least)| order < least) {
            best = Some((run, order));
        }
    }
    best.map(|(run, _)| run.clone())
}

impl TargetSettings<Table> {
    /// What is tried of a row on a set at the first seed, as far as known, and what is selected once all of it was run.
    fn rounds(&self, frame: &Frame, set: Set, row: Row) -> (Vec<VolumeRun>, Option<VolumeRun>) {
        let of = |strengths| VolumeRun::new(&self.run, set, row, strengths);
        if let Some(strengths) = row.strengths(set) {
            return (vec![of(strengths)], Some(of(strengths)));
        }
        let mut tried: Vec<VolumeRun> = self.own.first(row).into_iter().map(of).collect();
        let Some(first) = best(frame, &tried) else { return (tried, None) };
        let first = first.strengths();
        tried.extend(self.own.second(row, first).into_iter().filter(|strengths| *strengths != first).map(of));
        let selected = best(frame, &tried);
        (tried, selected)
    }

    /// The model of a row on a set at the first seed; `None` until it is known.
    pub(super) fn selected(&self, frame: &Frame, set: Set, row: Row) -> Option<VolumeRun> {
        self.rounds(frame, set, row).1
    }

    /// Everything that was tried on sets without published strengths.
    pub(super) fn tried<'a>(&self, frame: &'a Frame) -> Vec<(VolumeRun, &'a Trained)> {
        let sets = self.own.sets.iter().filter(|set| !set.is_of_paper());
        let all = sets.flat_map(|set| self.own.rows.iter().map(move |row| (set, row)));
        let tried = all.flat_map(|(set, row)| self.rounds(frame, set, row).0);
        tried.filter_map(|run| Some((frame.find(&run)?, run))).map(|(trained, run)| (run, trained)).collect()
    }
}

impl Trains for Table {
    fn seeds(&self) -> u64 {
        self.seeds
    }

    fn wanted(settings: &TargetSettings<Self>, frame: &Frame) -> Vec<VolumeRun> {
        let mut wanted = Vec::new();
        for set in settings.own.sets.iter() {
            for row in settings.own.rows.iter() {
                let (tried, selected) = settings.rounds(frame, set, row);
                wanted.extend(tried);
                wanted.extend(selected.iter().flat_map(|run| settings.seeds().skip(1).map(|seed| run.seeded(seed))));
            }
        }
        wanted
    }
}

#[cfg(test)]
mod tests {
    use super::super::synthetic::{run, table, validated};
    use super::*;
    use crate::targets::synthetic::{diverged, models};

    const LISTS: [(&str, &str); 4] =
        [("learning_rates", "1e-4,5e-4"), ("lambda_g", "1e-3,1e-4"), ("lambda_perp", "1e-3,1e-2,1"), ("seeds", "3")];

    /// What is selected of a row on a set, the number of models, and how many of them followed the first round.
    fn selected(
        keys: &[(&str, &str)],
        set: Set,
        row: Row,
        result: impl Fn(&VolumeRun) -> Trained,
    ) -> (Strengths, usize, usize) {
        let settings = table(&[&LISTS[..], keys].concat());
        let all = models(|frame| Table::wanted(&settings, frame), result);
        assert_eq!(Table::amount(&settings).0, all.len());
        let first = Table::wanted(&settings, &Frame::default()).len();
        assert!(settings.selected(&Frame::default(), Set::Vessel, row).is_none());
        (settings.selected(&all, set, row).unwrap().strengths(), all.len(), all.len() - first)
    }

    #[test]
    fn stages_continue_with_the_best_and_seeds_with_the_best_of_all() {
        let good = |one: &VolumeRun| {
            let Strengths { learning_rate, lambda_g, lambda_perp } = one.strengths();
            let share = f64::from(u8::from(learning_rate == 5e-4)) + f64::from(u8::from(lambda_perp == 1e-3));
            run(0.6 + 0.1 * share - lambda_g, 0.1)
        };
        let keys = [("sets", "vessel"), ("rows", "so3-ours,cnn"), ("tuning", "staged")];
        // Two rates of each row; five more pairs of λ, and two more seeds of each.
        let expected = Strengths { learning_rate: 5e-4, lambda_g: 1e-4, lambda_perp: 1e-3 };
        assert_eq!(selected(&keys, Set::Vessel, Row::ours(Symmetry::So3), good), (expected, 13, 9));
    }

    #[test]
    fn a_grid_is_every_combination_and_the_papers_sets_are_not_tuned() {
        let keys = [("sets", "vessel,organ"), ("rows", "o3-ours"), ("tuning", "grid")];
        let organ = selected(&keys, Set::Organ, Row::ours(Symmetry::O3), |_| run(0.8, 0.1));
        let expected = Strengths { learning_rate: 1e-4, lambda_g: 1e-3, lambda_perp: 1e-3 };
        assert_eq!(organ, (expected, 2 * 2 * 3 + 3 + 2, 2));
    }

    #[test]
    fn test_metrics_do_not_decide_what_is_selected() {
        // What is better on validation is worse on the test.
        let opposed = |one: &VolumeRun| {
            let Strengths { learning_rate, lambda_g, lambda_perp } = one.strengths();
            let good = 100.0 * learning_rate + 10.0 * lambda_g + 0.1 * lambda_perp;
            validated(0.7 + good, 0.9 - good)
        };
        let keys = [("sets", "vessel"), ("rows", "so3-ours"), ("tuning", "staged")];
        let ours = selected(&keys, Set::Vessel, Row::ours(Symmetry::So3), opposed).0;
        assert_eq!(ours, Strengths { learning_rate: 5e-4, lambda_g: 1e-3, lambda_perp: 1.0 });
    }

    #[test]
    fn ties_go_to_the_smaller_loss_and_diverged_runs_come_last() {
        let keys = [("sets", "vessel"), ("rows", "cnn"), ("learning_rates", "1e-2,1e-3,1e-4")];
        let rate =
            |result: &dyn Fn(&VolumeRun) -> Trained| selected(&keys, Set::Vessel, Row::CNN, result).0.learning_rate;
        let tied = |one: &VolumeRun| {
            let loss = match one.strengths().learning_rate {
                1e-2 => return diverged(),
                1e-3 => 0.5,
                _ => 0.4,
            };
            let mut run = run(0.8, 0.1);
            run.metrics.insert("validation/loss".into(), loss);
            run
        };
        assert_eq!([rate(&tied), rate(&|_| diverged())], [1e-4, 1e-2]);
    }
}
