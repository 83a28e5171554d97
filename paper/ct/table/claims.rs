//! The paper's claims about its images, checked on ours.
//!
//! ```text
//! better: higher by more than 2 se over seeds        collapses: at least 5 dB below the plain network        stays: within 1.5 dB
//! ```

use super::cells::{Cell, PSNR, QUALITIES, Quality, find};
use super::row::{Mode, head};
use crate::ct::networks::Architecture;
use crate::targets::columns::shown;
use crate::targets::judge::{Difference, judged, over_seeds};
use crate::targets::runs::seeds;
use crate::targets::sample::three_digits;
use reynolds::norm::Norm;
use reynolds_report::{Check, Verdict};

/// dB that a collapse loses; the paper's loses 18.
const COLLAPSE: f64 = 5.0;

/// dB within which nothing collapsed; the paper's others change by at most 1.
const STAYS: f64 = 1.5;

/// Every claim about images of networks in their modes for which rows were run.
pub(super) fn of_modes(cells: &[Cell<'_>]) -> Vec<Check> {
    let each = |from| {
        let pairs = Architecture::ALL.into_iter().flat_map(|network| QUALITIES.map(|quality| (network, quality)));
        pairs.filter_map(move |(network, quality)| better(cells, network, from, quality))
    };
    let mut checks: Vec<Check> = each(Mode::Plain).chain(beats_sampling(cells)).chain(each(Mode::Rpp)).collect();
    checks.extend(Architecture::ALL.into_iter().filter_map(|network| projected(cells, network)));
    for network in Architecture::ALL {
        checks.extend([Mode::Plain, Mode::Sample].into_iter().filter_map(|against| nearer(cells, network, against)));
    }
    checks
}

/// Two rows of a network with images.
fn pair<'a, 'b>(cells: &'a [Cell<'b>], network: Architecture, modes: [Mode; 2]) -> Option<[&'a Cell<'b>; 2]> {
    let of = |mode| find(cells, network, mode).filter(|cell| !cell.runs.is_empty());
    Some([of(modes[0])?, of(modes[1])?])
}

/// Of the row with the fewest.
fn seeds_of(cells: &[&Cell<'_>]) -> usize {
    cells.iter().map(|cell| cell.test("psnr").values().len()).min().unwrap_or(0)
}

fn trained<'a>(cells: &[&'a Cell<'_>]) -> Vec<(&'a str, bool)> {
    cells.iter().map(|cell| (cell.label.as_str(), cell.is_trained())).collect()
}

