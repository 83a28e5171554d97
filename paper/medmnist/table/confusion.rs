//! `fig-confusion`: which classes are taken for which, by the CNN, the SCNN and ours side by side.

use std::fmt::Write as _;

use super::cells::{Cell, find};
use super::settings::TableSettings;
use super::tables::over;
use crate::medmnist::networks::Symmetry;
use crate::medmnist::rows::Row;
use crate::medmnist::sets::{SIDES, Set, rotation_pairs};
use crate::targets::Named;
use crate::targets::difference::{Difference, ONE_SEED};
use crate::targets::findings::Figure;
use crate::targets::sample::Sample;
use reynolds_report::figure::{HeatMap, Shading, Sheet};
use reynolds_report::{Check, Table};

/// Classes of a set that an equivariant network takes for each other, with what they are called.
fn pairs(set: Set) -> Vec<(String, [usize; 2])> {
    match set {
        Set::ORGAN => SIDES.into_iter().map(|(name, pair)| (name.to_string(), pair)).collect(),
        Set::Shapes => {
            let names = set.class_names();
            let called = |pair: [usize; 2]| pair.map(|class| names.get(class).cloned().unwrap_or_default()).join(" / ");
            rotation_pairs().into_iter().map(|pair| (called(pair), pair)).collect()
        }
        _ => Vec::new(),
    }
}

/// The share of the volumes of these pairs that are taken for the other of their pair, and the number of volumes of one seed.
fn confused(cell: &Cell<'_>, pairs: &[[usize; 2]]) -> (f64, f64) {
    let (mut wrong, mut all) = (0.0, 0.0);
    for &[first, second] in pairs {
        wrong += cell.confusion(first, second) + cell.confusion(second, first);
        all +=
            (0..cell.classes()).map(|other| cell.confusion(first, other) + cell.confusion(second, other)).sum::<f64>();
    }
    let classes: Vec<usize> = pairs.iter().flatten().copied().collect();
    (wrong / all, cell.volumes(&classes))
}

/// The share of every seed that did not diverge.
fn by_seed(cell: &Cell<'_>, pairs: &[[usize; 2]]) -> Sample {
    let alone = cell.runs.iter().map(|&run| Cell { runs: vec![run], ..cell.clone() });
    let shares = alone.filter(|cell| cell.diverged() == 0).map(|cell| confused(&cell, pairs).0);
    Sample::new(shares.filter(|share| share.is_finite()).collect())
}

