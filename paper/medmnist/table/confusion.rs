//! `fig-confusion`: confusion matrices of the CNN, the SCNN and ours side by side.

use super::cells::cells;
use super::settings::Table as Keys;
use super::*;
use crate::medmnist::data::shapes::ROTATION_PAIRS;
use crate::medmnist::figures::confusion_map;
use crate::medmnist::sets::SIDES;
use reynolds_report::Csv;
use reynolds_report::csv::Field;

pub(super) fn findings(settings: &TargetSettings<Keys>, frame: &Frame) -> Findings {
    let cells = cells(settings, frame);
    Findings {
        tables: std::iter::once(accuracy::table(settings, &cells)).chain(table(settings, &cells)).collect(),
        csv: csv(&cells),
        more: accuracy::results(&cells, frame),
        figures: vec![figure(settings, &cells)],
        checks: checks(&cells),
        notes: notes::of_table(settings),
        ..Findings::default()
    }
}

/// Counts `[true][predicted]` of the runs that did not diverge, summed.
fn matrix(runs: &Runs<'_>) -> Vec<Vec<f64>> {
    let counts = |truth: usize, predicted: usize| -> Vec<f64> {
        let name = format!("test/confusion/{truth}/{predicted}");
        let finished = runs.iter().map(|(_, run)| run).filter(|run| !is_diverged(run));
        finished.map(|run| run.metric(&name)).filter(|count| count.is_finite()).collect()
    };
    let classes = (0..).take_while(|&class| !counts(class, class).is_empty()).count();
    let row = |truth: usize| (0..classes).map(|predicted| counts(truth, predicted).iter().sum()).collect();
    (0..classes).map(row).collect()
}

/// Pairs of classes of a set that an equivariant network confuses, with their names.
fn pairs(set: Set) -> Vec<(String, [usize; 2])> {
    match set {
        Set::Organ => SIDES.into_iter().map(|(name, pair)| (name.to_string(), pair)).collect(),
        Set::Shapes => {
            let names = set.class_names();
            let named = |pair: [usize; 2]| (pair.map(|class| names[class].as_str()).join(" / "), pair);
            ROTATION_PAIRS.into_iter().map(named).collect()
        }
        _ => Vec::new(),
    }
}

/// The share of the volumes of these pairs that are taken for the other class of their pair, and the number of volumes of one seed.
fn confused(runs: &Runs<'_>, pairs: &[[usize; 2]]) -> (f64, f64) {
    let matrix = matrix(runs);
    let row = |class: usize| matrix.get(class).map_or(&[][..], Vec::as_slice);
    let taken = |truth: usize, predicted: usize| row(truth).get(predicted).copied().unwrap_or(0.0);
    let wrong: f64 = pairs.iter().map(|&[first, second]| taken(first, second) + taken(second, first)).sum();
    let all: f64 = pairs.iter().flatten().map(|&class| row(class).iter().sum::<f64>()).sum();
    (wrong / all, all / (runs.len() - runs.diverged()).max(1) as f64)
}

