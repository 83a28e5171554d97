//! Which strengths a row is trained with: the paper's on its sets, and on others what is best on validation.
//!
//! ```text
//! grid      learning rates × λ_G × λ_⊥ at seed 0, then the other seeds of the best
//! staged    learning rates at the first λ_G and the middle λ_⊥, then λ_G × λ_⊥ at the best of them, then the other seeds
//! best      validation accuracy, then the smaller validation loss, then what comes first
//! ```

use super::cells::seeds;
use super::settings::{TableSettings, Tuning};
use super::target::Training;
use super::volume_run::VolumeRun;
use crate::medmnist::MedSettings;
use crate::medmnist::rows::{Row, Strengths};
use crate::medmnist::sets::Set;
use crate::targets::point::{Frame, Trained};
use crate::targets::runs::is_diverged;
use reynolds_train::config::RunConfig;

impl TableSettings {
    /// Tried first on a set that the paper has no strengths for.
    pub(super) fn first(&self, row: Row) -> Vec<Strengths> {
        let perps = self.lambda_perp.increasing();
        let lambdas = match (row.is_ours(), self.tuning) {
            (false, _) => vec![(0.0, 0.0)],
            (true, Tuning::Staged) => vec![(self.lambda_g.as_slice()[0], perps[perps.len() / 2])],
            (true, Tuning::Grid) => self.lambdas(),
        };
        let of = |&learning_rate: &f64| {
            lambdas.iter().map(move |&(lambda_g, lambda_perp)| Strengths { learning_rate, lambda_g, lambda_perp })
        };
        self.learning_rates.as_slice().iter().flat_map(of).collect()
    }

    /// Tried once the best learning rate of the first is known, those of the first among them.
    fn second(&self, row: Row, best: Strengths) -> Vec<Strengths> {
        if !self.is_staged(row) {
            return Vec::new();
        }
        let of = |(lambda_g, lambda_perp)| Strengths { lambda_g, lambda_perp, ..best };
        self.lambdas().into_iter().map(of).collect()
    }

    fn is_staged(&self, row: Row) -> bool {
        self.tuning == Tuning::Staged && row.is_ours()
    }

    /// Every pair of λ_G and λ_⊥.
    pub(super) fn lambdas(&self) -> Vec<(f64, f64)> {
        let perps = self.lambda_perp.increasing();
        self.lambda_g.as_slice().iter().flat_map(|&g| perps.iter().map(move |&perp| (g, perp))).collect()
    }

    /// Models of a row on a set, in all rounds.
    pub(super) fn count(&self, row: Row, set: Set) -> usize {
        let tried = if set.is_of_paper() { 1 } else { self.tried(row) };
        tried + self.seeds as usize - 1
    }

    /// Settings of a row that are tried on a set that the paper has no strengths for.
    pub(super) fn tried(&self, row: Row) -> usize {
        match self.is_staged(row) {
            true => self.learning_rates.as_slice().len() + self.lambdas().len() - 1,
            false => self.first(row).len(),
        }
    }
}

/// Best first: accuracy, then loss; what has no number comes last.
fn order(run: &Trained) -> (f64, f64) {
    let number = |metric: &str, none: f64| {
        let value = if is_diverged(run) { none } else { run.metric(metric) };
        if value.is_finite() { value } else { none }
    };
    (-number("validation/accuracy", f64::NEG_INFINITY), number("validation/loss", f64::INFINITY))
}

/// The best of these at the first seed; `None` unless all were run.
fn best(settings: &TableSettings, frame: &Frame, set: Set, row: Row, tried: &[Strengths]) -> Option<Strengths> {
    let mut best: Option<(Strengths, (f64, f64))> = None;
    for &strengths in tried {
        let order = order(frame.find(&VolumeRun::new(&settings.run, set, row, strengths))?);
        if best.is_none_or(|(_, least)| order < least) {
            best = Some((strengths, order));
        }
    }
    best.map(|(strengths, _)| strengths)
}

