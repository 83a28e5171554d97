//! `fig-sensitivity`: test accuracy over a grid of λ_G and λ_⊥, a map for each set and group.

use super::cells::{Cell, majority, seeds};
use super::notes;
use super::settings::SensitivitySettings;
use super::tables::{over, shown, strength};
use super::target::Training;
use super::volume_run::VolumeRun;
use crate::medmnist::MedSettings;
use crate::medmnist::networks::Symmetry;
use crate::medmnist::rows::{Row, Strengths, group_head, group_name};
use crate::medmnist::sets::Set;
use crate::targets::Named;
use crate::targets::curves::field;
use crate::targets::difference::{Difference, ONE_SEED};
use crate::targets::findings::{Figure, Findings};
use crate::targets::point::Frame;
use crate::targets::runs::{self, Run, is_diverged};
use crate::targets::sample::Sample;
use reynolds_report::figure::{HeatMap, Shading, Sheet};
use reynolds_report::{Check, Table};
use reynolds_train::config::RunConfig;

/// λ_⊥ from which on it is large, and up to which it is small.
const LARGE: f64 = 0.1;
const SMALL: f64 = 1e-3;

impl SensitivitySettings {
    /// The sets and groups that there is a map of.
    pub(super) fn maps(&self) -> Vec<(Set, Symmetry)> {
        self.sets.iter().flat_map(|set| self.groups.iter().map(move |group| (set, group))).collect()
    }

    /// The strengths of a map, by λ_G, then λ_⊥.
    pub(super) fn strengths(&self, set: Set, group: Symmetry) -> Vec<Strengths> {
        let paper = Row::ours(group).strengths(set);
        let learning_rate = paper.map_or(self.run.train.learning_rate, |paper| paper.learning_rate);
        let perps = self.lambda_perp.increasing();
        let of =
            |&lambda_g: &f64| perps.iter().map(move |&lambda_perp| Strengths { learning_rate, lambda_g, lambda_perp });
        self.lambda_g.as_slice().iter().flat_map(of).collect()
    }
}

impl Training for SensitivitySettings {
    fn run(&self) -> &RunConfig<MedSettings> {
        &self.run
    }

    fn sets(&self) -> Vec<Set> {
        self.sets.as_slice().to_vec()
    }

    fn wanted(&self, _: &Frame) -> Vec<VolumeRun> {
        let mut wanted = Vec::new();
        for (set, group) in self.maps() {
            for strengths in self.strengths(set, group) {
                let run = VolumeRun::new(&self.run, set, Row::ours(group), strengths);
                wanted.extend(seeds(self.run.seed, self.seeds).map(|seed| run.seeded(seed)));
            }
        }
        wanted
    }
}

/// What comes of the maps.
pub(super) fn findings(settings: &SensitivitySettings, frame: &Frame) -> Findings {
    let maps = maps(settings, frame);
    Findings {
        tables: vec![table(settings, &maps)],
        csv: csv(&maps),
        figures: vec![figure(settings, &maps)],
        checks: checks(&maps),
        notes: notes::of_sensitivity(settings),
        ..Findings::default()
    }
}

/// The cells of a set and group that were run, by λ_G, then λ_⊥.
struct Map<'a> {
    set: Set,
    group: Symmetry,
    cells: Vec<Cell<'a>>,
}

/// All maps of which every cell was run.
fn maps<'a>(settings: &SensitivitySettings, frame: &'a Frame) -> Vec<Map<'a>> {
    let mut maps = Vec::new();
    for (set, group) in settings.maps() {
        let row = Row::ours(group);
        let cell = |strengths| {
            let run = VolumeRun::new(&settings.run, set, row, strengths);
            let runs = run.over_seeds(frame, seeds(settings.run.seed, settings.seeds));
            Cell { set, row, strengths, runs }
        };
        let cells: Vec<Cell<'a>> = settings.strengths(set, group).into_iter().map(cell).collect();
        if cells.iter().all(|cell| !cell.runs.is_empty()) {
            maps.push(Map { set, group, cells });
        }
    }
    maps
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
fn figure(settings: &SensitivitySettings, maps: &[Map<'_>]) -> Figure {
    let (across, down) = (settings.lambda_g.as_slice(), settings.lambda_perp.increasing());
    let (columns, rows) = (across.len(), down.len());
    let mut sheet = Sheet::new(settings.groups.as_slice().len(), 0.0);
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
        let across = across.iter().map(|&value| strength(value)).collect();
        let down = down.iter().rev().map(|&value| strength(value)).collect();
        let drawing =
            HeatMap::new(columns, shares, Shading::Linear { high: 1.0 }).numbers(numbers).labels(down, across);
        let title = format!("{}, {}", map.set.head(), group_head(map.group));
        sheet.add(title, drawing, vec!["λ_G to the right, λ_⊥ upwards".into()]);
    }
    let caption = format!(
        "Test accuracy of ours at the best validation accuracy, {}; white is the lowest of a map and deep blue its highest.",
        over(settings.seeds)
    );
    Figure { name: "fig-sensitivity", svg: sheet.svg(), caption }
}