/// A row of panels for each set.
pub(super) fn figure(settings: &TableSettings, cells: &[Cell<'_>]) -> Figure {
    let mut sheet = Sheet::new(settings.rows.as_slice().len(), 0.0);
    let classes = cells.iter().map(Cell::classes).max().unwrap_or(2);
    // Wide enough for the line below each matrix.
    let side = (30.0 * classes as f64).max(150.0);
    sheet.panel = [side, side];
    let letters = cells.iter().flat_map(|cell| cell.set.class_names()).map(|name| name.chars().count()).max();
    let room = 20.0 + 5.0 * letters.unwrap_or(0) as f64;
    (sheet.shared_axes, sheet.label_room, sheet.tick_room) = (false, room, room);
    for cell in cells.iter().filter(|cell| cell.classes() > 0) {
        let count = cell.classes();
        let at: Vec<(usize, usize)> =
            (0..count).flat_map(|truth| (0..count).map(move |other| (truth, other))).collect();
        let of_row = |truth: usize| (0..count).map(|other| cell.confusion(truth, other)).sum::<f64>().max(1.0);
        let shares = at.iter().map(|&(truth, other)| cell.confusion(truth, other) / of_row(truth)).collect();
        let numbers = at.iter().map(|&(truth, other)| format!("{:.0}", cell.confusion(truth, other))).collect();
        let mut names = cell.set.class_names();
        names.resize_with(count, String::new);
        let map = HeatMap::new(count, shares, Shading::Linear { high: 1.0 }).numbers(numbers);
        let title = format!("{}, {}", cell.row.label(), cell.set.head());
        sheet.add(title, map.labels(names.clone(), names).turned(true), vec![format!("accuracy {}", cell.text())]);
    }
    let caption = format!(
        "Confusion of test volumes, summed over {}: rows are the true classes, columns what they are taken for; colours are shares of a row, \
         numbers count volumes.",
        if settings.seeds == 1 { "1 seed".into() } else { format!("{} seeds", settings.seeds) }
    );
    Figure { name: "fig-confusion", svg: sheet.svg(), caption }
}

/// How often the two of each pair are taken for each other.
pub(super) fn table(settings: &TableSettings, cells: &[Cell<'_>]) -> Option<Table> {
    let mut table = Table::new(["set", "classes", "row", "taken for the other", "volumes"]);
    table.caption(format!(
        "classes that differ by a reflection (Organ) or a turn (shapes) alone: the share taken for the other; {}",
        over(settings.seeds)
    ));
    let mut found = false;
    for cell in cells {
        for (name, pair) in pairs(cell.set) {
            let (share, volumes) = confused(cell, &[pair]);
            if share.is_finite() {
                found = true;
                table.row([cell.set.head(), name, cell.row.label(), format!("{share:.3}"), format!("{volumes:.0}")]);
            }
        }
    }
    found.then_some(table)
}

/// A line for every cell of every matrix.
pub(super) fn csv(cells: &[Cell<'_>]) -> String {
    let mut csv = "set,row,seeds,true,predicted,count\n".to_string();
    for cell in cells {
        for truth in 0..cell.classes() {
            for predicted in 0..cell.classes() {
                let count = cell.confusion(truth, predicted);
                let _ = writeln!(
                    csv,
                    "{},{},{},{truth},{predicted},{count}",
                    cell.set.name(),
                    cell.row.name(),
                    cell.runs.len()
                );
            }
        }
    }
    csv
}

/// What the paper says of Organ, and of shapes what follows from their making.
pub(super) fn checks(cells: &[Cell<'_>]) -> Vec<Check> {
    let rows = [Row::CNN, Row::scnn(Symmetry::So3), Row::ours(Symmetry::So3)];
    let mut checks = Vec::new();
    for &set in Set::ALL {
        let [Some(cnn), Some(scnn), Some(ours)] = rows.map(|row| find(cells, set, row)) else { continue };
        let pairs = pairs(set);
        let named = |names: &[&str]| -> Vec<[usize; 2]> {
            pairs
                .iter()
                .filter(|(name, _)| names.is_empty() || names.contains(&name.as_str()))
                .map(|(_, pair)| *pair)
                .collect()
        };
        let what = set.head();
        match set {
            Set::ORGAN => {
                let both = named(&["kidneys", "femurs"]);
                checks.push(fewer(
                    &format!("{what}: ours takes left and right kidneys and femurs for each other less than the SCNN"),
                    ours,
                    scnn,
                    &both,
                ));
                checks.push(fewer(
                    &format!("{what}: the CNN tells femurs apart more reliably than the SCNN"),
                    cnn,
                    scnn,
                    &named(&["femurs"]),
                ));
                checks.push(fewer(
                    &format!("{what}: ours has fewer left-right confusions than the CNN"),
                    ours,
                    cnn,
                    &named(&[]),
                ));
            }
            Set::Shapes => {
                let all = named(&[]);
                checks.push(fewer(
                    &format!("{what}: ours takes the two of a rotation pair for each other less than the SCNN"),
                    ours,
                    scnn,
                    &all,
                ));
            }
            _ => {}
        }
    }
    checks
}

/// One confuses these pairs less than another, by more than 2 standard errors, of volumes and of seeds.
fn fewer(claim: &str, low: &Cell<'_>, high: &Cell<'_>, pairs: &[[usize; 2]]) -> Check {
    let [(few, n), (many, m)] = [low, high].map(|cell| confused(cell, pairs));
    let over_volumes = (few * (1.0 - few) / n + many * (1.0 - many) / m).sqrt();
    let [few_by_seed, many_by_seed] = [low, high].map(|cell| by_seed(cell, pairs));
    let over_seeds = Difference::new(&many_by_seed, &few_by_seed);
    let mut found = format!(
        "{} {few:.3}, {} {many:.3}, standard error {over_volumes:.3} over volumes and {:.3} over seeds",
        low.row.label(),
        high.row.label(),
        over_seeds.error
    );
    if !over_seeds.spread_known {
        found += ONE_SEED;
    }
    let untrained: Vec<String> =
        [low, high].into_iter().filter(|cell| !cell.is_trained()).map(|cell| cell.row.label()).collect();
    if !untrained.is_empty() {
        found += &format!("; not trained: {}", untrained.join(", "));
    }
    Check::new(claim, untrained.is_empty() && over_seeds.rises() && many - few > 2.0 * over_volumes, found)
}

#[cfg(test)]
mod tests {
    use super::super::budget;
    use super::super::cells::cells;
    use super::super::synthetic::{given, models, run};
    use super::super::volume_run::VolumeRun;
    use super::*;
    use crate::medmnist::data::MedSet;
    use crate::medmnist::networks::Architecture;
    use crate::targets::Budget;

    fn quick(assignments: &[(&str, &str)]) -> TableSettings {
        given(budget::confusion(Budget::Quick), assignments)
    }

    #[test]
    fn rows_stand_side_by_side_with_their_counts() {
        let settings = quick(&[("sets", "shapes"), ("seeds", "2")]);
        let accuracy = |one: &VolumeRun| if one.row().architecture == Architecture::Scnn { 0.6 } else { 0.9 };
        let all = models(&settings, |one| run(accuracy(one), 0.1));
        let cells = cells(&settings, &all);
        assert_eq!(cells.iter().map(|cell| cell.row.label()).collect::<Vec<_>>(), ["CNN", "SO(3) SCNN", "SO(3) ours"]);
        let svg = figure(&settings, &cells).svg;
        // 90 and 60 of 100, of two seeds.
        assert!(svg.contains(">180<") && svg.contains(">120<") && svg.contains("SO(3) SCNN, generated shapes"));
        let csv = csv(&cells);
        assert!(csv.contains("shapes,so3-scnn,2,0,1,40\n"), "{csv}");
        let total: f64 = csv.lines().skip(1).map(|line| line.rsplit(',').next().unwrap().parse::<f64>().unwrap()).sum();
        assert!((total - 3.0 * 2.0 * 800.0).abs() < 1e-6);
        // Of the wrong, half are taken for the other of the pair.
        let (share, volumes) = confused(&cells[1], &[[0, 1]]);
        assert!((share - 0.2).abs() < 1e-12 && (volumes - 200.0).abs() < 1e-9, "{share} of {volumes}");
        assert!(table(&settings, &cells).is_some());
    }

    /// Whether ours takes 0 and 1 for each other less than the CNN, where rows have the accuracy that `of` says at a seed.
    fn judged(seeds: &str, of: impl Fn(Row, f64) -> f64) -> Check {
        let settings = quick(&[("sets", "vessel"), ("seeds", seeds)]);
        let all = models(&settings, |one| run(of(one.row(), one.config.seed as f64), 0.1));
        let cells = cells(&settings, &all);
        let [ours, cnn] =
            [Row::ours(Symmetry::So3), Row::CNN].map(|row| find(&cells, Set::File(MedSet::Vessel), row).unwrap());
        fewer("", ours, cnn, &[[0, 1]])
    }

    #[test]
    fn one_seed_and_seeds_that_disagree_show_nothing() {
        let accuracy = |row| if row == Row::CNN { 0.6 } else { 0.9 };
        let once = judged("1", |row, _| accuracy(row));
        assert!(!once.held && once.found.ends_with(ONE_SEED), "{once}");
        // Shares 0.10 and 0.03 in the mean: enough where seeds agree, and not where one has 0.06 and the other 0.14.
        let of =
            |apart: f64| judged("2", move |row, seed| if row == Row::CNN { 0.8 + apart * (0.5 - seed) } else { 0.94 });
        let (agreed, torn) = (of(0.0), of(0.16));
        assert!(agreed.held && agreed.found.ends_with("0.000 over seeds"), "{agreed}");
        assert!(!torn.held && torn.found.ends_with("0.040 over seeds"), "{torn}");
    }

    #[test]
    fn fewer_is_by_more_than_two_standard_errors() {
        let of = |cnn: f64, ours: f64| judged("2", |row, _| if row == Row::CNN { cnn } else { ours }).held;
        // Shares 0.10 and 0.05 of 200: a standard error of 0.026. 0.20 and 0.05: 0.032.
        assert!(!of(0.8, 0.9) && of(0.6, 0.9) && !of(0.9, 0.6) && !of(0.4, 0.9));
    }
}
