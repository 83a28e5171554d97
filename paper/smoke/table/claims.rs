//! The paper's claims about its table, checked on ours.
//!
//! ```text
//! unchanged: |difference| + 2 se ≤ 2 % of the error without +Reg        improved: lower by more than 2 se
//! ```

use super::*;
use crate::targets::judge::{Difference, judged, over_seeds};
use reynolds_report::{Reason, Verdict};

/// Share of an error that counts as no change.
const SHARE: f64 = 0.02;

pub(super) fn checks(kinds: &[Symmetry], cells: &[Cell<'_>]) -> Vec<Check> {
    let mut checks = Vec::new();
    for &kind in kinds {
        for test in Subset::TESTS {
            checks.extend(COLUMNS.into_iter().filter_map(|with| effect(cells, kind, with, test)));
        }
        checks.extend(Subset::TESTS.into_iter().filter_map(|test| best(cells, kind, test)));
    }
    checks
}

/// The effect of +Reg on a network in a row.
fn effect(cells: &[Cell<'_>], kind: Symmetry, with: Column, test: Subset) -> Option<Check> {
    let without = with.without_penalty()?;
    let (reg, plain) = (cell(cells, kind, with)?, cell(cells, kind, without)?);
    let unchanged = kind == Symmetry::Translation;
    let rule = if unchanged { "leaves as it is" } else { "improves" };
    let claim = format!("{kind}, {test:?}: +Reg {rule} {}", without.head);
    let (ours, theirs) = (reg.test(test, "rmse"), plain.test(test, "rmse"));
    let effect = Difference::new(&ours, &theirs);
    let Difference { mean: difference, error: se, .. } = effect;
    let margin = SHARE * theirs.mean();
    let verdict = if unchanged { effect.is_within(margin) } else { effect.falls() };
    let mut found = match difference.is_finite() {
        true => format!("{theirs} → {ours}, difference {difference:+.4} with standard error {se:.4}"),
        false => format!("{} → {}", shown(plain, test), shown(reg, test)),
    };
    if verdict == Verdict::Undecided(Reason::WideSpread) {
        found += &format!("; margin {margin:.3}");
    }
    if let (Some((before, _)), Some((after, _))) = (without.published(kind, test), with.published(kind, test)) {
        found += &format!("; paper {before:.2} → {after:.2}");
        if !unchanged && after >= before {
            found += " (its text claims it, these numbers do not)";
        }
    }
    let rows = [reg, plain].map(|cell| (cell.label(), cell.is_trained(test)));
    Some(judged(claim, verdict, found, rows))
}

fn shown(cell: &Cell<'_>, test: Subset) -> String {
    let sample = cell.test(test, "rmse");
    if sample.mean().is_finite() { sample.to_string() } else { "diverged".into() }
}

/// Whether the column that the paper has in bold has the least mean of its row; diverged ones count as the largest.
fn best(cells: &[Cell<'_>], kind: Symmetry, test: Subset) -> Option<Check> {
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
    let verdict = over_seeds(favourite.runs.len(), held);
    Some(judged(claim, verdict, found, [(favourite.label(), favourite.is_trained(test))]))
}

#[cfg(test)]
mod tests {
    use super::super::cells::cells;
    use super::super::point::SmokePoint;
    use super::super::tests::{models, run, settings};
    use super::*;
    use crate::smoke::networks::Architecture::{Conv, Lift, Rsteer};
    use crate::targets::Trained;
    use crate::targets::synthetic::diverged;

    /// Claims about rows whose models have these errors, with two seeds.
    fn judged(kinds: &str, columns: &str, rmse: impl Fn(&SmokePoint) -> f64) -> Vec<Check> {
        judged_of(kinds, columns, 2, |model| run(rmse(model), 0.5))
    }

    fn judged_of(kinds: &str, columns: &str, seeds: u64, result: impl Fn(&SmokePoint) -> Trained) -> Vec<Check> {
        let settings = settings(kinds, columns, seeds);
        checks(settings.kinds.as_slice(), &cells(&settings, &models(&settings, result)))
    }

    fn held(kinds: &str, columns: &str, rmse: impl Fn(&SmokePoint) -> f64) -> Vec<bool> {
        judged(kinds, columns, rmse).into_iter().map(|check| check.is_held()).collect()
    }

    #[test]
    fn improvements_must_exceed_two_standard_errors() {
        let fall = |of: bool, by: f64| if of { by } else { 0.0 };
        // Four effects without any spread, and the best column in both tests.
        let as_claimed =
            |model: &SmokePoint| 0.7 - fall(model.column.reg, 0.1) - fall(model.column.network == Rsteer, 0.05);
        assert_eq!(held("rotation", "rgroup,rgroup+reg,rsteer,rsteer+reg", as_claimed), [true; 6]);
        let worse = |model: &SmokePoint| 0.7 + fall(model.column.reg, 0.1);
        assert_eq!(held("scaling", "rsteer,rsteer+reg", worse), [false; 4]);
        // A difference of 0.05 with a standard error of √2·0.05 is none.
        let noisy = |model: &SmokePoint| 0.6 + 0.1 * model.run.seed as f64 - fall(model.column.reg, 0.05);
        assert_eq!(held("rotation", "rgroup,rgroup+reg", noisy), [false, false]);
    }

    #[test]
    fn one_seed_holds_no_effect_however_large() {
        for (seeds, expected) in [(1, false), (2, true)] {
            let large = |model: &SmokePoint| run(if model.column.reg { 0.2 } else { 0.7 }, 0.5);
            let checks = judged_of("rotation", "rgroup,rgroup+reg", seeds, large);
            assert!(checks.iter().all(|check| check.is_held() == expected), "{checks:?}");
        }
    }

    #[test]
    fn translation_may_change_by_two_per_cent_with_two_standard_errors() {
        // The margin is 0.014. With a spread of 0.001 the standard error is 0.001·√(2·0.5/2): 0.013 + 0.0014 is beyond it, 0.007 + 0.0014
        // within.
        for (share, spread, expected) in [
            (0.019, 0.0, true),
            (-0.019, 0.0, true),
            (0.021, 0.0, false),
            (0.0185, 0.001, false),
            (0.010, 0.001, true),
            (0.0, 0.1, false),
        ] {
            let changed = held("translation", "rgroup,rgroup+reg", |model| {
                let factor = if model.column.reg { 1.0 + share } else { 1.0 };
                0.7 * factor + spread * model.run.seed as f64
            });
            assert_eq!(changed, [expected; 2], "{share} {spread}");
        }
    }

    #[test]
    fn untrained_models_prove_nothing_and_missing_ones_are_not_judged() {
        let above = |model: &SmokePoint| if model.column.reg { 0.99 } else { 1.1 };
        assert_eq!(held("rotation", "rsteer,rsteer+reg", above), [false; 4]);
        assert!(held("rotation", "conv,rsteer", |_| 0.7).is_empty());
        let claims = judged("rotation", "conv,rsteer+reg", |_| 0.7);
        assert_eq!(claims.len(), 2);
        assert!(claims[0].claim.contains("RSteer+Reg is the best of the 2 columns"), "{claims:?}");
    }

    #[test]
    fn a_favourite_that_diverged_is_not_the_best_and_a_rival_that_did_is_beaten() {
        let favourite = |model: &SmokePoint| model.column == Column::of(Rsteer, true);
        let judged = |lost: &dyn Fn(&SmokePoint) -> bool, trained: fn() -> Trained| {
            let rmse = |model: &SmokePoint| if favourite(model) { 0.6 } else { 0.7 };
            let result = |model: &SmokePoint| if lost(model) { trained() } else { run(rmse(model), 0.5) };
            judged_of("rotation", "conv,rsteer,rsteer+reg", 2, result)
        };
        for trained in [diverged as fn() -> Trained, || run(f64::NAN, f64::NAN)] {
            let checks = judged(&favourite, trained);
            assert_eq!(checks.len(), 4);
            assert!(checks.iter().all(|check| !check.is_held() && check.found.contains("diverged")), "{checks:?}");
            assert!(checks.iter().all(|check| !check.found.contains("NaN")), "{checks:?}");
        }
        let one_seed = judged(&|model| favourite(model) && model.run.seed == 1, diverged);
        assert!(one_seed.iter().all(|check| !check.is_held()), "{one_seed:?}");
        for trained in [diverged as fn() -> Trained, || run(f64::NAN, 0.5)] {
            let rival = judged(&|model| model.column == Column::of(Conv, false), trained);
            assert!(rival[2].is_held() && rival[2].claim.contains("best of the 3"), "{rival:?}");
        }
        assert!(judged(&|_| true, diverged).iter().all(|check| !check.is_held()));
    }

    #[test]
    fn where_the_papers_numbers_do_not_bear_out_its_text_a_claim_says_so() {
        let checks = judged("scaling", "rgroup,rgroup+reg,rsteer,rsteer+reg", |_| 0.7);
        let said: Vec<bool> = checks[..4].iter().map(|check| check.found.contains("these numbers do not")).collect();
        assert_eq!(said, [true, false, true, false], "{checks:?}");
    }

    #[test]
    fn the_best_column_is_the_one_with_the_least_mean() {
        for (least, expected) in [(Column::of(Rsteer, true), true), (Column::of(Lift, false), false)] {
            let rmse = |model: &SmokePoint| if model.column == least { 0.5 } else { 0.6 };
            assert_eq!(held("rotation", "conv,lift,rsteer+reg", rmse), [expected; 2]);
        }
    }
}
