//! What the paper says of its table, held against ours, and what it says of its method in general on whatever set was run.
//!
//! ```text
//! higher: by more than 2 se over seeds        matches or beats: not lower by more than 2 se
//! ```
//!
//! No claim is held by rows that are not trained or have fewer than two seeds.

use crate::medmnist::networks::{Architecture, Symmetry};

use super::cells::{Cell, find, share};
use crate::medmnist::rows::{Row, group_head};
use crate::medmnist::sets::Set;
use crate::targets::Named;
use crate::targets::difference::{Difference, ONE_SEED};
use reynolds_report::Check;

/// The relaxed and the strict others of a group.
const OTHERS: [Architecture; 4] = [Architecture::Cnn, Architecture::Scnn, Architecture::Rpp, Architecture::Pscnn];

/// Every claim for which rows were run.
pub(super) fn checks(cells: &[Cell<'_>]) -> Vec<Check> {
    let mut checks = Vec::new();
    let nodule = "Nodule: RPP is the exception, below every other row";
    checks.extend(Symmetry::ALL.iter().copied().filter_map(|group| {
        let others = [Architecture::Cnn, Architecture::Scnn, Architecture::Pscnn, Architecture::Ours];
        below(cells, Set::NODULE, group, Architecture::Rpp, &others, nodule)
    }));
    checks.extend(Symmetry::ALL.iter().copied().filter_map(|group| {
        let claim = "Synapse: rotational symmetry helps: the SCNN is above the CNN";
        below(cells, Set::SYNAPSE, group, Architecture::Cnn, &[Architecture::Scnn], claim)
    }));
    checks.extend(Symmetry::ALL.iter().copied().filter_map(|group| {
        let best = [Architecture::Pscnn, Architecture::Ours];
        best_are(cells, Set::SYNAPSE, group, best, "Synapse: P-SCNN and ours are the best")
    }));
    checks.extend(Symmetry::ALL.iter().copied().filter_map(|group| {
        let others = [Architecture::Cnn, Architecture::Rpp, Architecture::Pscnn, Architecture::Ours];
        let claim = "Organ: strict equivariance is below every other row";
        below(cells, Set::ORGAN, group, Architecture::Scnn, &others, claim)
    }));
    checks.extend(Symmetry::ALL.iter().copied().filter_map(|group| {
        let best = [Architecture::Rpp, Architecture::Ours];
        best_are(cells, Set::ORGAN, group, best, "Organ: ours and RPP are the best")
    }));
    for &set in Set::ALL {
        checks.extend(Symmetry::ALL.iter().copied().filter_map(|group| robust(cells, set, group)));
    }
    checks
}

/// "ours 0.774 ± 0.025".
fn number(cell: &Cell<'_>) -> String {
    format!("{} {}", cell.row.label(), share(&cell.accuracy()))
}

/// The claim with what the rows are, unless they learned nothing or have no spread.
fn judged(claim: String, held: bool, on: &[&Cell<'_>], differences: &[Difference]) -> Check {
    let mut found = on.iter().map(|cell| number(cell)).collect::<Vec<_>>().join(", ");
    let known = differences.iter().all(|difference| difference.spread_known);
    if !known {
        found += ONE_SEED;
    }
    let untrained: Vec<String> = on
        .iter()
        .filter(|cell| !cell.is_trained())
        .map(|cell| format!("{} is not trained", cell.row.label()))
        .collect();
    if !untrained.is_empty() {
        found += &format!("; {}", untrained.join(", "));
    }
    Check::new(claim, held && known && untrained.is_empty(), found)
}

/// The rows of these networks, all of which must have been run.
fn rows<'a, 'b>(cells: &'a [Cell<'b>], set: Set, group: Symmetry, of: &[Architecture]) -> Option<Vec<&'a Cell<'b>>> {
    of.iter().map(|&architecture| find(cells, set, Row::ours(group).beside(architecture))).collect()
}

/// One is below each of the others.
fn below(
    cells: &[Cell<'_>],
    set: Set,
    group: Symmetry,
    low: Architecture,
    others: &[Architecture],
    claim: &str,
) -> Option<Check> {
    let low = rows(cells, set, group, &[low])?.remove(0);
    let others = rows(cells, set, group, others)?;
    let differences: Vec<Difference> =
        others.iter().map(|other| Difference::new(&other.accuracy(), &low.accuracy())).collect();
    let held = differences.iter().all(Difference::rises);
    let claim = format!("{claim} ({})", group_head(group));
    Some(judged(claim, held, &[vec![low], others].concat(), &differences))
}

/// Two are above each of the rest of their group and the CNN.
fn best_are(cells: &[Cell<'_>], set: Set, group: Symmetry, best: [Architecture; 2], claim: &str) -> Option<Check> {
    let rest: Vec<Architecture> = OTHERS.into_iter().filter(|other| !best.contains(other)).collect();
    let (best, rest) = (rows(cells, set, group, &best)?, rows(cells, set, group, &rest)?);
    let pairs = best.iter().flat_map(|high| rest.iter().map(move |low| (high, low)));
    let differences: Vec<Difference> =
        pairs.map(|(high, low)| Difference::new(&high.accuracy(), &low.accuracy())).collect();
    let held = differences.iter().all(Difference::rises);
    Some(judged(format!("{claim} ({})", group_head(group)), held, &[best, rest].concat(), &differences))
}

/// Whatever the symmetry of a set, ours matches or beats every other row of its group and the CNN.
fn robust(cells: &[Cell<'_>], set: Set, group: Symmetry) -> Option<Check> {
    let ours = find(cells, set, Row::ours(group))?;
    let others: Vec<&Cell<'_>> = OTHERS.iter().filter_map(|&other| find(cells, set, ours.row.beside(other))).collect();
    let differences: Vec<Difference> =
        others.iter().map(|other| Difference::new(&ours.accuracy(), &other.accuracy())).collect();
    let lost: Vec<String> = others
        .iter()
        .zip(&differences)
        .filter(|(_, difference)| difference.falls())
        .map(|(other, _)| other.row.label())
        .collect();
    let claim = format!("{}: ours ({}) matches or beats {}", set.head(), group_head(group), labels(&others));
    // A row that learned nothing is no rival, but ours must have learned.
    let mut check = judged(claim, lost.is_empty(), &[ours], &differences);
    check.found = format!("{}; {}", check.found, others.iter().map(|cell| number(cell)).collect::<Vec<_>>().join(", "));
    if !lost.is_empty() {
        check.found += &format!("; below {} by more than 2 standard errors", lost.join(", "));
    }
    (!others.is_empty()).then_some(check)
}

fn labels(cells: &[&Cell<'_>]) -> String {
    cells.iter().map(|cell| cell.row.label()).collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use super::super::cells::cells;
    use super::super::paper;
    use super::super::synthetic::{models, run, table};
    use super::*;

    /// Verdicts where every row has the accuracy that `of` says, with a deviation of 0.001 over seeds.
    fn judged(sets: &str, seeds: &str, of: impl Fn(Set, Row) -> f64) -> Vec<Check> {
        let settings = table(&[("sets", sets), ("seeds", seeds)]);
        let spread = |seed: u64| 0.001 * (seed as f64 - 1.0);
        let all = models(&settings, |one| run(of(one.set(), one.row()) + spread(one.config.seed), 0.1));
        checks(&cells(&settings, &all))
    }

    fn held(checks: &[Check]) -> Vec<bool> {
        checks.iter().map(|check| check.held).collect()
    }

    #[test]
    fn the_papers_own_table_holds_its_claims_where_its_spread_allows() {
        let paper = |set: Set, row| paper::accuracy(row, set).unwrap().0;
        let found = judged("organ,synapse,nodule", "3", paper);
        let claims =
            |start: &str| -> Vec<&Check> { found.iter().filter(|check| check.claim.starts_with(start)).collect() };
        assert!(claims("Synapse: ").iter().all(|check| check.held), "{found:?}");
        let organ: Vec<bool> = claims("Organ: ").iter().map(|check| check.held).collect();
        // Strict rows are below, ours and RPP are best, in both groups; ours of SO(3) is below RPP once the spread is small.
        assert_eq!(organ, [true, true, true, true, false, true], "{found:?}");
        let nodule: Vec<bool> = claims("Nodule: ").iter().map(|check| check.held).collect();
        assert_eq!(nodule, [true, true, false, false], "{found:?}");
    }

    #[test]
    fn a_set_that_the_paper_has_not_is_judged_by_what_it_says_of_every_set() {
        let even = judged("vessel,shapes", "2", |_, _| 0.9);
        assert_eq!(held(&even), [true; 4], "{even:?}");
        let lost = judged("vessel", "2", |_, row| if row.is_ours() { 0.8 } else { 0.9 });
        assert_eq!(held(&lost), [false; 2]);
        assert!(lost[0].found.contains("below CNN, SO(3) SCNN, SO(3) RPP, SO(3) P-SCNN by more than 2"), "{lost:?}");
    }

    #[test]
    fn one_seed_and_rows_that_learned_nothing_show_nothing() {
        let once = judged("vessel", "1", |_, _| 0.9);
        assert!(once.iter().all(|check| !check.held && check.found.contains("fewer than two seeds")), "{once:?}");
        let idle = judged("vessel,organ", "2", |_, _| 0.51);
        assert!(idle.iter().all(|check| !check.held && check.found.contains("is not trained")), "{idle:?}");
    }
}
