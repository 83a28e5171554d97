//! `fig-shapes`: what the method does on generated shapes, whose symmetry is broken by as much as one likes.
//!
//! ```text
//! chance        |accuracy on pairs − ½| ≤ 3 se,  se = ½/√n of the n test volumes of the pairs, whatever the number of seeds
//! best λ_⊥      by validation accuracy, the highest mean over seeds, of equal ones the smaller loss; and by validation loss, the lowest
//! tied          within the standard error of the difference
//! it falls      that at the smallest breaking is above that at the largest, nowhere rises, and neither end has the other's as tied
//! ```

mod drawn;

use self::drawn::{csv, figure, table};
use super::cells::{Cell, seeds, share};
use super::notes;
use super::settings::ShapesSettings;
use super::tables::strength;
use super::target::Training;
use super::volume_run::VolumeRun;
use crate::medmnist::MedSettings;
use crate::medmnist::networks::Symmetry;
use crate::medmnist::rows::{Row, group_head};
use crate::medmnist::sets::Set;
use crate::targets::difference::ONE_SEED;
use crate::targets::findings::Findings;
use crate::targets::point::Frame;
use crate::targets::runs;
use crate::targets::sample::Sample;
use reynolds_report::Check;
use reynolds_train::config::RunConfig;

/// Standard errors within which nobody tells two classes apart.
const ERRORS: f64 = 3.0;

/// Pairs of classes that differ by one thing alone.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Pairs {
    Rotation,
    Reflection,
}

impl Pairs {
    const ALL: [Self; 2] = [Self::Rotation, Self::Reflection];

    fn name(self) -> &'static str {
        match self {
            Self::Rotation => "rotation",
            Self::Reflection => "reflection",
        }
    }
}

/// What a λ_⊥ is the best by. Accuracy is what weights are chosen by; but where nothing is broken it tosses a coin for every volume, which
/// of its pair it is, and the loss does not.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum By {
    Accuracy,
    Loss,
}

impl By {
    const ALL: [Self; 2] = [Self::Accuracy, Self::Loss];

    fn name(self) -> &'static str {
        match self {
            Self::Accuracy => "accuracy",
            Self::Loss => "loss",
        }
    }

    /// Whether smaller is better, as a factor.
    fn sign(self) -> f64 {
        match self {
            Self::Accuracy => -1.0,
            Self::Loss => 1.0,
        }
    }
}

/// A row that was run at one breaking.
#[derive(Debug, Clone)]
struct At<'a> {
    breaking: f64,
    cell: Cell<'a>,
}

impl At<'_> {
    /// Accuracy on pairs, told apart by their two logits alone.
    fn pairs(&self, pairs: Pairs) -> Sample {
        self.cell.test(&format!("pairs/{}", pairs.name()))
    }

    /// Accuracy on pairs above one half, and the standard error of guessing.
    fn above_chance(&self, pairs: Pairs) -> (f64, f64) {
        (self.pairs(pairs).mean() - 0.5, 0.5 / self.cell.test(&format!("pairs/{}_count", pairs.name())).mean().sqrt())
    }

    fn validation(&self, metric: &str) -> Sample {
        runs::sample(&self.cell.runs, &format!("validation/{metric}"))
    }

    /// "0.512 ± 0.010 (se of guessing 0.028)".
    fn found(&self, pairs: Pairs) -> String {
        let error = self.above_chance(pairs).1;
        format!("{} pairs {}, standard error of guessing {error:.3}", pairs.name(), share(&self.pairs(pairs)))
    }
}

impl ShapesSettings {
    /// The SCNN of each group where the symmetry is most broken, and ours at every breaking and λ_⊥; at the first seed.
    fn runs(&self) -> Vec<VolumeRun> {
        let of = |row, lambda_perp, breaking| {
            VolumeRun::new(&self.run, Set::Shapes, row, self.strengths(lambda_perp)).broken(breaking)
        };
        let (breakings, perps) = (self.breakings.increasing(), self.lambda_perp.increasing());
        let most = self.most_broken();
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

impl Training for ShapesSettings {
    fn run(&self) -> &RunConfig<MedSettings> {
        &self.run
    }

    fn sets(&self) -> Vec<Set> {
        vec![Set::Shapes]
    }

    fn wanted(&self, _: &Frame) -> Vec<VolumeRun> {
        let of = |run: VolumeRun| seeds(self.run.seed, self.seeds).map(move |seed| run.seeded(seed));
        self.runs().into_iter().flat_map(of).collect()
    }
}

/// What comes of the models.
pub(super) fn findings(settings: &ShapesSettings, frame: &Frame) -> Findings {
    let all = found(settings, frame);
    Findings {
        tables: vec![table(settings, &all)],
        csv: csv(&all),
        figures: vec![figure(settings, &all)],
        checks: checks(settings, &all),
        notes: notes::of_shapes(settings),
        ..Findings::default()
    }
}

/// All that was run.
fn found<'a>(settings: &ShapesSettings, frame: &'a Frame) -> Vec<At<'a>> {
    let mut found = Vec::new();
    for run in settings.runs() {
        let runs = run.over_seeds(frame, seeds(settings.run.seed, settings.seeds));
        if !runs.is_empty() {
            let cell = Cell { set: run.set(), row: run.row(), strengths: run.strengths(), runs };
            found.push(At { breaking: run.breaking(), cell });
        }
    }
    found
}

/// Ours of a group at a breaking, λ_⊥ increasing.
fn sweep<'a, 'b>(all: &'a [At<'b>], group: Symmetry, breaking: f64) -> Vec<&'a At<'b>> {
    all.iter().filter(|at| at.cell.row == Row::ours(group) && at.breaking == breaking).collect()
}

