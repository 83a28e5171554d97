//! `fig-sensitivity`: test accuracy over a grid of λ_G and λ_⊥, a map for each set and group.

use crate::medmnist::networks::Symmetry;

use super::cells::{Cell, majority, seeds};
use super::paper::{Strengths, chosen};
use super::row::{Row, group_head, group_name};
use super::sets::{self, head};
use super::settings::{Point, Setup};
use super::tables::{over, shown, strength};
use crate::targets::curves::field;
use crate::targets::difference::{Difference, ONE_SEED};
use crate::targets::findings::Figure;
use crate::targets::point::Frame;
use crate::targets::runs::{self, Run, is_diverged};
use crate::targets::sample::Sample;
use reynolds_report::figure::{HeatMap, Shading, Sheet};
use reynolds_report::{Check, Table};
use reynolds_train::error::Result;

/// λ_⊥ from which on it is large, and up to which it is small.
const LARGE: f64 = 0.1;
const SMALL: f64 = 1e-3;

/// Models of a set and group at seed 0, by λ_G, then λ_⊥.
fn grid(setup: &Setup, set: &'static str, group: Symmetry) -> Vec<Point> {
    let row = Row::ours(group);
    let learning_rate = chosen(row, set).map_or(setup.tuning.learning_rates[0], |paper| paper.learning_rate);
    let of = |(lambda_g, lambda_perp)| setup.point(set, row, Strengths { learning_rate, lambda_g, lambda_perp }, 0);
    setup.tuning.lambdas().into_iter().map(of).collect()
}

/// All models.
pub(super) fn wanted(setup: &Setup) -> Vec<Point> {
    let maps = setup.sets.iter().flat_map(|&set| setup.groups.iter().map(move |&group| (set, group)));
    let points = maps.flat_map(|(set, group)| grid(setup, set, group));
    points.flat_map(|point| (0..setup.seeds).map(move |seed| Point { seed, ..point })).collect()
}

/// The cells of a set and group that were run, by λ_G, then λ_⊥.
pub(super) struct Map<'a> {
    set: &'static str,
    group: Symmetry,
    cells: Vec<Cell<'a>>,
}

/// All maps of which every cell was run.
pub(super) fn maps<'a>(setup: &Setup, models: &'a Frame) -> Result<Vec<Map<'a>>> {
    let mut maps = Vec::new();
    for &set in &setup.sets {
        for &group in &setup.groups {
            let mut cells = Vec::new();
            for point in grid(setup, set, group) {
                let runs = seeds(setup, models, point)?;
                cells.push(Cell { set, row: point.row, strengths: point.strengths, runs });
            }
            if cells.iter().all(|cell| !cell.runs.is_empty()) {
                maps.push(Map { set, group, cells });
            }
        }
    }
    Ok(maps)
}

impl Map<'_> {
    /// Mean accuracies of the cells.
    fn accuracies(&self) -> Sample {
        Sample::new(self.cells.iter().map(|cell| cell.accuracy().mean()).filter(|mean| mean.is_finite()).collect())
    }

    /// Mean accuracy over the cells with these λ_⊥, a number for each seed that all of them finished; `None` if there are no such cells.
    ///
    /// Cells differ by more than chance, so that they are no replicates.
    fn by_seed(&self, fits: impl Fn(f64) -> bool) -> Option<Sample> {
        let fitting: Vec<&Cell<'_>> = self.cells.iter().filter(|cell| fits(cell.strengths.lambda_perp)).collect();
        let at = |cell: &&Cell<'_>, seed: u64| {
            let run = cell.runs.iter().find(|(other, run)| *other == seed && !is_diverged(run));
            run.map(|(_, run)| run.metric("test/accuracy")).filter(|accuracy| accuracy.is_finite())
        };
        let mean = |&(seed, _): &Run<'_>| {
            let all: Option<Vec<f64>> = fitting.iter().map(|cell| at(cell, seed)).collect();
            all.map(|all| Sample::new(all).mean())
        };
        fitting.first().map(|first| Sample::new(first.runs.iter().filter_map(mean).collect()))
    }

    /// The cell with the best validation accuracy, of equal ones the smaller loss.
    fn best(&self) -> Option<&Cell<'_>> {
        let mean = |cell: &Cell<'_>, metric| runs::sample(&cell.runs, metric).mean();
        let order = |cell: &Cell<'_>| [-mean(cell, "validation/accuracy"), mean(cell, "validation/loss")];
        let finite = self.cells.iter().filter(|cell| order(cell)[0].is_finite());
        finite.reduce(|best, cell| if order(cell) < order(best) { cell } else { best })
    }
}

