//! What the paper says of its table, held against ours.
//!
//! ```text
//! unchanged: |difference| + 2 se ≤ 2 % of the error without +Reg        improved: lower by more than 2 se
//! ```

use super::cells::{Cell, cell};
use super::columns::{COLUMNS, Column};
use crate::smoke::data::{Part, Symmetry};
use crate::smoke::networks::Architecture;
use crate::targets::judge::{Difference, judged, undecided};
use reynolds_report::Check;

/// The share of an error that counts as no change.
const SHARE: f64 = 0.02;

/// Every claim for which cells were run.
pub(super) fn checks(kinds: &[Symmetry], cells: &[Cell<'_>]) -> Vec<Check> {
    let mut checks = Vec::new();
    for &kind in kinds {
        for test in Part::TESTS {
            checks.extend(COLUMNS.into_iter().filter_map(|with| effect(cells, kind, with, test)));
        }
        checks.extend(Part::TESTS.into_iter().filter_map(|test| best(cells, kind, test)));
    }
    checks
}

/// What +Reg does to a network in a row.
fn effect(cells: &[Cell<'_>], kind: Symmetry, with: Column, test: Part) -> Option<Check> {
    let without = with.without_penalty()?;
    let (reg, plain) = (cell(cells, kind, with)?, cell(cells, kind, without)?);
    let unchanged = kind == Symmetry::Translation;
    let rule = if unchanged { "leaves as it is" } else { "improves" };
    let claim = format!("{kind}, {test:?}: +Reg {rule} {}", without.head);
    let (ours, theirs) = (reg.test(test, "rmse"), plain.test(test, "rmse"));
    let effect = Difference::new(&ours, &theirs);
    let Difference { mean: difference, error: se, spread_known } = effect;
    let margin = SHARE * theirs.mean();
    let held = if unchanged { effect.is_within(margin) } else { effect.falls() };
    let mut found = match difference.is_finite() {
        true => format!("{theirs} → {ours}, difference {difference:+.4} with standard error {se:.4}"),
        false => format!("{} → {}", shown(plain, test), shown(reg, test)),
    };
    if spread_known && difference < 0.0 && !held && !unchanged {
        found += ", lower but within two standard errors";
    }
    if unchanged && effect.straddles(margin) {
        found += &undecided(margin);
    }
    if let (Some((before, _)), Some((after, _))) = (without.published(kind, test), with.published(kind, test)) {
        found += &format!("; paper {before:.2} → {after:.2}");
        if !unchanged && after >= before {
            found += " (its text claims it, these numbers do not)";
        }
    }
    let rows = [reg, plain].map(|cell| (cell.label(), cell.is_trained(test)));
    Some(judged(claim, held, found, spread_known, rows))
}

/// Its error; that it diverged, if no run has one.
fn shown(cell: &Cell<'_>, test: Part) -> String {
    let sample = cell.test(test, "rmse");
    if sample.mean().is_finite() { sample.to_string() } else { "diverged".into() }
}

/// That the column which the paper has in bold has the least mean of its row. One that diverged is the last.
fn best(cells: &[Cell<'_>], kind: Symmetry, test: Part) -> Option<Check> {
    let bold = |column: Column| match kind {
        Symmetry::Translation => column.network == Architecture::Rgroup,
        Symmetry::Rotation | Symmetry::Scaling => column.network == Architecture::Rsteer && column.reg,
    };
    let row: Vec<&Cell<'_>> = cells.iter().filter(|cell| cell.kind == kind).collect();
    let mean = |cell: &Cell<'_>| match cell.test(test, "rmse").mean() {
        mean if mean.is_finite() && cell.runs.diverged() == 0 => mean,
        _ => f64::INFINITY,
    };
    let least_of = |which: &dyn Fn(Column) -> bool| {
        row.iter().copied().filter(|cell| which(cell.column)).min_by(|a, b| mean(a).total_cmp(&mean(b)))
    };
    let (favourite, _, least) = (least_of(&bold)?, least_of(&|column| !bold(column))?, least_of(&|_| true)?);
    let names: Vec<&str> = COLUMNS.into_iter().filter(|column| bold(*column)).map(|column| column.head).collect();
    let claim =
        format!("{kind}, {test:?}: {} is the best of the {} columns that were run", names.join(" or "), row.len());
    let of = |cell: &Cell<'_>| format!("{} {}", cell.label(), shown(cell, test));
    let held = bold(least.column) && mean(least).is_finite();
    let found = if held { format!("best {}", of(least)) } else { format!("best {}, {}", of(least), of(favourite)) };
    Some(judged(claim, held, found, true, [(favourite.label(), favourite.is_trained(test))]))
}

#[cfg(test)]
mod tests {
    use super::super::cells::cells;
    use super::super::point::SmokePoint;
    use super::super::tests::{models, run, settings};
    use super::*;
    use crate::smoke::networks::Architecture::{Conv, Lift, Rsteer};
    use crate::targets::point::Trained;
    use crate::targets::synthetic::diverged;

    /// Verdicts over a row, by what error a model has.
    fn verdicts(kinds: &str, columns: &str, rmse: impl Fn(&SmokePoint) -> f64) -> Vec<(String, bool)> {
        judged_with(2, kinds, columns, rmse).into_iter().map(|check| (check.claim, check.held)).collect()
    }

    fn judged_with(seeds: u64, kinds: &str, columns: &str, rmse: impl Fn(&SmokePoint) -> f64) -> Vec<Check> {
        let settings = settings(kinds, columns, seeds);
        let models = models(&settings, |model| run(rmse(model), 0.5));
        checks(settings.kinds.as_slice(), &cells(&settings, &models))
    }

    fn held(kinds: &str, columns: &str, rmse: impl Fn(&SmokePoint) -> f64) -> Vec<bool> {
        verdicts(kinds, columns, rmse).into_iter().map(|(_, held)| held).collect()
    }

    #[test]
    fn improvements_must_exceed_two_standard_errors() {
        let seed = |model: &SmokePoint| model.run.seed as f64;
        let is_reg = |model: &SmokePoint| model.column.reg;
        // Four effects without any spread, and the best column in both tests.
        let steerable = |model: &SmokePoint| model.column.network == Rsteer;
        let fall = |of: bool, by: f64| if of { by } else { 0.0 };
        let as_claimed = |model: &SmokePoint| 0.7 - fall(is_reg(model), 0.1) - fall(steerable(model), 0.05);
        assert_eq!(held("rotation", "rgroup,rgroup+reg,rsteer,rsteer+reg", as_claimed), [true; 6]);
        assert_eq!(held("scaling", "rsteer,rsteer+reg", |model| if is_reg(model) { 0.8 } else { 0.7 }), [false; 4]);
        // A difference of 0.05 with a standard error of √2·0.05 is none.
        let noisy = |model: &SmokePoint| 0.6 + 0.1 * seed(model) - if is_reg(model) { 0.05 } else { 0.0 };
        assert_eq!(held("rotation", "rgroup,rgroup+reg", noisy), [false, false]);
    }

    #[test]
    fn one_seed_holds_no_effect_however_large() {
        for (seeds, expected) in [(1, false), (2, true)] {
            let large = |model: &SmokePoint| if model.column.reg { 0.2 } else { 0.7 };
            let checks = judged_with(seeds, "rotation", "rgroup,rgroup+reg", large);
            assert!(checks[..2].iter().all(|check| check.held == expected), "{checks:?}");
        }
    }

    #[test]
    fn translation_may_change_by_two_per_cent_with_two_standard_errors() {
        let changed = |share: f64, spread: f64| {
            held("translation", "rgroup,rgroup+reg", |model| {
                let is_reg = model.column.reg;
                0.7 * if is_reg { 1.0 + share } else { 1.0 } + spread * model.run.seed as f64
            })
        };
        assert_eq!(changed(0.019, 0.0), [true, true]);
        assert_eq!(changed(-0.019, 0.0), [true, true]);
        assert_eq!(changed(0.021, 0.0), [false, false]);
        // The margin is 0.014, the standard error 0.001·√(2·0.5/2): 0.013 + 0.0014 is beyond it, 0.007 + 0.0014 within.
        assert_eq!(changed(0.0185, 0.001), [false, false]);
        assert_eq!(changed(0.010, 0.001), [true, true]);
        assert_eq!(changed(0.0, 0.1), [false, false]);
    }

    #[test]
    fn what_is_not_trained_proves_nothing_and_what_was_not_run_is_not_judged() {
        let above = |model: &SmokePoint| if model.column.reg { 0.99 } else { 1.1 };
        assert_eq!(held("rotation", "rsteer,rsteer+reg", above), [false; 4]);
        assert!(held("rotation", "conv,rsteer", |_| 0.7).is_empty());
        let claims = verdicts("rotation", "conv,rsteer+reg", |_| 0.7);
        assert_eq!(claims.len(), 2);
        assert!(claims[0].0.contains("RSteer+Reg is the best of the 2 columns"), "{claims:?}");
    }

    #[test]
    fn a_favourite_that_diverged_is_not_the_best_and_a_rival_that_did_is_beaten() {
        let settings = settings("rotation", "conv,rsteer,rsteer+reg", 2);
        let judged = |lost: &dyn Fn(&SmokePoint) -> bool, trained: fn() -> Trained| {
            let rmse = |model: &SmokePoint| if model.column == Column::of(Rsteer, true) { 0.6 } else { 0.7 };
            let models = models(&settings, |model| if lost(model) { trained() } else { run(rmse(model), 0.5) });
            checks(settings.kinds.as_slice(), &cells(&settings, &models))
        };
        let favourite = |model: &SmokePoint| model.column == Column::of(Rsteer, true);
        for trained in [diverged as fn() -> Trained, || run(f64::NAN, f64::NAN)] {
            let checks = judged(&favourite, trained);
            assert_eq!(checks.len(), 4);
            assert!(checks.iter().all(|check| !check.held && check.found.contains("diverged")), "{checks:?}");
            assert!(checks.iter().all(|check| !check.found.contains("NaN")), "{checks:?}");
        }
        let one_seed = judged(&|model| favourite(model) && model.run.seed == 1, diverged);
        assert!(one_seed.iter().all(|check| !check.held), "{one_seed:?}");
        for trained in [diverged as fn() -> Trained, || run(f64::NAN, 0.5)] {
            let rival = judged(&|model| model.column == Column::of(Conv, false), trained);
            assert!(rival[2].held && rival[2].claim.contains("best of the 3"), "{rival:?}");
        }
        assert!(judged(&|_| true, diverged).iter().all(|check| !check.held));
    }

    #[test]
    fn where_the_papers_numbers_do_not_bear_out_its_text_a_claim_says_so() {
        let settings = settings("scaling", "rgroup,rgroup+reg,rsteer,rsteer+reg", 2);
        let models = models(&settings, |_| run(0.7, 0.5));
        let checks = checks(settings.kinds.as_slice(), &cells(&settings, &models));
        let said: Vec<bool> = checks[..4].iter().map(|check| check.found.contains("these numbers do not")).collect();
        assert_eq!(said, [true, false, true, false], "{checks:?}");
    }

    #[test]
    fn the_best_column_is_the_one_with_the_least_mean() {
        let of = |least: Column| {
            held("rotation", "conv,lift,rsteer+reg", move |model| if model.column == least { 0.5 } else { 0.6 })
        };
        assert_eq!(of(Column::of(Rsteer, true)), [true, true]);
        assert_eq!(of(Column::of(Lift, false)), [false, false]);
    }
}