/// The best cell of each map, and how far apart its cells are.
fn table(settings: &SensitivitySettings, maps: &[Map<'_>]) -> Table {
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
        over(settings.seeds)
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
            map.set.head(),
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
fn csv(maps: &[Map<'_>]) -> String {
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
                map.set.name(),
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
fn checks(maps: &[Map<'_>]) -> Vec<Check> {
    maps.iter().filter_map(direction).collect()
}

fn direction(map: &Map<'_>) -> Option<Check> {
    let large = match map.set {
        Set::NODULE | Set::SYNAPSE => true,
        Set::ORGAN | Set::Shapes => false,
        _ => return None,
    };
    let (above, below) = (map.by_seed(|perp| perp >= LARGE)?, map.by_seed(|perp| perp <= SMALL)?);
    let difference = Difference::new(&above, &below);
    let which = if large { "larger" } else { "smaller" };
    let claim = format!("{}, {}: {which} λ_⊥ is better", map.set.head(), group_head(map.group));
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
    use super::super::budget;
    use super::super::synthetic::{given, models, run, validated};
    use super::*;
    use crate::medmnist::data::MedSet;
    use crate::targets::Budget;

    fn quick(assignments: &[(&str, &str)]) -> SensitivitySettings {
        given(budget::sensitivity(Budget::Quick), assignments)
    }

    const LIST: &str = "1e-4,1e-3,1e-2,1e-1,1";

    #[test]
    fn maps_are_whole_and_say_which_way_is_better() {
        let given = [("sets", "organ,vessel,nodule"), ("lambda_g", LIST), ("lambda_perp", LIST), ("seeds", "2")];
        let settings = quick(&given);
        assert_eq!(settings.wanted(&Frame::default()).len(), 3 * 2 * 25 * 2);
        let all = models(&settings, |one| {
            let Strengths { lambda_g, lambda_perp, .. } = one.strengths();
            run(0.9 - 0.1 * lambda_perp - 0.01 * lambda_g, 0.1)
        });
        let maps = maps(&settings, &all);
        assert_eq!(maps.len(), 6);
        let svg = figure(&settings, &maps).svg;
        assert!(svg.contains(">0.800<") || svg.contains(">0.790<"), "{svg}");
        assert!(svg.contains("Organ, SO(3)") && svg.contains("Vessel, O(3)") && !svg.contains("NaN"));
        // Smaller is better everywhere: so for Organ, not for Nodule; nothing is said of Vessel.
        let verdicts: Vec<(bool, String)> = checks(&maps).into_iter().map(|check| (check.held, check.claim)).collect();
        assert_eq!(
            verdicts.iter().map(|(held, _)| *held).collect::<Vec<_>>(),
            [false, false, true, true],
            "{verdicts:?}"
        );
        let text = table(&settings, &maps).to_string();
        let organ = text.lines().find(|line| line.starts_with("Organ")).unwrap();
        assert_eq!(organ.split_whitespace().take(5).collect::<Vec<_>>(), ["Organ", "SO(3)", "1e-4", "1e-4", "0.900"]);
        let csv = csv(&maps);
        assert!(csv.lines().count() == 1 + 6 * 25 && csv.lines().all(|line| line.split(',').count() == 12), "{csv}");
    }

    /// What is said of Organ and SO(3), where cells have the accuracy that `of` says.
    fn organ(seeds: &str, of: impl Fn(&VolumeRun) -> f64) -> Check {
        let lists = [("sets", "organ"), ("groups", "so3"), ("lambda_g", LIST), ("lambda_perp", LIST), ("seeds", seeds)];
        let settings = quick(&lists);
        let all = models(&settings, |one| run(of(one), 0.1));
        checks(&maps(&settings, &all)).remove(0)
    }

    #[test]
    fn seeds_are_the_replicates_and_cells_are_not() {
        let small = |one: &VolumeRun| if one.strengths().lambda_perp <= SMALL { 0.85 } else { 0.8 };
        let check = organ("2", small);
        assert!(check.held && check.found.contains("over seeds 0.000"), "{check}");
        // One seed has twenty cells and no spread.
        let once = organ("1", small);
        assert!(!once.held && once.found.ends_with(ONE_SEED), "{once}");
        // Seeds 0.1 apart have a standard error of 0.05 on each side: more than what λ_⊥ does, however many cells agree.
        let noisy = organ("2", |one| small(one) + 0.1 * one.config.seed as f64);
        assert!(!noisy.held && noisy.found.contains("over seeds 0.071"), "{noisy}");
        // Cells that differ by λ_G, in all seeds alike, are no noise.
        let sloped = organ("2", |one| small(one) - 0.1 * one.strengths().lambda_g);
        assert!(sloped.held, "{sloped}");
    }

    #[test]
    fn the_best_cell_is_that_of_validation_whatever_the_test_says() {
        let given = [("sets", "organ"), ("groups", "so3"), ("lambda_g", "1e-3"), ("lambda_perp", LIST)];
        let settings = quick(&given);
        let all = models(&settings, |one| {
            let perp = one.strengths().lambda_perp;
            validated(0.8 + 0.1 * perp, 0.8 - 0.1 * perp)
        });
        let maps = maps(&settings, &all);
        assert_eq!(maps[0].best().unwrap().strengths.lambda_perp, 1.0);
    }

    #[test]
    fn of_equal_cells_the_best_has_the_smaller_loss() {
        let given = [("sets", "organ"), ("groups", "so3"), ("lambda_g", "1e-3"), ("lambda_perp", "1e-4,1e-2,1")];
        let settings = quick(&given);
        let all = models(&settings, |one| {
            let mut run = validated(0.8, 0.8);
            let loss = if one.strengths().lambda_perp == 1e-2 { 0.4 } else { 0.5 };
            run.metrics.insert("validation/loss".into(), loss);
            run
        });
        assert_eq!(maps(&settings, &all)[0].best().unwrap().strengths.lambda_perp, 1e-2);
    }

    #[test]
    fn the_learning_rate_is_the_papers_on_its_sets() {
        let settings = quick(&[("sets", "nodule,vessel"), ("train.learning_rate", "2e-4")]);
        let rate = |set| settings.strengths(set, Symmetry::So3)[0].learning_rate;
        assert_eq!([rate(Set::NODULE), rate(Set::File(MedSet::Vessel))], [5e-5, 2e-4]);
    }
}
