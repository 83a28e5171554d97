//! `fig-shapes`: the method on generated shapes whose symmetry is broken by a known amount.
//!
//! ```text
//! chance        |accuracy on pairs − ½| ≤ 3 se,  se = ½/√n of the n test volumes of the pairs, whatever the number of seeds
//! best λ_⊥      by validation accuracy, the highest mean over seeds, of equal ones the smaller loss; and by validation loss, the lowest
//! tied          within the standard error of the difference
//! it falls      larger at the smallest breaking than at the largest, rises nowhere, and the ends are not tied
//! ```

use super::cells::By;
use super::settings::Shapes;
use super::*;

/// Standard errors about one half that count as chance.
const ERRORS: f64 = 3.0;

const ROTATION: &str = "rotation";
const REFLECTION: &str = "reflection";

/// Name for programs, name for people, metric.
const NUMBERS: [(&str, &str, &str); 7] = [
    ("accuracy", "accuracy", "test/accuracy"),
    ("rotation", "rotation pairs", "test/pairs/rotation"),
    ("reflection", "reflection pairs", "test/pairs/reflection"),
    ("solids", "solids", "test/pairs/solid"),
    ("validation", "validation", "validation/accuracy"),
    ("validation_loss", "validation loss", "validation/loss"),
    ("invariance_error", "invariance error", "test/invariance_error"),
];

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

fn found<'a>(settings: &TargetSettings<Shapes>, frame: &'a Frame) -> Vec<Cell<'a>> {
    let models = settings.own.models(&settings.run).into_iter();
    models.filter_map(|run| Cell::find(run, settings.seeds(), frame)).collect()
}

fn perp(cell: &Cell<'_>) -> f64 {
    cell.run.strengths().lambda_perp
}

