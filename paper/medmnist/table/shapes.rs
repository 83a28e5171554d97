//! `fig-shapes`: what the method does on generated shapes, whose symmetry is broken by as much as one likes.
//!
//! ```text
//! chance        |accuracy on pairs − ½| ≤ 3 se,  se = ½/√n of the n test volumes of the pairs, whatever the number of seeds
//! best λ_⊥      by validation accuracy, the highest mean over seeds, of equal ones the smaller loss; and by validation loss, the lowest
//! tied          within the standard error of the difference
//! it falls      that at the smallest breaking is above that at the largest, nowhere rises, and neither end has the other's as tied
//! ```

use super::cells::{self, Cell, Of, over, strength};
use super::notes;
use super::settings::{Shapes, TargetSettings};
use super::target::Trains;
use super::volume_run::VolumeRun;
use crate::medmnist::MedSettings;
use crate::medmnist::networks::Symmetry;
use crate::medmnist::rows::{Row, Strengths, group_head};
use crate::medmnist::sets::Set;
use crate::targets::columns::{self, decimals, spread};
use crate::targets::curves::sheet;
use crate::targets::findings::{Figure, Findings};
use crate::targets::judge::judged;
use crate::targets::point::Frame;
use crate::targets::sample::Sample;
use reynolds_report::figure::{Colour, Key, LineChart};
use reynolds_report::{Check, Table};
use reynolds_train::config::RunConfig;

/// Standard errors within which nobody tells two classes apart.
const ERRORS: f64 = 3.0;

/// Pairs of classes that differ by one thing alone.
const ROTATION: &str = "rotation";
const REFLECTION: &str = "reflection";

/// What a λ_⊥ is the best by, and whether smaller is better, as a factor. Accuracy is what weights are chosen by; but where nothing is
/// broken it tosses a coin for every volume, which of its pair it is, and the loss does not.
const BY: [(&str, f64); 2] = [("accuracy", -1.0), ("loss", 1.0)];

/// What is written of a cell: name for programs, name for people, metric.
const NUMBERS: [(&str, &str, &str); 7] = [
    ("accuracy", "accuracy", "test/accuracy"),
    ("rotation", "rotation pairs", "test/pairs/rotation"),
    ("reflection", "reflection pairs", "test/pairs/reflection"),
    ("solids", "solids", "test/pairs/solid"),
    ("validation", "validation", "validation/accuracy"),
    ("validation_loss", "validation loss", "validation/loss"),
    ("defect", "defect", "test/defect"),
];

/// Colours of lines, the less broken the lighter.
const COLOURS: [Colour; 5] = [
    Colour(0x8c, 0xcd, 0xf1),
    Colour(0x00, 0x9e, 0x73),
    Colour(0x00, 0x5a, 0xa0),
    Colour(0xd5, 0x5e, 0x00),
    Colour(0x33, 0x33, 0x33),
];

impl Shapes {
    /// The SCNN of each group where the symmetry is most broken, and ours at every breaking and λ_⊥; at the first seed.
    fn models(&self, run: &RunConfig<MedSettings>) -> Vec<VolumeRun> {
        let (learning_rate, lambda_g) = (run.train.learning_rate, run.penalty.lambda_g);
        let of = |row, lambda_perp, breaking| {
            let strengths = Strengths { learning_rate, lambda_g, lambda_perp };
            VolumeRun::new(run, Set::Shapes, row, strengths).broken(breaking)
        };
        let (breakings, perps, most) = (self.breakings.increasing(), self.lambda_perp.increasing(), self.most_broken());
        let mut runs: Vec<VolumeRun> = self.groups.iter().map(|group| of(Row::scnn(group), 0.0, most)).collect();
        for group in self.groups.iter() {
            for &breaking in &breakings {
                runs.extend(perps.iter().map(|&lambda_perp| of(Row::ours(group), lambda_perp, breaking)));
            }
        }
        runs
    }

    fn most_broken(&self) -> f64 {
        self.breakings.as_slice().iter().copied().fold(0.0, f64::max)
    }
}