/// A map for each set and group, sets downwards.
pub(super) fn figure(setup: &Setup, maps: &[Map<'_>]) -> Figure {
    let (columns, rows) = (setup.tuning.lambda_g.len(), setup.tuning.lambda_perp.len());
    let mut sheet = Sheet::new(setup.groups.len(), 0.0);
    sheet.panel = [44.0 * columns as f64, 30.0 * rows as f64];
    (sheet.shared_axes, sheet.label_room) = (false, 34.0);
    for map in maps {
        // Rows of the picture are λ_⊥, the largest above.
        let at = |row: usize, column: usize| map.cells[column * rows + (rows - 1 - row)].accuracy().mean();
        let values: Vec<f64> =
            (0..rows).flat_map(|row| (0..columns).map(move |column| (row, column))).map(|(r, c)| at(r, c)).collect();
        let finite = || values.iter().copied().filter(|value| value.is_finite());
        let (low, high) = (finite().fold(f64::INFINITY, f64::min), finite().fold(f64::NEG_INFINITY, f64::max));
        let width = if high > low { high - low } else { 1.0 };
        let shares = values.iter().map(|value| if value.is_finite() { (value - low) / width } else { 0.0 }).collect();
        let numbers = values.iter().map(|&value| shown(value, |value| format!("{value:.3}"))).collect();
        let across = setup.tuning.lambda_g.iter().map(|&value| strength(value)).collect();
        let down = setup.tuning.lambda_perp.iter().rev().map(|&value| strength(value)).collect();
        let drawing =
            HeatMap::new(columns, shares, Shading::Linear { high: 1.0 }).numbers(numbers).labels(down, across);
        let title = format!("{}, {}", head(map.set), group_head(map.group));
        sheet.add(title, drawing, vec!["λ_G to the right, λ_⊥ upwards".into()]);
    }
    let caption = format!(
        "Test accuracy of ours at the best validation accuracy, {}; white is the lowest of a map and deep blue its highest.",
        over(setup)
    );
    Figure { name: "fig-sensitivity", svg: sheet.svg(), caption }
}

/// The best cell of each map, and how far apart its cells are.
pub(super) fn table(setup: &Setup, maps: &[Map<'_>]) -> Table {
    let mut table = Table::new([
        "set",
        "group",
        "best λ_G",
        "best λ_⊥",
        "accuracy there",
        "lowest",
        "highest",
        "most frequent class",
    ]);
    table.caption(format!(
        "the best by validation accuracy of every map, its test accuracy ({}), and the range of the map",
        over(setup)
    ));
    for map in maps {
        let Some(best) = map.best() else { continue };
        let all = map.accuracies();
        let range = [
            all.values().iter().copied().fold(f64::INFINITY, f64::min),
            all.values().iter().copied().fold(0.0, f64::max),
        ];
        let [low, high] = range.map(|value| shown(value, |value| format!("{value:.3}")));
        table.row([
            head(map.set),
            group_head(map.group).into(),
            strength(best.strengths.lambda_g),
            strength(best.strengths.lambda_perp),
            best.text(),
            low,
            high,
            shown(majority(&map.cells, map.set), |value| format!("{value:.3}")),
        ]);
    }
    table
}

/// A line for every cell.
pub(super) fn csv(maps: &[Map<'_>]) -> String {
    let mut csv = "set,group,learning_rate,lambda_g,lambda_perp,seeds,trained,accuracy_mean,accuracy_sd,auc_mean,validation_accuracy_mean,defect_mean\n".to_string();
    for map in maps {
        for cell in &map.cells {
            let Strengths { learning_rate, lambda_g, lambda_perp } = cell.strengths;
            let accuracy = cell.accuracy();
            let validation = runs::sample(&cell.runs, "validation/accuracy").mean();
            let numbers = [
                accuracy.mean(),
                accuracy.deviation(),
                cell.test("auc").mean(),
                validation,
                cell.test("defect").mean(),
            ];
            csv += &format!(
                "{},{},{learning_rate},{lambda_g},{lambda_perp},{},{}",
                map.set,
                group_name(map.group),
                cell.runs.len(),
                cell.is_trained()
            );
            csv += &(numbers.map(field).concat() + "\n");
        }
    }
    csv
}

/// Nodule and Synapse benefit from a large λ_⊥, Organ from a small one; shapes, whose labels are orientations, too.
pub(super) fn checks(maps: &[Map<'_>]) -> Vec<Check> {
    maps.iter().filter_map(direction).collect()
}

fn direction(map: &Map<'_>) -> Option<Check> {
    let large = match map.set {
        "nodule" | "synapse" => true,
        "organ" | sets::SHAPES => false,
        _ => return None,
    };
    let (above, below) = (map.by_seed(|perp| perp >= LARGE)?, map.by_seed(|perp| perp <= SMALL)?);
    let difference = Difference::new(&above, &below);
    let which = if large { "larger" } else { "smaller" };
    let claim = format!("{}, {}: {which} λ_⊥ is better", head(map.set), group_head(map.group));
    let trained = map.best().is_some_and(Cell::is_trained);
    let held = trained && if large { difference.rises() } else { difference.falls() };
    let mut found = format!(
        "mean accuracy {:.3} for λ_⊥ ≥ {LARGE}, {:.3} for λ_⊥ ≤ {SMALL}, standard error of the difference over seeds {:.3}",
        above.mean(),
        below.mean(),
        difference.error
    );
    if !difference.spread_known {
        found += ONE_SEED;
    }
    if !trained {
        found += "; the best cell is not trained";
    }
    Some(Check::new(claim, held, found))
}

#[cfg(test)]
mod tests {
    use super::super::SENSITIVITY;
    use super::super::synthetic::{models, run, setup, validated};
    use super::*;

    const LIST: &str = "1e-4,1e-3,1e-2,1e-1,1";

    #[test]
    fn maps_are_whole_and_say_which_way_is_better() {
        let given = [("sets", "organ,vessel,nodule"), ("lambda_g", LIST), ("lambda_perp", LIST), ("seeds", "2")];
        let setup = setup(&SENSITIVITY, &given);
        assert_eq!(wanted(&setup).len(), 3 * 2 * 25 * 2);
        let all = models(&SENSITIVITY, &setup, |point| {
            let Strengths { lambda_g, lambda_perp, .. } = point.strengths;
            run(0.9 - 0.1 * lambda_perp - 0.01 * lambda_g, 0.1)
        });
        let maps = maps(&setup, &all).unwrap();
        assert_eq!(maps.len(), 6);
        let svg = figure(&setup, &maps).svg;
        assert!(svg.contains(">0.800<") || svg.contains(">0.790<"), "{svg}");
        assert!(svg.contains("Organ, SO(3)") && svg.contains("Vessel, O(3)") && !svg.contains("NaN"));
        // Smaller is better everywhere: so for Organ, not for Nodule; nothing is said of Vessel.
        let verdicts: Vec<(bool, String)> = checks(&maps).into_iter().map(|check| (check.held, check.claim)).collect();
        assert_eq!(
            verdicts.iter().map(|(held, _)| *held).collect::<Vec<_>>(),
            [false, false, true, true],
            "{verdicts:?}"
        );
        let text = table(&setup, &maps).to_string();
        let organ = text.lines().find(|line| line.starts_with("Organ")).unwrap();
        assert_eq!(organ.split_whitespace().take(5).collect::<Vec<_>>(), ["Organ", "SO(3)", "1e-4", "1e-4", "0.900"]);
        let csv = csv(&maps);
        assert!(csv.lines().count() == 1 + 6 * 25 && csv.lines().all(|line| line.split(',').count() == 12), "{csv}");
    }

    /// What is said of Organ and SO(3), where cells have the accuracy that `of` says.
    fn organ(seeds: &str, of: impl Fn(&Point) -> f64) -> Check {
        let lists = [("sets", "organ"), ("groups", "so3"), ("lambda_g", LIST), ("lambda_perp", LIST), ("seeds", seeds)];
        let setup = setup(&SENSITIVITY, &lists);
        let all = models(&SENSITIVITY, &setup, |point| run(of(point), 0.1));
        checks(&maps(&setup, &all).unwrap()).remove(0)
    }

    #[test]
    fn seeds_are_the_replicates_and_cells_are_not() {
        let small = |point: &Point| if point.strengths.lambda_perp <= SMALL { 0.85 } else { 0.8 };
        let check = organ("2", small);
        assert!(check.held && check.found.contains("over seeds 0.000"), "{check}");
        // One seed has twenty cells and no spread.
        let once = organ("1", small);
        assert!(!once.held && once.found.ends_with(ONE_SEED), "{once}");
        // Seeds 0.1 apart have a standard error of 0.05 on each side: more than what λ_⊥ does, however many cells agree.
        let noisy = organ("2", |point| small(point) + 0.1 * point.seed as f64);
        assert!(!noisy.held && noisy.found.contains("over seeds 0.071"), "{noisy}");
        // Cells that differ by λ_G, in all seeds alike, are no noise.
        let sloped = organ("2", |point| small(point) - 0.1 * point.strengths.lambda_g);
        assert!(sloped.held, "{sloped}");
    }

    #[test]
    fn the_best_cell_is_that_of_validation_whatever_the_test_says() {
        let given = [("sets", "organ"), ("groups", "so3"), ("lambda_g", "1e-3"), ("lambda_perp", LIST)];
        let setup = setup(&SENSITIVITY, &given);
        let all = models(&SENSITIVITY, &setup, |point| {
            let perp = point.strengths.lambda_perp;
            validated(0.8 + 0.1 * perp, 0.8 - 0.1 * perp)
        });
        let maps = maps(&setup, &all).unwrap();
        assert_eq!(maps[0].best().unwrap().strengths.lambda_perp, 1.0);
    }

    #[test]
    fn of_equal_cells_the_best_has_the_smaller_loss() {
        let given = [("sets", "organ"), ("groups", "so3"), ("lambda_g", "1e-3"), ("lambda_perp", "1e-4,1e-2,1")];
        let setup = setup(&SENSITIVITY, &given);
        let all = models(&SENSITIVITY, &setup, |point| {
            let mut run = validated(0.8, 0.8);
            let loss = if point.strengths.lambda_perp == 1e-2 { 0.4 } else { 0.5 };
            run.metrics.insert("validation/loss".into(), loss);
            run
        });
        assert_eq!(maps(&setup, &all).unwrap()[0].best().unwrap().strengths.lambda_perp, 1e-2);
    }

    #[test]
    fn the_learning_rate_is_the_papers_on_its_sets() {
        let setup = setup(&SENSITIVITY, &[("sets", "nodule,vessel"), ("learning_rates", "2e-4")]);
        let rate = |set: &'static str| grid(&setup, set, Symmetry::So3)[0].strengths.learning_rate;
        assert_eq!([rate("nodule"), rate("vessel")], [5e-5, 2e-4]);
    }
}