/// The best of a sweep by validation, and the λ_⊥ of those that are tied with it.
fn best<'a, 'b>(sweep: &[&'a At<'b>], by: By) -> Option<(&'a At<'b>, Vec<f64>)> {
    let badness = |at: &At<'_>| by.sign() * at.validation(by.name()).mean();
    let order = |at: &At<'_>| (badness(at), at.validation("loss").mean());
    let finite = sweep.iter().copied().filter(|at| badness(at).is_finite());
    let best = finite.reduce(|best, at| if order(at) < order(best) { at } else { best })?;
    let error = |at: &At<'_>| {
        let sample = at.validation(by.name());
        sample.deviation() / (sample.values().len() as f64).sqrt()
    };
    let is_tied = |at: &&&At<'_>| badness(at) - badness(best) <= error(best).hypot(error(at));
    let perp = |at: &At<'_>| at.cell.strengths.lambda_perp;
    let tied = sweep.iter().filter(is_tied).map(|at| perp(at)).filter(|&other| other != perp(best)).collect();
    Some((best, tied))
}

/// Every check for which models were run.
fn checks(settings: &ShapesSettings, all: &[At<'_>]) -> Vec<Check> {
    let mut checks = Vec::new();
    let strict = |group| all.iter().find(move |at| at.cell.row == Row::scnn(group));
    if let Some(at) = strict(Symmetry::So3) {
        checks.push(at_chance(at, &[Pairs::Rotation]));
        checks.push(not_at_chance(at, &[Pairs::Reflection], ""));
    }
    if let Some(at) = strict(Symmetry::O3) {
        checks.push(at_chance(at, &Pairs::ALL));
    }
    let most = settings.most_broken();
    for group in settings.groups.iter() {
        if let Some(at) = sweep(all, group, most).first() {
            let small = format!(" with λ_⊥ = {}", strength(at.cell.strengths.lambda_perp));
            checks.push(not_at_chance(at, &Pairs::ALL, &small));
        }
    }
    for by in By::ALL {
        checks.extend(settings.groups.iter().filter_map(|group| falls(settings, all, group, by)));
    }
    checks
}

fn listed(pairs: &[Pairs]) -> String {
    pairs.iter().map(|pairs| pairs.name()).collect::<Vec<_>>().join(" and ")
}

/// What decides a check of one row, which nothing does that was not trained.
fn judged(claim: String, held: bool, at: &At<'_>, pairs: &[Pairs]) -> Check {
    let mut found = pairs.iter().map(|&pairs| at.found(pairs)).collect::<Vec<_>>().join("; ");
    let trained = at.cell.is_trained();
    if !trained {
        found += "; not trained";
    }
    Check::new(claim, held && trained, found)
}

fn at_chance(at: &At<'_>, pairs: &[Pairs]) -> Check {
    let guesses = |&pairs: &Pairs| {
        let (above, error) = at.above_chance(pairs);
        above.abs() <= ERRORS * error
    };
    let claim = format!("the {} is at chance on {} pairs", at.cell.row.label(), listed(pairs));
    judged(claim, pairs.iter().all(guesses), at, pairs)
}

fn not_at_chance(at: &At<'_>, pairs: &[Pairs], with: &str) -> Check {
    let tells = |&pairs: &Pairs| {
        let (above, error) = at.above_chance(pairs);
        above > ERRORS * error
    };
    let claim = format!("{}{with} is above chance on {} pairs", at.cell.row.label(), listed(pairs));
    judged(claim, pairs.iter().all(tells), at, pairs)
}

/// The best λ_⊥ falls as the symmetry is broken, from one end to the other by more than noise makes it fall.
fn falls(settings: &ShapesSettings, all: &[At<'_>], group: Symmetry, by: By) -> Option<Check> {
    let mut bests = Vec::new();
    for breaking in settings.breakings.increasing() {
        bests.push((breaking, best(&sweep(all, group, breaking), by)?));
    }
    let perps: Vec<f64> = bests.iter().map(|(_, (at, _))| at.cell.strengths.lambda_perp).collect();
    let [first, .., last] = perps[..] else { return None };
    let text = |(breaking, (at, tied)): &(f64, (&At<'_>, Vec<f64>))| {
        let mut text = format!("breaking {breaking}: {}", strength(at.cell.strengths.lambda_perp));
        if !tied.is_empty() {
            text += &format!(" (tied: {})", tied.iter().map(|&perp| strength(perp)).collect::<Vec<_>>().join(", "));
        }
        text + if at.cell.is_trained() { "" } else { " not trained" }
    };
    let trained = bests.iter().all(|(_, (at, _))| at.cell.is_trained());
    let spread_known = bests.iter().all(|(_, (at, _))| at.validation(by.name()).values().len() >= 2);
    let tied =
        |end: Option<&(f64, (&At<'_>, Vec<f64>))>, other: f64| end.is_some_and(|(_, (_, tied))| tied.contains(&other));
    let ends_tied = tied(bests.first(), last) || tied(bests.last(), first);
    let falls = last < first && perps.windows(2).all(|pair| pair[1] <= pair[0]);
    let mut found = bests.iter().map(text).collect::<Vec<_>>().join(", ");
    if falls && ends_tied {
        found += "; not held by ends that are tied";
    }
    if !spread_known {
        found += ONE_SEED;
    }
    let claim =
        format!("{} ours: the best λ_⊥ by validation {} falls as the symmetry is broken", group_head(group), by.name());
    Some(Check::new(claim, trained && spread_known && falls && !ends_tied, found))
}

#[cfg(test)]
mod tests;