/// What is tried of a row on a set at the first seed as far as is known, and what is selected once all of it was run.
fn rounds(settings: &TableSettings, frame: &Frame, set: Set, row: Row) -> (Vec<Strengths>, Option<Strengths>) {
    if let Some(strengths) = row.strengths(set) {
        return (vec![strengths], Some(strengths));
    }
    let mut tried = settings.first(row);
    let Some(first) = best(settings, frame, set, row, &tried) else { return (tried, None) };
    tried.extend(settings.second(row, first).into_iter().filter(|strengths| *strengths != first));
    let selected = best(settings, frame, set, row, &tried);
    (tried, selected)
}

/// What a row is trained with on a set; `None` until that is known.
pub(super) fn selected(settings: &TableSettings, frame: &Frame, set: Set, row: Row) -> Option<Strengths> {
    rounds(settings, frame, set, row).1
}

/// What was tried at the first seed.
#[derive(Debug, Clone, Copy)]
pub(super) struct Tried<'a> {
    pub(super) set: Set,
    pub(super) row: Row,
    pub(super) strengths: Strengths,
    pub(super) run: &'a Trained,
}

/// Everything that was tried for sets that the paper has no strengths of.
pub(super) fn tried<'a>(settings: &TableSettings, frame: &'a Frame) -> Vec<Tried<'a>> {
    let mut all = Vec::new();
    for set in settings.sets.iter().filter(|set| !set.is_of_paper()) {
        for row in settings.rows.iter() {
            for strengths in rounds(settings, frame, set, row).0 {
                let run = frame.find(&VolumeRun::new(&settings.run, set, row, strengths));
                all.extend(run.map(|run| Tried { set, row, strengths, run }));
            }
        }
    }
    all
}

impl Training for TableSettings {
    fn run(&self) -> &RunConfig<MedSettings> {
        &self.run
    }

    fn sets(&self) -> Vec<Set> {
        self.sets.as_slice().to_vec()
    }

    fn wanted(&self, frame: &Frame) -> Vec<VolumeRun> {
        let mut wanted = Vec::new();
        for set in self.sets.iter() {
            for row in self.rows.iter() {
                let (tried, selected) = rounds(self, frame, set, row);
                let of = |strengths| VolumeRun::new(&self.run, set, row, strengths);
                wanted.extend(tried.into_iter().map(of));
                if let Some(run) = selected.map(of) {
                    wanted.extend(seeds(self.run.seed, self.seeds).skip(1).map(|seed| run.seeded(seed)));
                }
            }
        }
        wanted
    }

    fn amount(&self) -> (usize, usize) {
        let (mut models, mut steps) = (0, 0);
        for set in self.sets.iter() {
            let count: usize = self.rows.iter().map(|row| self.count(row, set)).sum();
            let one = VolumeRun::new(&self.run, set, Row::CNN, self.first(Row::CNN)[0]);
            (models, steps) = (models + count, steps + count * one.steps());
        }
        (models, steps)
    }
}

#[cfg(test)]
mod tests {
    use super::super::synthetic::{diverged, run, table, validated};
    use super::*;
    use crate::medmnist::data::MedSet;
    use crate::medmnist::networks::Symmetry;

    const VESSEL: Set = Set::File(MedSet::Vessel);

    /// Asks until nothing is missing: the models of each round.
    fn asked(settings: &TableSettings, result: impl Fn(&VolumeRun) -> Trained) -> (Vec<usize>, Frame) {
        let (mut rounds, mut frame) = (Vec::new(), Frame::default());
        loop {
            let mut missing = settings.wanted(&frame);
            missing.retain(|run| frame.find(run).is_none());
            if missing.is_empty() {
                return (rounds, frame);
            }
            rounds.push(missing.len());
            for run in missing {
                frame.insert(&run, result(&run));
            }
        }
    }

    const LISTS: [(&str, &str); 4] =
        [("learning_rates", "1e-4,5e-4"), ("lambda_g", "1e-3,1e-4"), ("lambda_perp", "1e-3,1e-2,1"), ("seeds", "3")];