/// "41.44 → 41.52, difference +0.08 with standard error 0.02; paper 41.44 → 41.52".
fn change([from, to]: [&Cell<'_>; 2], quality: Quality) -> (Difference, String) {
    let [before, after] = [from, to].map(|cell| cell.test(quality.metric));
    let difference = Difference::new(&after, &before);
    let [before, after] = [before.mean(), after.mean()].map(|mean| match mean.is_finite() {
        true => quality.text(mean),
        false => "diverged".into(),
    });
    let mut found = format!("{before} → {after}");
    let Difference { mean, error, spread_known } = difference;
    if mean.is_finite() && spread_known {
        found += &format!(", difference {mean:+.4} with standard error {error:.4}");
    }
    let [before, after] = [from, to].map(|cell| quality.text(cell.published(quality.metric)));
    (difference, found + &format!("; paper {before} → {after}"))
}

/// Ours improves over the plain network; RPP falls short of ours.
fn better(cells: &[Cell<'_>], network: Architecture, from: Mode, quality: Quality) -> Option<Check> {
    let [other, ours] = pair(cells, network, [from, Mode::Penalty])?;
    let (difference, mut found) = change([other, ours], quality);
    // A network of RPP that learned nothing does fall short.
    let (claim, on) = match from {
        Mode::Plain => ("the projection penalty improves", trained(&[other, ours])),
        _ => ("RPP falls short of ours in", trained(&[ours])),
    };
    if (from, quality) == (Mode::Plain, PSNR) && ours.published("psnr") < other.published("psnr") {
        found += " (its text says \"in most cases\", and this is none)";
    }
    let claim = format!("{}: {claim} {}", head(network), quality.head);
    Some(judged(claim, difference.rises(), found, on))
}

/// Ours surpasses the sample-based penalty in all metrics and networks but one: one of all six, and none of fewer.
fn beats_sampling(cells: &[Cell<'_>]) -> Option<Check> {
    let (mut verdicts, mut rows, mut found) = (Vec::new(), Vec::new(), Vec::new());
    for network in Architecture::ALL {
        let Some(pair) = pair(cells, network, [Mode::Sample, Mode::Penalty]) else { continue };
        rows.extend(pair);
        for quality in QUALITIES {
            let (difference, text) = change(pair, quality);
            verdicts.push(difference.rises());
            found.push(format!("{} {} {text}", head(network), quality.head));
        }
    }
    let all = found.len();
    let claim = "ours surpasses the sample-based penalty in all metrics and networks but one";
    let won = verdicts.iter().filter(|verdict| **verdict == Verdict::Held).count();
    let found = format!("in {won} of the {all} that were run: {}", found.join("; "));
    // The one that may be lost, the worst.
    verdicts.sort_by_key(|verdict| match verdict {
        Verdict::Fell => 0,
        Verdict::Undecided(_) => 1,
        Verdict::Held => 2,
    });
    let excepted = usize::from(all == Architecture::ALL.len() * QUALITIES.len());
    let verdict = Verdict::all(verdicts.into_iter().skip(excepted));
    (all > 0).then(|| judged(claim, verdict, found, trained(&rows)))
}

/// Projection after training ruins ACDNet, and no other.
fn projected(cells: &[Cell<'_>], network: Architecture) -> Option<Check> {
    let pair = pair(cells, network, [Mode::Plain, Mode::Projected])?;
    let (difference, found) = change(pair, PSNR);
    let (collapses, verdict) = match network {
        Architecture::Acdnet if difference.mean > -COLLAPSE => ("collapses", over_seeds(seeds_of(&pair), false)),
        Architecture::Acdnet => ("collapses", difference.falls()),
        _ => ("does not collapse", difference.is_not_below(STAYS)),
    };
    let claim = format!("{}: projected after training it {collapses}", head(network));
    Some(judged(claim, verdict, found, trained(&pair[..1])))
}

/// Our weights and our network are nearer to C4, with every seed. A network that returns LI has no defect, so that both rows must be trained.
fn nearer(cells: &[Cell<'_>], network: Architecture, against: Mode) -> Option<Check> {
    let [other, ours] = pair(cells, network, [against, Mode::Penalty])?;
    let metrics = [("‖W − P(W)‖/‖W‖", "weights/relative_distance"), ("C4 equivariance error", "equivariance_error")];
    let below = |metric: &str| {
        let [ours, other] = [ours, other].map(|cell| cell.test(metric).values().to_vec());
        let least = other.iter().copied().fold(f64::INFINITY, f64::min);
        let is_measured = |values: &[f64]| !values.is_empty() && values.iter().all(|value| value.is_finite());
        is_measured(&ours) && is_measured(&other) && ours.iter().all(|value| *value < least)
    };
    let found = metrics.map(|(name, metric)| {
        let [other, ours] = [other, ours].map(|cell| shown(cell.test(metric).mean(), three_digits));
        format!("{name} {other} → {ours}")
    });
    let mut found = format!("{}; the paper does not measure it", found.join(", "));
    for (cell, diverged) in [other, ours].map(|cell| (cell, cell.runs.diverged())) {
        if diverged > 0 {
            found += &format!("; {} diverged with {diverged} of {}", cell.label, seeds(cell.runs.len() as u64));
        }
    }
    let held = metrics.iter().all(|(_, metric)| below(metric));
    let than = if against == Mode::Plain { "the plain network" } else { "the sample-based penalty" };
    let claim = format!("{}: ours is nearer to C4 than {than}, in its weights and as a whole", head(network));
    // What diverged is not trained.
    let rows = [other, ours];
    Some(judged(claim, over_seeds(seeds_of(&rows), held), found, trained(&rows)))
}

/// Every claim about norms that were run, network by network.
pub(super) fn of_norms(cells: &[Cell<'_>]) -> Vec<Check> {
    let of_network = |network: Architecture| {
        let of = |cell: &&Cell<'_>| cell.row.network == network && cell.row.mode == Mode::Penalty;
        let cells: Vec<&Cell<'_>> = cells.iter().filter(of).collect();
        let stiff = ["max", "(1,1)"].into_iter().filter_map(|norm| degrades(&cells, norm));
        let checks: Vec<Check> = alike(&cells).into_iter().chain(stiff).chain(spectral(&cells)).collect();
        checks.into_iter().map(move |check| Check { claim: format!("{}: {}", head(network), check.claim), ..check })
    };
    Architecture::ALL.into_iter().flat_map(of_network).collect()
}

/// The row of a norm, if it has images.
fn under<'a, 'b>(cells: &[&'a Cell<'b>], norm: &str) -> Option<&'a Cell<'b>> {
    cells.iter().copied().find(|cell| cell.label == norm && !cell.runs.is_empty())
}

/// Norms that the paper calls close lie within 1 dB and 0.01 of each other.
fn alike(cells: &[&Cell<'_>]) -> Option<Check> {
    let names = ["frobenius", "(2,2)", "(1,3)", "(3,3)"];
    let four: Vec<&Cell<'_>> = names.iter().map(|norm| under(cells, norm)).collect::<Option<_>>()?;
    let means = QUALITIES.map(|quality| four.iter().map(move |cell| cell.test(quality.metric).mean()));
    let apart = means.map(|means| {
        let [least, most] =
            [means.clone().fold(f64::INFINITY, f64::min), means.clone().fold(f64::NEG_INFINITY, f64::max)];
        // What diverged is within nothing.
        if means.into_iter().any(f64::is_nan) { f64::NAN } else { most - least }
    });
    let numbers = four.iter().map(|cell| {
        let [psnr, ssim] = QUALITIES.map(|quality| quality.text(cell.test(quality.metric).mean()));
        format!("{} {psnr} {ssim}", cell.label)
    });
    let found = format!("apart by {:.2} dB and {:.4}: {}", apart[0], apart[1], numbers.collect::<Vec<_>>().join(", "));
    let verdict = over_seeds(seeds_of(&four), apart[0] <= 1.0 && apart[1] <= 0.01);
    let claim = "Frobenius, (2,2), (1,3) and (3,3) lie within 1 dB and 0.01 of each other";
    Some(judged(claim, verdict, found, trained(&four)))
}

/// A norm that the paper calls too stiff is worse than Frobenius in both.
fn degrades(cells: &[&Cell<'_>], norm: &str) -> Option<Check> {
    let (stiff, usual) = (under(cells, norm)?, under(cells, "frobenius")?);
    let samples = QUALITIES.map(|quality| [usual, stiff].map(|cell| cell.test(quality.metric)));
    let differences = samples.each_ref().map(|[usual, stiff]| Difference::new(stiff, usual));
    let found = QUALITIES.iter().zip(&samples).map(|(quality, [usual, stiff])| {
        format!("{} {} → {}", quality.head, quality.text(usual.mean()), quality.text(stiff.mean()))
    });
    let claim = format!("{norm} degrades both PSNR and SSIM against Frobenius");
    let found = found.collect::<Vec<_>>().join(", ");
    Some(judged(claim, Verdict::all(differences.iter().map(Difference::falls)), found, trained(&[usual])))
}

/// Only the spectral norm costs: 10 to 15 % an epoch.
fn spectral(cells: &[&Cell<'_>]) -> Option<Check> {
    let epochs = cells.iter().map(|cell| (cell.row.norm, cell.epoch())).filter(|(_, epoch)| epoch.is_finite());
    let (spectral, others): (Vec<_>, Vec<_>) = epochs.partition(|(norm, _)| *norm == Norm::Spectral);
    let (_, slow) = *spectral.first()?;
    let mean = others.iter().map(|(_, epoch)| epoch).sum::<f64>() / others.len() as f64;
    let (least, most) = others.iter().fold((f64::INFINITY, 0.0_f64), |(a, b), &(_, x)| (a.min(x), b.max(x)));
    let (more, apart) = (slow / mean - 1.0, most / least - 1.0);
    let claim = "the spectral norm makes an epoch 10 to 15 % slower than the others, which are alike within 5 %";
    let found = format!(
        "spectral {:+.1} % over the mean of {} others, which lie within {:.1} %; the paper's table +12 % and 4 %",
        100.0 * more,
        others.len(),
        100.0 * apart
    );
    (!others.is_empty()).then(|| Check::new(claim, (0.10..=0.15).contains(&more) && apart <= 0.05, found))
}
