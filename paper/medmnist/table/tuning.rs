//! Which strengths a row is trained with: the paper's on its sets, and on others what is best on validation.
//!
//! ```text
//! grid      learning rates × λ_G × λ_⊥ at seed 0, then the other seeds of the best
//! staged    learning rates at the first λ_G and the middle λ_⊥, then λ_G × λ_⊥ at the best of them, then the other seeds
//! best      validation accuracy, then the smaller validation loss, then what comes first
//! ```

use super::paper::{SETS, Strengths, chosen};
use super::row::Row;
use super::settings::{Point, Setup};
use crate::targets::point::{Frame, Trained};
use crate::targets::runs::is_diverged;
use reynolds_train::error::Result;

/// What is tried.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Tuning {
    pub(super) staged: bool,
    pub(super) learning_rates: Vec<f64>,
    pub(super) lambda_g: Vec<f64>,
    pub(super) lambda_perp: Vec<f64>,
}

impl Tuning {
    /// Tried first on a set that the paper has no strengths for.
    fn first(&self, row: Row) -> Vec<Strengths> {
        let lambdas = match (row.is_ours(), self.staged) {
            (false, _) => vec![(0.0, 0.0)],
            (true, true) => vec![(self.lambda_g[0], self.lambda_perp[self.lambda_perp.len() / 2])],
            (true, false) => self.lambdas(),
        };
        let of = |&learning_rate: &f64| {
            lambdas.iter().map(move |&(lambda_g, lambda_perp)| Strengths { learning_rate, lambda_g, lambda_perp })
        };
        self.learning_rates.iter().flat_map(of).collect()
    }

    /// Tried once the best learning rate of the first is known, those of the first among them.
    fn second(&self, row: Row, best: Strengths) -> Vec<Strengths> {
        if !(self.staged && row.is_ours()) {
            return Vec::new();
        }
        let of = |(lambda_g, lambda_perp)| Strengths { lambda_g, lambda_perp, ..best };
        self.lambdas().into_iter().map(of).collect()
    }

    /// Every pair of λ_G and λ_⊥.
    pub(super) fn lambdas(&self) -> Vec<(f64, f64)> {
        self.lambda_g.iter().flat_map(|&g| self.lambda_perp.iter().map(move |&perp| (g, perp))).collect()
    }

    /// Models of a row on a set, in all rounds.
    pub(super) fn count(&self, row: Row, set: &str, seeds: u64) -> usize {
        let tried = if chosen(row, set).is_some() { 1 } else { self.tried(row) };
        tried + seeds as usize - 1
    }

    /// Settings of a row that are tried on a set that the paper has no strengths for.
    pub(super) fn tried(&self, row: Row) -> usize {
        match self.staged && row.is_ours() {
            true => self.learning_rates.len() + self.lambdas().len() - 1,
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

/// The best of these at seed 0; `None` unless all were run.
fn best(setup: &Setup, models: &Frame, set: &'static str, row: Row, tried: &[Strengths]) -> Result<Option<Strengths>> {
    let mut best: Option<(Strengths, (f64, f64))> = None;
    for &strengths in tried {
        let Some(run) = models.find(&setup.model(&setup.point(set, row, strengths, 0))?) else { return Ok(None) };
        let order = order(run);
        if best.is_none_or(|(_, least)| order < least) {
            best = Some((strengths, order));
        }
    }
    Ok(best.map(|(strengths, _)| strengths))
}

/// What is tried of a row on a set at seed 0 as far as is known, and what is selected once all of it was run.
fn rounds(setup: &Setup, models: &Frame, set: &'static str, row: Row) -> Result<(Vec<Strengths>, Option<Strengths>)> {
    if let Some(strengths) = chosen(row, set) {
        return Ok((vec![strengths], Some(strengths)));
    }
    let mut tried = setup.tuning.first(row);
    let Some(first) = best(setup, models, set, row, &tried)? else { return Ok((tried, None)) };
    tried.extend(setup.tuning.second(row, first).into_iter().filter(|strengths| *strengths != first));
    let selected = best(setup, models, set, row, &tried)?;
    Ok((tried, selected))
}

/// What a row is trained with on a set; `None` until that is known.
pub(super) fn selected(setup: &Setup, models: &Frame, set: &'static str, row: Row) -> Result<Option<Strengths>> {
    Ok(rounds(setup, models, set, row)?.1)
}

/// What was tried at seed 0.
#[derive(Debug, Clone, Copy)]
pub(super) struct Tried<'a> {
    pub(super) set: &'static str,
    pub(super) row: Row,
    pub(super) strengths: Strengths,
    pub(super) run: &'a Trained,
}

/// Everything that was tried for sets that the paper has no strengths of.
pub(super) fn tried<'a>(setup: &Setup, models: &'a Frame) -> Result<Vec<Tried<'a>>> {
    let mut all = Vec::new();
    for &set in setup.sets.iter().filter(|set| !SETS.contains(set)) {
        for &row in &setup.rows {
            for strengths in rounds(setup, models, set, row)?.0 {
                let model = setup.model(&setup.point(set, row, strengths, 0))?;
                all.extend(models.find(&model).map(|run| Tried { set, row, strengths, run }));
            }
        }
    }
    Ok(all)
}