impl Trains for Shapes {
    fn sets(&self) -> Vec<Set> {
        vec![Set::Shapes]
    }

    fn seeds(&self) -> u64 {
        self.seeds
    }

    fn wanted(settings: &TargetSettings<Self>, _: &Frame) -> Vec<VolumeRun> {
        settings.over_seeds(&settings.own.models(&settings.run))
    }
}

pub(super) fn findings(settings: &TargetSettings<Shapes>, frame: &Frame) -> Findings {
    let all = found(settings, frame);
    let own = &settings.own;
    Findings {
        tables: vec![table(own, &all)],
        csv: csv(&all),
        figures: vec![figure(own, &all)],
        checks: checks(own, &all),
        notes: notes::of_shapes(settings),
        ..Findings::default()
    }
}

/// All that was run.
fn found<'a>(settings: &TargetSettings<Shapes>, frame: &'a Frame) -> Vec<Cell<'a>> {
    let models = settings.own.models(&settings.run).into_iter();
    models.filter_map(|run| Cell::find(run, settings.seeds(), frame)).collect()
}

fn perp(cell: &Cell<'_>) -> f64 {
    cell.run.strengths().lambda_perp
}

fn table(own: &Shapes, all: &[Cell<'_>]) -> Table {
    let mut columns = vec![
        Of::new("row", Cell::label),
        Of::new("breaking", |cell| cell.run.breaking().to_string()),
        Of::new("λ_⊥", |cell| cell.row().is_ours().then(|| strength(perp(cell)))),
        Of::new("accuracy", Cell::text),
    ];
    let number = |(_, head, metric)| Of::sample(head, move |cell| cell.runs.sample(metric)).format(decimals::<3>);
    columns.extend(NUMBERS.into_iter().skip(1).map(number));
    let mut table = columns::table(&columns, all);
    table.caption(format!(
        "generated shapes, {}; accuracy on pairs is that of the larger of the two logits of the pair; guessing has one half",
        over(own.seeds)
    ));
    table
}

/// The same for programs.
fn csv(all: &[Cell<'_>]) -> String {
    let mut columns = vec![cells::row(), cells::group(), Of::new("breaking", |cell| cell.run.breaking())];
    columns.extend(cells::strengths());
    columns.extend([cells::seeds(), cells::trained()]);
    columns.extend(NUMBERS.map(|(name, _, metric)| Of::sample(name, move |cell| cell.runs.sample(metric))));
    columns::csv(&columns, all)
}

/// Each breaking with its colour.
fn lines(own: &Shapes) -> impl Iterator<Item = (f64, Colour)> {
    own.breakings.increasing().into_iter().zip(COLOURS.into_iter().cycle())
}

/// Over λ_⊥, a line for each breaking.
fn panel(own: &Shapes, all: &[Cell<'_>], group: Symmetry, axis: &str, metric: &str) -> LineChart {
    let places = own.lambda_perp.increasing();
    let mut chart = LineChart::new("λ_⊥", axis);
    chart.from_anywhere();
    for (breaking, colour) in lines(own) {
        let line: Vec<(f64, Sample)> = sweep(all, group, breaking)
            .map(|cell| {
                let place = places.iter().position(|&other| other == perp(cell)).unwrap_or_default();
                (place as f64, cell.runs.sample(metric))
            })
            .collect();
        let points: Vec<[f64; 2]> = line.iter().map(|(place, sample)| [*place, sample.mean()]).collect();
        let bars: Vec<f64> = line.iter().map(|(_, sample)| sample.deviation()).collect();
        chart.line_with_bars(&points, &bars, colour, false);
    }
    chart.ticks(places.iter().enumerate().map(|(place, &perp)| (place as f64, strength(perp))).collect());
    chart
}

/// Accuracy and validation loss of ours, two panels for each group.
fn figure(own: &Shapes, all: &[Cell<'_>]) -> Figure {
    let mut sheet = sheet();
    for group in own.groups.iter() {
        for (axis, metric) in [("test accuracy", "test/accuracy"), ("validation loss", "validation/loss")] {
            sheet.add(format!("{} ours", group_head(group)), panel(own, all, group, axis, metric), Vec::new());
        }
    }
    sheet.legend = lines(own).map(|(at, colour)| Key::Line(colour, false, format!("breaking {at}"))).collect();
    let caption = format!(
        "Test accuracy and validation loss on generated shapes over λ_⊥, {}, for shapes whose symmetry is broken by 0 (not at all) to 1.",
        over(own.seeds)
    );
    Figure { name: "fig-shapes", svg: sheet.svg(), caption }
}

/// Ours of a group at a breaking, λ_⊥ increasing.
fn sweep<'a, 'b>(
    all: &'a [Cell<'b>],
    group: Symmetry,
    breaking: f64,
) -> impl Iterator<Item = &'a Cell<'b>> + use<'a, 'b> {
    all.iter().filter(move |cell| cell.row() == Row::ours(group) && cell.run.breaking() == breaking)
}

/// The best of a sweep by validation, and the λ_⊥ of those that are tied with it.
fn best<'a, 'b>(sweep: &[&'a Cell<'b>], (by, sign): (&str, f64)) -> Option<(&'a Cell<'b>, Vec<f64>)> {
    let by = format!("validation/{by}");
    let badness = |cell: &Cell<'_>| sign * cell.runs.sample(&by).mean();
    let order = |cell: &Cell<'_>| (badness(cell), cell.runs.sample("validation/loss").mean());
    let finite = sweep.iter().copied().filter(|cell| badness(cell).is_finite());
    let best = finite.reduce(|best, cell| if order(cell) < order(best) { cell } else { best })?;
    let error = |cell: &Cell<'_>| {
        let sample = cell.runs.sample(&by);
        sample.deviation() / (sample.values().len() as f64).sqrt()
    };
    let is_tied = |cell: &&&Cell<'_>| badness(cell) - badness(best) <= error(best).hypot(error(cell));
    let tied = sweep.iter().filter(is_tied).map(|cell| perp(cell)).filter(|&other| other != perp(best)).collect();
    Some((best, tied))
}

/// Every check for which models were run.
fn checks(own: &Shapes, all: &[Cell<'_>]) -> Vec<Check> {
    let both = [ROTATION, REFLECTION];
    let mut checks = Vec::new();
    let strict = |group| all.iter().find(move |cell| cell.row() == Row::scnn(group));
    if let Some(cell) = strict(Symmetry::So3) {
        checks.push(chance(cell, "", true, &[ROTATION]));
        checks.push(chance(cell, "", false, &[REFLECTION]));
    }
    if let Some(cell) = strict(Symmetry::O3) {
        checks.push(chance(cell, "", true, &both));
    }
    for group in own.groups.iter() {
        if let Some(cell) = sweep(all, group, own.most_broken()).next() {
            checks.push(chance(cell, &format!(" with λ_⊥ = {}", strength(perp(cell))), false, &both));
        }
    }
    for by in BY {
        checks.extend(own.groups.iter().filter_map(|group| falls(own, all, group, by)));
    }
    checks
}

/// That a row is at chance, or above it, on each of these pairs.
fn chance(cell: &Cell<'_>, with: &str, is_at: bool, pairs: &[&str]) -> Check {
    let (mut held, mut found) = (true, Vec::new());
    for name in pairs {
        // Told apart by their two logits alone.
        let accuracy = cell.runs.sample(&format!("test/pairs/{name}"));
        let error = 0.5 / cell.runs.sample(&format!("test/pairs/{name}_count")).mean().sqrt();
        let above = accuracy.mean() - 0.5;
        held &= if is_at { above.abs() <= ERRORS * error } else { above > ERRORS * error };
        found.push(format!("{name} pairs {}, standard error of guessing {error:.3}", spread(&accuracy, decimals::<3>)));
    }
    let (row, pairs) = (cell.label(), pairs.join(" and "));
    let claim = match is_at {
        true => format!("the {row}{with} is at chance on {pairs} pairs"),
        false => format!("{row}{with} is above chance on {pairs} pairs"),
    };
    judged(claim, held, found.join("; "), true, [(row, cell.is_trained())])
}

/// The best λ_⊥ falls as the symmetry is broken, from one end to the other by more than noise makes it fall.
fn falls(own: &Shapes, all: &[Cell<'_>], group: Symmetry, by: (&str, f64)) -> Option<Check> {
    let mut bests = Vec::new();
    for breaking in own.breakings.increasing() {
        let (cell, tied) = best(&sweep(all, group, breaking).collect::<Vec<_>>(), by)?;
        bests.push((breaking, cell, tied));
    }
    let perps: Vec<f64> = bests.iter().map(|(_, cell, _)| perp(cell)).collect();
    let ([first, .., last], [(.., with_first), .., (.., with_last)]) = (&perps[..], &bests[..]) else { return None };
    let ends_tied = with_first.contains(last) || with_last.contains(first);
    let falls = last < first && perps.windows(2).all(|pair| pair[1] <= pair[0]);
    let text = |(breaking, cell, tied): &(f64, &Cell<'_>, Vec<f64>)| {
        let mut text = format!("breaking {breaking}: {}", strength(perp(cell)));
        if !tied.is_empty() {
            text += &format!(" (tied: {})", tied.iter().map(|&perp| strength(perp)).collect::<Vec<_>>().join(", "));
        }
        text + if cell.is_trained() { "" } else { " not trained" }
    };
    let mut found = bests.iter().map(text).collect::<Vec<_>>().join(", ");
    if falls && ends_tied {
        found += "; not held by ends that are tied";
    }
    let trained = bests.iter().all(|(_, cell, _)| cell.is_trained());
    let spread_known = bests.iter().all(|(_, cell, _)| cell.runs.len() - cell.runs.diverged() >= 2);
    let claim =
        format!("{} ours: the best λ_⊥ by validation {} falls as the symmetry is broken", group_head(group), by.0);
    Some(judged(claim, falls && !ends_tied && trained, found, spread_known, [("", true); 0]))
}

#[cfg(test)]
mod tests {
    use super::super::budget;
    use super::super::synthetic::{of, run};
    use super::*;
    use crate::targets::Budget;
    use crate::targets::judge::ONE_SEED;
    use crate::targets::point::Trained;
    use crate::targets::synthetic::given;

    fn quick(seeds: &str) -> TargetSettings<Shapes> {
        let lists = [("lambda_perp", "1e-4,1e-2,1"), ("breakings", "1,0,0.5"), ("seeds", seeds)];
        given(budget::shapes(Budget::Quick), &lists)
    }

    fn fits(one: &VolumeRun) -> bool {
        one.strengths().lambda_perp == if one.breaking() == 0.0 { 1.0 } else { 1e-4 }
    }

    /// What theory has: the SCNNs guess what they cannot see, and ours is best where λ_⊥ fits the breaking.
    fn ideal(one: &VolumeRun) -> Trained {
        let mut trained = run(0.8, 0.1);
        let mut put = |name: &str, value: f64| trained.metrics.insert(name.to_string(), value);
        if one.row() == Row::scnn(Symmetry::So3) {
            put("test/pairs/rotation", 0.51);
        }
        if one.row() == Row::scnn(Symmetry::O3) {
            put("test/pairs/rotation", 0.49);
            put("test/pairs/reflection", 0.52);
        }
        if one.row().is_ours() {
            let (accuracy, loss) = if fits(one) { (0.9, 0.4) } else { (0.8, 0.5) };
            put("validation/accuracy", accuracy + 0.01 * one.config.seed as f64);
            put("validation/loss", loss + 0.01 * one.config.seed as f64);
        }
        trained
    }

    fn judged_of(seeds: &str, result: impl Fn(&VolumeRun) -> Trained) -> Vec<Check> {
        let settings = quick(seeds);
        checks(&settings.own, &found(&settings, &of(&settings, result)))
    }

    fn held(checks: &[Check]) -> Vec<bool> {
        checks.iter().map(|check| check.held).collect()
    }

    #[test]
    fn what_theory_says_is_held_where_it_is_so() {
        let checks = judged_of("2", ideal);
        assert_eq!(held(&checks), [true; 9], "{checks:?}");
        for (check, by) in [(&checks[6], "accuracy"), (&checks[8], "loss")] {
            assert!(check.claim.starts_with(&format!("O(3) ours: the best λ_⊥ by validation {by} falls")), "{check}");
            assert!(check.found.starts_with("breaking 0: 1, breaking 0.5: 1e-4, breaking 1: 1e-4"), "{check}");
        }
        let once = judged_of("1", ideal);
        assert!(once[5..].iter().all(|check| !check.held && check.found.ends_with(ONE_SEED)), "{once:?}");
    }

    #[test]
    fn what_theory_says_is_not_held_where_it_is_not_so() {
        // Everyone tells everything, and no λ_⊥ is better than another.
        let all = judged_of("2", |_| run(0.8, 0.1));
        assert_eq!(held(&all), [false, true, false, true, true, false, false, false, false]);
        assert!(all[5].found.contains("breaking 0: 1e-4 (tied: 1e-2, 1)"), "{}", all[5]);
        // Nobody learned anything: being at chance is no merit then.
        let idle = judged_of("2", |_| run(0.5, 0.1));
        assert!(idle.iter().all(|check| !check.held && check.found.contains("not trained")), "{idle:?}");
    }

    #[test]
    fn a_best_that_is_tied_with_that_of_the_other_end_does_not_fall() {
        // As theory has it, but by less than the standard error of a difference of two means over seeds 0.1 apart, which is 0.071.
        let noisy = |apart: f64| {
            move |one: &VolumeRun| {
                let mut trained = ideal(one);
                let ahead = if fits(one) { apart } else { 0.0 };
                trained.metrics.insert("validation/accuracy".into(), 0.8 + ahead + 0.1 * one.config.seed as f64);
                trained
            }
        };
        let tied = judged_of("2", noisy(0.06));
        assert!(tied[5..7].iter().all(|check| !check.held), "{tied:?}");
        let ends =
            "breaking 0: 1 (tied: 1e-4, 1e-2), breaking 0.5: 1e-4 (tied: 1e-2, 1), breaking 1: 1e-4 (tied: 1e-2, 1)";
        assert_eq!(tied[5].found, format!("{ends}; not held by ends that are tied"));
        let apart = judged_of("2", noisy(0.08));
        assert!(apart[5..].iter().all(|check| check.held), "{apart:?}");
    }

    #[test]
    fn accuracy_and_loss_are_judged_apart() {
        // Each in turn is as theory has it, the other says nothing.
        for (silent, expected) in
            [("validation/loss", [true, true, false, false]), ("validation/accuracy", [false, false, true, true])]
        {
            let checks = judged_of("2", |one| {
                let mut trained = ideal(one);
                trained.metrics.insert(silent.into(), 0.5);
                trained
            });
            assert_eq!(held(&checks[5..]), expected, "{checks:?}");
        }
    }

    #[test]
    fn lines_and_numbers_are_there_for_every_breaking() {
        let settings = quick("2");
        let models = of(&settings, ideal);
        let all = found(&settings, &models);
        assert_eq!((models.len(), all.len()), (2 * (2 + 2 * 3 * 3), 20));
        let svg = figure(&settings.own, &all).svg;
        assert!(svg.contains("breaking 0.5") && svg.contains(">1e-2</text>") && !svg.contains("NaN"), "{svg}");
        assert_eq!(csv(&all).lines().count(), 1 + 20);
        assert_eq!(table(&settings.own, &all).to_string().lines().filter(|line| line.contains("ours")).count(), 18);
    }
}