fn figure(settings: &TargetSettings<Keys>, cells: &[Cell<'_>]) -> Figure {
    let drawn: Vec<(&Cell<'_>, Vec<Vec<f64>>)> = cells.iter().map(|cell| (cell, matrix(&cell.runs))).collect();
    let mut sheet = Sheet::new(settings.own.rows.as_slice().len(), 0.0);
    let classes = drawn.iter().map(|(_, matrix)| matrix.len()).max().unwrap_or(2);
    // Wide enough for the line below each matrix.
    let side = (30.0 * classes as f64).max(150.0);
    sheet.panel = [side, side];
    let letters = cells.iter().flat_map(|cell| cell.run.set().class_names()).map(|name| name.chars().count()).max();
    let room = 20.0 + 5.0 * letters.unwrap_or(0) as f64;
    (sheet.shared_axes, sheet.label_room, sheet.tick_room) = (false, room, room);
    for (cell, matrix) in drawn.iter().filter(|(_, matrix)| !matrix.is_empty()) {
        let mut names = cell.run.set().class_names();
        names.resize_with(matrix.len(), String::new);
        let title = format!("{}, {}", cell.label(), cell.run.set().head());
        sheet.add(title, confusion_map(&names, &matrix.concat()), vec![format!("accuracy {}", cell.text())]);
    }
    let caption = format!(
        "Confusion of test volumes, summed over {}: rows are the true classes, columns what they are taken for; colours are shares of a row, \
         numbers count volumes.",
        runs::seeds(settings.own.seeds)
    );
    Figure { name: "fig-confusion", svg: sheet.svg(), caption }
}

fn table(settings: &TargetSettings<Keys>, cells: &[Cell<'_>]) -> Option<Table> {
    let mut table = Table::new(["set", "classes", "row", "taken for the other", "volumes"]);
    let mut found = false;
    for cell in cells {
        for (name, pair) in pairs(cell.run.set()) {
            let (share, volumes) = confused(&cell.runs, &[pair]);
            if share.is_finite() {
                found = true;
                let (share, volumes) = (decimals::<3>(share), decimals::<0>(volumes));
                table.row([cell.run.set().head().into(), name, cell.label(), share, volumes]);
            }
        }
    }
    table.caption(format!(
        "classes that differ by a reflection (Organ) or a turn (shapes) alone: the share taken for the other; {}",
        over(settings.own.seeds)
    ));
    found.then_some(table)
}

fn csv(cells: &[Cell<'_>]) -> String {
    let mut csv = Csv::new(["set", "row", "seeds", "true", "predicted", "count"]);
    for cell in cells {
        for (truth, row) in matrix(&cell.runs).into_iter().enumerate() {
            for (predicted, count) in row.into_iter().enumerate() {
                let names = [cell.run.set().name(), cell.row().name()].map(Field::from);
                let numbers = [cell.runs.len(), truth, predicted].map(Field::from);
                csv.row(names.into_iter().chain(numbers).chain([count.into()]));
            }
        }
    }
    csv.to_string()
}

/// The paper's claims about Organ, and one about shapes that follows from how they are made.
fn checks(cells: &[Cell<'_>]) -> Vec<Check> {
    let [cnn, scnn, ours] = [Row::CNN, Row::scnn(Symmetry::So3), Row::ours(Symmetry::So3)];
    // Set, claim, which row confuses less than which, and the pairs; none = all.
    let claims: [(Set, &str, Row, Row, &[&str]); 4] = [
        (
            Set::Organ,
            "ours takes left and right kidneys and femurs for each other less than the SCNN",
            ours,
            scnn,
            &["kidneys", "femurs"],
        ),
        (Set::Organ, "the CNN tells femurs apart more reliably than the SCNN", cnn, scnn, &["femurs"]),
        (Set::Organ, "ours has fewer left-right confusions than the CNN", ours, cnn, &[]),
        (Set::Shapes, "ours takes the two of a rotation pair for each other less than the SCNN", ours, scnn, &[]),
    ];
    let check = |(set, claim, low, high, names): (Set, &str, Row, Row, &[&str])| {
        let named = pairs(set).into_iter().filter(|(name, _)| names.is_empty() || names.contains(&name.as_str()));
        let pairs: Vec<[usize; 2]> = named.map(|(_, pair)| pair).collect();
        let all = [cnn, scnn, ours].iter().all(|&row| find(cells, set, row).is_some());
        let (low, high) = (find(cells, set, low)?, find(cells, set, high)?);
        all.then(|| fewer(format!("{}: {claim}", set.head()), low, high, &pairs))
    };
    claims.into_iter().filter_map(check).collect()
}

/// `low` confuses these pairs less than `high`, by more than 2 standard errors over volumes and over seeds.
fn fewer(claim: String, low: &Cell<'_>, high: &Cell<'_>, pairs: &[[usize; 2]]) -> Check {
    let [(few, n), (many, m)] = [low, high].map(|cell| confused(&cell.runs, pairs));
    let over_volumes = (few * (1.0 - few) / n + many * (1.0 - many) / m).sqrt();
    let by_seed = |cell: &Cell<'_>| {
        let shares = cell.runs.iter().map(|run| confused(&Runs::new(vec![run]), pairs).0);
        Sample::new(shares.filter(|share| share.is_finite()).collect())
    };
    let over_seeds = Difference::new(&by_seed(high), &by_seed(low));
    let found = format!(
        "{} {few:.3}, {} {many:.3}, standard error {over_volumes:.3} over volumes and {:.3} over seeds",
        low.label(),
        high.label(),
        over_seeds.error
    );
    let volumes = Difference { mean: many - few, error: over_volumes, spread_known: true };
    let verdict = Verdict::all([over_seeds.rises(), volumes.rises()]);
    judged(claim, verdict, found, [low, high].map(|cell| (cell.label(), cell.is_trained())))
}

#[cfg(test)]
mod tests {
    use super::super::synthetic::{of, run};
    use super::*;
    use crate::targets::synthetic::given;

    fn quick(sets: &str, seeds: &str) -> TargetSettings<Keys> {
        given(budget::confusion(Budget::Quick), &[("sets", sets), ("seeds", seeds)])
    }

    #[test]
    fn rows_stand_side_by_side_with_their_counts() {
        let settings = quick("shapes", "2");
        let all = of(&settings, |one| run(if one.row().architecture == Architecture::Scnn { 0.6 } else { 0.9 }, 0.1));
        let cells = cells(&settings, &all);
        assert_eq!(cells.iter().map(Cell::label).collect::<Vec<_>>(), ["CNN", "SO(3) SCNN", "SO(3) ours"]);
        let svg = figure(&settings, &cells).svg;
        // 90 and 60 of 100, of two seeds.
        assert!(svg.contains(">180<") && svg.contains(">120<") && svg.contains("SO(3) SCNN, generated shapes"));
        let csv = csv(&cells);
        assert!(csv.contains("shapes,so3-scnn,2,0,1,40\n"), "{csv}");
        let total: f64 = csv.lines().skip(1).map(|line| line.rsplit(',').next().unwrap().parse::<f64>().unwrap()).sum();
        assert!((total - 3.0 * 2.0 * 800.0).abs() < 1e-6);
        // Of the wrong, half are taken for the other of the pair.
        let (share, volumes) = confused(&cells[1].runs, &[[0, 1]]);
        assert!((share - 0.2).abs() < 1e-12 && (volumes - 200.0).abs() < 1e-9, "{share} of {volumes}");
        assert!(table(&settings, &cells).is_some());
    }

    /// Whether ours takes 0 and 1 for each other less than the CNN, where rows have the accuracy that `accuracy` says at a seed.
    fn judged(seeds: &str, accuracy: impl Fn(Row, f64) -> f64) -> Check {
        let settings = quick("vessel", seeds);
        let all = of(&settings, |one| run(accuracy(one.row(), one.config.seed as f64), 0.1));
        let cells = cells(&settings, &all);
        let [ours, cnn] = [Row::ours(Symmetry::So3), Row::CNN].map(|row| find(&cells, Set::Vessel, row).unwrap());
        fewer(String::new(), ours, cnn, &[[0, 1]])
    }

    #[test]
    fn fewer_is_by_more_than_two_standard_errors_over_volumes_and_over_seeds() {
        let of = |cnn: f64, ours: f64| judged("2", |row, _| if row == Row::CNN { cnn } else { ours }).is_held();
        // Shares 0.10 and 0.05 of 200: a standard error of 0.026. 0.20 and 0.05: 0.032.
        assert!(!of(0.8, 0.9) && of(0.6, 0.9) && !of(0.9, 0.6) && !of(0.4, 0.9));
        let once = judged("1", |row, _| if row == Row::CNN { 0.6 } else { 0.9 });
        assert!(once.verdict == Verdict::Undecided(Reason::OneSeed), "{once}");
        // Shares 0.10 and 0.03 in the mean: enough where seeds agree, and not where one has 0.06 and the other 0.14.
        let of =
            |apart: f64| judged("2", move |row, seed| if row == Row::CNN { 0.8 + apart * (0.5 - seed) } else { 0.94 });
        let (agreed, torn) = (of(0.0), of(0.16));
        assert!(agreed.is_held() && agreed.found.ends_with("0.000 over seeds"), "{agreed}");
        assert!(!torn.is_held() && torn.found.ends_with("0.040 over seeds"), "{torn}");
    }
}