/// All models that are needed, as far as is known.
pub(super) fn wanted(setup: &Setup, models: &Frame) -> Result<Vec<Point>> {
    let mut wanted = Vec::new();
    for &set in &setup.sets {
        for &row in &setup.rows {
            let (tried, selected) = rounds(setup, models, set, row)?;
            wanted.extend(tried.into_iter().map(|strengths| setup.point(set, row, strengths, 0)));
            if let Some(strengths) = selected {
                wanted.extend((1..setup.seeds).map(|seed| setup.point(set, row, strengths, seed)));
            }
        }
    }
    Ok(wanted)
}

#[cfg(test)]
mod tests {
    use super::super::ACCURACY;
    use super::super::synthetic::{diverged, run, setup, validated};
    use super::*;
    use crate::medmnist::networks::Symmetry;
    use crate::targets::point::Point;

    /// Asks until nothing is missing: the models of each round.
    fn asked(setup: &Setup, result: impl Fn(&Point) -> Trained) -> (Vec<usize>, Frame) {
        let (mut rounds, mut models) = (Vec::new(), Frame::default());
        loop {
            let points = wanted(setup, &models).unwrap();
            let missing: Vec<Point> =
                points.into_iter().filter(|point| models.find(&setup.model(point).unwrap()).is_none()).collect();
            if missing.is_empty() {
                return (rounds, models);
            }
            rounds.push(missing.len());
            for point in missing {
                models.insert(&setup.model(&point).unwrap() as &dyn Point, result(&point));
            }
        }
    }

    const LISTS: [(&str, &str); 4] =
        [("learning_rates", "1e-4,5e-4"), ("lambda_g", "1e-3,1e-4"), ("lambda_perp", "1e-3,1e-2,1"), ("seeds", "3")];

    #[test]
    fn stages_go_on_with_the_best_and_seeds_with_the_best_of_all() {
        let given = [&LISTS[..], &[("sets", "vessel"), ("rows", "so3-ours,cnn"), ("tuning", "staged")]].concat();
        let setup = setup(&ACCURACY, &given);
        let good = |point: &Point| {
            let Strengths { learning_rate, lambda_g, lambda_perp } = point.strengths;
            let share = f64::from(u8::from(learning_rate == 5e-4)) + f64::from(u8::from(lambda_perp == 1e-3));
            run(0.6 + 0.1 * share - lambda_g, 0.1)
        };
        let (rounds, models) = asked(&setup, good);
        // Two rates of each row; five more pairs of λ, and two more seeds of the CNN; two more seeds of ours.
        assert_eq!(rounds, [4, 5 + 2, 2]);
        let all: usize = setup.rows.iter().map(|&row| setup.tuning.count(row, "vessel", 3)).sum();
        assert_eq!((all, models.len()), (13, 13));
        let ours = selected(&setup, &models, "vessel", Row::ours(Symmetry::So3)).unwrap().unwrap();
        assert_eq!(ours, Strengths { learning_rate: 5e-4, lambda_g: 1e-4, lambda_perp: 1e-3 });
    }

    #[test]
    fn a_grid_is_every_combination_and_the_papers_sets_are_not_tuned() {
        let given = [&LISTS[..], &[("sets", "vessel,organ"), ("rows", "o3-ours"), ("tuning", "grid")]].concat();
        let setup = setup(&ACCURACY, &given);
        let (rounds, models) = asked(&setup, |_| run(0.8, 0.1));
        assert_eq!(rounds, [2 * 2 * 3 + 3, 2]);
        let organ = selected(&setup, &models, "organ", Row::ours(Symmetry::O3)).unwrap().unwrap();
        assert_eq!(organ, Strengths { learning_rate: 1e-4, lambda_g: 1e-3, lambda_perp: 1e-3 });
    }

    #[test]
    fn the_test_has_no_say_in_what_is_selected() {
        let given = [&LISTS[..], &[("sets", "vessel"), ("rows", "so3-ours"), ("tuning", "staged")]].concat();
        let setup = setup(&ACCURACY, &given);
        // What is better on validation is worse on the test.
        let opposed = |point: &Point| {
            let Strengths { learning_rate, lambda_g, lambda_perp } = point.strengths;
            let good = 100.0 * learning_rate + 10.0 * lambda_g + 0.1 * lambda_perp;
            validated(0.7 + good, 0.9 - good)
        };
        let models = asked(&setup, opposed).1;
        let ours = selected(&setup, &models, "vessel", Row::ours(Symmetry::So3)).unwrap().unwrap();
        assert_eq!(ours, Strengths { learning_rate: 5e-4, lambda_g: 1e-3, lambda_perp: 1.0 });
    }

    #[test]
    fn ties_go_to_the_smaller_loss_and_what_diverged_is_last() {
        let given = [&LISTS[..], &[("sets", "vessel"), ("rows", "cnn"), ("learning_rates", "1e-2,1e-3,1e-4")]].concat();
        let setup = setup(&ACCURACY, &given);
        let result = |point: &Point| {
            let mut run = run(0.8, 0.1);
            match point.strengths.learning_rate {
                1e-2 => return diverged(),
                1e-3 => run.metrics.insert("validation/loss".into(), 0.5),
                _ => run.metrics.insert("validation/loss".into(), 0.4),
            };
            run
        };
        let models = asked(&setup, result).1;
        assert_eq!(selected(&setup, &models, "vessel", Row::CNN).unwrap().unwrap().learning_rate, 1e-4);
        let models = asked(&setup, |_| diverged()).1;
        assert_eq!(selected(&setup, &models, "vessel", Row::CNN).unwrap().unwrap().learning_rate, 1e-2);
        assert_eq!(selected(&setup, &Frame::default(), "vessel", Row::CNN).unwrap(), None);
    }
}