fn table(own: &Shapes, all: &[Cell<'_>]) -> Table {
    let mut columns = vec![
        CellColumn::new("row", Cell::label),
        CellColumn::new("breaking", |cell| cell.run.breaking().to_string()),
        cells::lambda("λ_⊥", |strengths| strengths.lambda_perp),
        CellColumn::new("accuracy", Cell::text),
    ];
    columns.extend(NUMBERS[1..].iter().map(|&(_, head, metric)| cells::metric(head, metric).format(decimals::<3>)));
    let mut table = columns::table(&columns, all);
    table.caption(format!(
        "generated shapes, {}; accuracy on pairs is that of the larger of the two logits of the pair; guessing has one half",
        over(own.seeds)
    ));
    table
}

fn csv(all: &[Cell<'_>]) -> String {
    let mut columns = vec![cells::row(), cells::group(), CellColumn::new("breaking", |cell| cell.run.breaking())];
    columns.extend(cells::strengths());
    columns.extend([cells::seeds(), cells::trained()]);
    columns.extend(NUMBERS.map(|(name, _, metric)| cells::metric(name, metric)));
    columns::csv(&columns, all)
}

fn lines(own: &Shapes) -> impl Iterator<Item = (f64, Colour)> {
    own.breakings.increasing().into_iter().zip(COLOURS.into_iter().cycle())
}

fn panel(own: &Shapes, all: &[Cell<'_>], group: Symmetry, axis: &str, metric: &str) -> LineChart {
    let places = own.lambda_perp.increasing();
    let mut chart = LineChart::new("λ_⊥", axis);
    chart.free_y_axis();
    for (breaking, colour) in lines(own) {
        let (mut points, mut bars) = (Vec::new(), Vec::new());
        for cell in sweep(all, group, breaking) {
            let place = places.iter().position(|&other| other == perp(cell)).unwrap_or_default();
            let sample = cell.runs.sample(metric);
            points.push([place as f64, sample.mean()]);
            bars.push(sample.deviation());
        }
        chart.line_with_bars(&points, &bars, colour, false);
    }
    chart.ticks(places.iter().enumerate().map(|(place, &perp)| (place as f64, strength(perp))).collect());
    chart
}

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

/// The best of a sweep by validation, and the λ_⊥ tied with it.
fn best<'a, 'b>(sweep: &[&'a Cell<'b>], by: By) -> Option<(&'a Cell<'b>, Vec<f64>)> {
    let best = cells::best(sweep.iter().copied(), by)?;
    let error = |cell: &Cell<'_>| {
        let sample = cell.runs.sample(&format!("validation/{}", by.0));
        sample.deviation() / (sample.values().len() as f64).sqrt()
    };
    let is_tied = |cell: &&&Cell<'_>| cell.badness(by) - best.badness(by) <= error(best).hypot(error(cell));
    let tied = sweep.iter().filter(is_tied).map(|cell| perp(cell)).filter(|&other| other != perp(best)).collect();
    Some((best, tied))
}

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
    // Where nothing is broken accuracy is a coin toss within each pair; the loss is not.
    for by in [cells::ACCURACY, cells::LOSS] {
        checks.extend(own.groups.iter().filter_map(|group| falls(own, all, group, by)));
    }
    checks
}

/// A row is at chance, or above it, on each of these pairs.
fn chance(cell: &Cell<'_>, with: &str, is_at: bool, pairs: &[&str]) -> Check {
    let (mut held, mut found) = (true, Vec::new());
    for name in pairs {
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
    judged(claim, over_seeds(cell.runs.len(), held), found.join("; "), [(row, cell.is_trained())])
}

/// The best λ_⊥ falls as the symmetry is broken, by more than noise.
fn falls(own: &Shapes, all: &[Cell<'_>], group: Symmetry, by: By) -> Option<Check> {
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
    let found = bests.iter().map(text).collect::<Vec<_>>().join(", ");
    let seeds = bests.iter().map(|(_, cell, _)| cell.runs.len() - cell.runs.diverged()).min().unwrap_or(0);
    let verdict = match over_seeds(seeds, falls) {
        Verdict::Held | Verdict::Fell if !bests.iter().all(|(_, cell, _)| cell.is_trained()) => {
            Verdict::Undecided(Reason::NotTrained)
        }
        Verdict::Held if ends_tied => Verdict::Undecided(Reason::SmallDifference),
        verdict => verdict,
    };
    let claim =
        format!("{} ours: the best λ_⊥ by validation {} falls as the symmetry is broken", group_head(group), by.0);
    Some(Check::new(claim, verdict, found))
}

#[cfg(test)]
mod tests {
    use super::super::synthetic::{held, of, run};
    use super::*;
    use crate::targets::synthetic::given;

    fn quick(seeds: &str) -> TargetSettings<Shapes> {
        let lists = [("lambda_perp", "1e-4,1e-2,1"), ("breakings", "1,0,0.5"), ("seeds", seeds)];
        given(budget::shapes(Budget::Quick), &lists)
    }

    fn fits(one: &VolumeRun) -> bool {
        one.strengths().lambda_perp == if one.breaking() == 0.0 { 1.0 } else { 1e-4 }
    }

    /// The SCNNs guess what they cannot see, and ours is best where λ_⊥ fits the breaking.
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

    #[test]
    fn claims_of_theory_hold_on_ideal_results() {
        let checks = judged_of("2", ideal);
        assert_eq!(held(&checks), [true; 9], "{checks:?}");
        for (check, by) in [(&checks[6], "accuracy"), (&checks[8], "loss")] {
            assert!(check.claim.starts_with(&format!("O(3) ours: the best λ_⊥ by validation {by} falls")), "{check}");
            assert!(check.found.starts_with("breaking 0: 1, breaking 0.5: 1e-4, breaking 1: 1e-4"), "{check}");
        }
        let once = judged_of("1", ideal);
        assert!(once.iter().all(|check| check.verdict == Verdict::Undecided(Reason::OneSeed)), "{once:?}");
    }

    #[test]
    fn claims_of_theory_do_not_hold_on_others() {
        // Everyone tells everything, and no λ_⊥ is better than another.
        let all = judged_of("2", |_| run(0.8, 0.1));
        assert_eq!(held(&all), [false, true, false, true, true, false, false, false, false]);
        assert!(all[5].found.contains("breaking 0: 1e-4 (tied: 1e-2, 1)"), "{}", all[5]);
        // Nobody learned anything: being at chance is no merit then.
        let idle = judged_of("2", |_| run(0.5, 0.1));
        assert!(idle.iter().all(|check| !check.is_held() && check.found.contains("not trained")), "{idle:?}");
    }

    #[test]
    fn a_best_tied_with_that_of_the_other_end_does_not_fall() {
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
        let undecided = Verdict::Undecided(Reason::SmallDifference);
        assert!(tied[5..7].iter().all(|check| check.verdict == undecided), "{tied:?}");
        let ends =
            "breaking 0: 1 (tied: 1e-4, 1e-2), breaking 0.5: 1e-4 (tied: 1e-2, 1), breaking 1: 1e-4 (tied: 1e-2, 1)";
        assert_eq!(tied[5].found, ends);
        let apart = judged_of("2", noisy(0.08));
        assert!(apart[5..].iter().all(|check| check.is_held()), "{apart:?}");
    }

    #[test]
    fn accuracy_and_loss_are_judged_separately() {
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
