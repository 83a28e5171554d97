//! The paper's claims about costs, checked on what was measured.
//!
//! Where its text and its table disagree (see the notes), the text is what is claimed.

use super::cells::{Cell, find};
use super::row::{Mode, head};
use crate::ct::networks::Architecture;
use crate::targets::sample::three_digits;
use reynolds_report::Check;

/// The share by which an unchanged cost may differ.
const UNCHANGED: f64 = 0.05;

/// Every claim about costs for which rows were measured.
pub(super) fn of_modes(cells: &[Cell<'_>]) -> Vec<Check> {
    let fixed = "at a fixed batch the sample-based penalty trains at least 42 % slower than ours (text: 42–47 %)";
    let largest = "at the largest batches of the paper, 4 against 12, it trains at least 54 % slower (text: 54–61 %)";
    let mut checks: Vec<Check> =
        [slower(cells, 0.42, fixed, [4, 4]), slower(cells, 0.54, largest, [4, 12])].into_iter().flatten().collect();
    for claim in [unchanged, inference, residual] {
        checks.extend(Architecture::ALL.into_iter().filter_map(|network| claim(cells, network)));
    }
    checks
}

/// A row and ours, both measured.
fn beside_ours<'a, 'b>(cells: &'a [Cell<'b>], network: Architecture, mode: Mode) -> Option<[&'a Cell<'b>; 2]> {
    let of = |mode| find(cells, network, mode).filter(|cell| cell.cost.is_some());
    Some([of(mode)?, of(Mode::Penalty)?])
}

fn percent(share: f64) -> String {
    format!("{:.0} %", 100.0 * share)
}

/// The share of training throughput that a row loses against another by the paper's table; not a number where it has none.
fn lost(row: &Cell<'_>, against: &Cell<'_>, batches: [usize; 2]) -> f64 {
    let number = |cell: &Cell<'_>, batch: usize| cell.published(&format!("train_{batch}"));
    1.0 - number(row, batches[0]) / number(against, batches[1])
}

/// Sampling against ours, at these batches.
fn slower(cells: &[Cell<'_>], least: f64, claim: &str, batches: [usize; 2]) -> Option<Check> {
    let mut shares = Vec::new();
    for network in Architecture::ALL {
        let Some([sample, ours]) = beside_ours(cells, network, Mode::Sample) else { continue };
        let share = 1.0 - sample.train(batches[0]) / ours.train(batches[1]);
        if share.is_finite() {
            let table = percent(lost(sample, ours, batches));
            shares.push((share, format!("{} {} (the paper's table {table})", head(network), percent(share))));
        }
    }
    let held = shares.iter().all(|(share, _)| *share >= least);
    let found: Vec<String> = shares.into_iter().map(|(_, found)| found).collect();
    (!found.is_empty()).then(|| Check::new(claim, held, found.join(", ")))
}

/// The penalty leaves training as fast and as large.
fn unchanged(cells: &[Cell<'_>], network: Architecture) -> Option<Check> {
    let [plain, ours] = beside_ours(cells, network, Mode::Plain)?;
    let (mut held, mut found) = (true, Vec::new());
    for &batch in ours.batches.iter().filter(|batch| plain.batches.contains(batch)) {
        let share = 1.0 - ours.train(batch) / plain.train(batch);
        held &= share <= UNCHANGED;
        let table = match lost(ours, plain, [batch, batch]) {
            table if table.is_finite() => format!(" (the paper's table {})", percent(table)),
            _ => String::new(),
        };
        found.push(format!("batch {batch} loses {}{table}", percent(share)));
    }
    let most = ours.largest().min(plain.largest());
    let [before, after] = [plain, ours].map(|cell| cell.memory(most));
    if before.is_finite() && after.is_finite() {
        held &= after <= (1.0 + UNCHANGED) * before;
        found.push(format!("{before:.2} → {after:.2} GiB at batch {most}"));
    }
    let claim = format!("{}: the penalty leaves compute and memory of a sample as they are, within 5 %", head(network));
    (!found.is_empty()).then(|| Check::new(claim, held, found.join(", ")))
}

/// Inference is the same with and without the penalty.
fn inference(cells: &[Cell<'_>], network: Architecture) -> Option<Check> {
    let pair = beside_ours(cells, network, Mode::Plain)?;
    let [before, after] = pair.map(Cell::inference);
    let paper = pair.map(|cell| cell.published("inference"));
    let claim = format!("{}: inference is as fast with the penalty as without, within 5 %", head(network));
    let [slow, fast] = [before, after].map(three_digits);
    let found = format!("{slow} → {fast} images/s; the paper's table {} → {}", paper[0], paper[1]);
    before.is_finite().then(|| Check::new(claim, after >= (1.0 - UNCHANGED) * before, found))
}

/// RPP has more parameters. That it is slower is no claim: its kernels are merged, so that speeds differ by noise alone.
fn residual(cells: &[Cell<'_>], network: Architecture) -> Option<Check> {
    let pair = beside_ours(cells, network, Mode::Rpp)?;
    let batch = pair[0].largest().min(pair[1].largest());
    let [training, inference, parameters] =
        [pair.map(|cell| cell.train(batch)), pair.map(Cell::inference), pair.map(Cell::measured_parameters)];
    let held = parameters[0] > parameters[1];
    let speed = |[theirs, ours]: [f64; 2]| format!("{} against {} images/s", three_digits(theirs), three_digits(ours));
    let (train, infer, [theirs, ours]) = (speed(training), speed(inference), parameters);
    let found = format!("parameters {theirs:.0} against {ours:.0}; training {train}, inference {infer}");
    let claim = format!("{}: RPP has more parameters than ours", head(network));
    Some(Check::new(claim, held, found))
}