    #[test]
    fn stages_go_on_with_the_best_and_seeds_with_the_best_of_all() {
        let given = [&LISTS[..], &[("sets", "vessel"), ("rows", "so3-ours,cnn"), ("tuning", "staged")]].concat();
        let settings = table(&given);
        let good = |one: &VolumeRun| {
            let Strengths { learning_rate, lambda_g, lambda_perp } = one.strengths();
            let share = f64::from(u8::from(learning_rate == 5e-4)) + f64::from(u8::from(lambda_perp == 1e-3));
            run(0.6 + 0.1 * share - lambda_g, 0.1)
        };
        let (rounds, models) = asked(&settings, good);
        // Two rates of each row; five more pairs of λ, and two more seeds of the CNN; two more seeds of ours.
        assert_eq!(rounds, [4, 5 + 2, 2]);
        let all: usize = settings.rows.iter().map(|row| settings.count(row, VESSEL)).sum();
        assert_eq!((all, models.len()), (13, 13));
        let ours = selected(&settings, &models, VESSEL, Row::ours(Symmetry::So3)).unwrap();
        assert_eq!(ours, Strengths { learning_rate: 5e-4, lambda_g: 1e-4, lambda_perp: 1e-3 });
    }

    #[test]
    fn a_grid_is_every_combination_and_the_papers_sets_are_not_tuned() {
        let given = [&LISTS[..], &[("sets", "vessel,organ"), ("rows", "o3-ours"), ("tuning", "grid")]].concat();
        let settings = table(&given);
        let (rounds, models) = asked(&settings, |_| run(0.8, 0.1));
        assert_eq!(rounds, [2 * 2 * 3 + 3, 2]);
        let organ = selected(&settings, &models, Set::ORGAN, Row::ours(Symmetry::O3)).unwrap();
        assert_eq!(organ, Strengths { learning_rate: 1e-4, lambda_g: 1e-3, lambda_perp: 1e-3 });
    }

    #[test]
    fn the_test_has_no_say_in_what_is_selected() {
        let given = [&LISTS[..], &[("sets", "vessel"), ("rows", "so3-ours"), ("tuning", "staged")]].concat();
        let settings = table(&given);
        // What is better on validation is worse on the test.
        let opposed = |one: &VolumeRun| {
            let Strengths { learning_rate, lambda_g, lambda_perp } = one.strengths();
            let good = 100.0 * learning_rate + 10.0 * lambda_g + 0.1 * lambda_perp;
            validated(0.7 + good, 0.9 - good)
        };
        let models = asked(&settings, opposed).1;
        let ours = selected(&settings, &models, VESSEL, Row::ours(Symmetry::So3)).unwrap();
        assert_eq!(ours, Strengths { learning_rate: 5e-4, lambda_g: 1e-3, lambda_perp: 1.0 });
    }

    #[test]
    fn ties_go_to_the_smaller_loss_and_what_diverged_is_last() {
        let given = [&LISTS[..], &[("sets", "vessel"), ("rows", "cnn"), ("learning_rates", "1e-2,1e-3,1e-4")]].concat();
        let settings = table(&given);
        let result = |one: &VolumeRun| {
            let mut run = run(0.8, 0.1);
            match one.strengths().learning_rate {
                1e-2 => return diverged(),
                1e-3 => run.metrics.insert("validation/loss".into(), 0.5),
                _ => run.metrics.insert("validation/loss".into(), 0.4),
            };
            run
        };
        let models = asked(&settings, result).1;
        assert_eq!(selected(&settings, &models, VESSEL, Row::CNN).unwrap().learning_rate, 1e-4);
        let models = asked(&settings, |_| diverged()).1;
        assert_eq!(selected(&settings, &models, VESSEL, Row::CNN).unwrap().learning_rate, 1e-2);
        assert_eq!(selected(&settings, &Frame::default(), VESSEL, Row::CNN), None);
    }
}
