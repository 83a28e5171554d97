//! The table of norms beside the paper's, and what the paper says of it.

use crate::ct::networks::Architecture;
use reynolds::norm::Norm;

use super::cells::{Cell, Cost, EPOCH, Quality, trivial};
use super::claims::judged;
use super::paper::published_norm;
use super::row::{Mode, NETWORKS, head};
use super::tables::{DATA, gain, over, shown, spread};
use super::training::Training;
use crate::targets::difference::Difference;
use crate::targets::sample::three_digits;
use reynolds_report::{Check, Table};

/// The network without a penalty that a cell stands beside.
fn plain<'a, 'b>(cells: &'a [Cell<'b>], cell: &Cell<'_>) -> Option<&'a Cell<'b>> {
    cells.iter().find(|other| other.row.network == cell.row.network && other.row.mode == Mode::Plain)
}

/// What a training step takes more than without a penalty, as a share.
fn overhead(cells: &[Cell<'_>], cell: &Cell<'_>) -> f64 {
    let step = |cell: Option<&Cell<'_>>| cell.and_then(|cell| cell.cost.as_ref()).map_or(f64::NAN, Cost::step);
    step(Some(cell)) / step(plain(cells, cell)) - 1.0
}

/// Quality and cost of every norm.
pub(super) fn table(training: &Training, cells: &[Cell<'_>]) -> Table {
    let mut table = Table::new([
        "network",
        "norm",
        "PSNR (dB)",
        "paper",
        "SSIM",
        "paper",
        "gain over LI / se",
        "step (ms)",
        "overhead",
        "train/s",
        "paper",
        "epoch (s)",
        "paper",
        "‖W − P(W)‖",
        "relative",
        "C4 defect",
    ]);
    table.caption(format!(
        "{DATA}, {}, beside the paper's on other data; times of a training step at the largest batch, measured alone, the overhead over the \
         network without a penalty; an epoch is {EPOCH} images; \"not trained\": does not beat LI by 3 standard errors",
        over(training)
    ));
    for (name, key) in [("corrupted input", "input"), ("LI", "interpolated")] {
        let [psnr, ssim] =
            Quality::ALL.map(|quality| quality.text(trivial(cells, &format!("{key}/{}", quality.name()))));
        let lead = [String::new(), name.to_string(), psnr, "–".into(), ssim];
        table.row(lead.into_iter().chain(std::iter::repeat_n("–".to_string(), 11)));
    }
    for cell in cells {
        let paper = published_norm(cell.norm).filter(|_| cell.row.mode == Mode::Penalty);
        let theirs = |value: fn(super::paper::PublishedNorm) -> f64| paper.map_or(f64::NAN, value);
        let cost = |value: &dyn Fn(&Cost<'_>) -> f64| cell.cost.as_ref().map_or(f64::NAN, value);
        let hundredths = |value: f64| format!("{value:.2}");
        table.row([
            head(cell.row.network).to_string(),
            cell.label.clone(),
            cell.text(Quality::Psnr),
            Quality::Psnr.text(theirs(|paper| paper.psnr)),
            cell.text(Quality::Ssim),
            Quality::Ssim.text(theirs(|paper| paper.ssim)),
            gain(cell),
            shown(cost(&|cost| cost.step()), three_digits),
            shown(overhead(cells, cell), |share| format!("{:+.1} %", 100.0 * share)),
            shown(cost(&|cost| cost.train(cost.largest())), three_digits),
            shown(theirs(|paper| paper.train), hundredths),
            shown(cost(&|cost| cost.epoch()), three_digits),
            shown(theirs(|paper| paper.epoch), |value| format!("{value:.0}")),
            spread(&cell.test("held/residual")),
            spread(&cell.test("held/relative")),
            spread(&cell.test("defect")),
        ]);
    }
    table
}

/// Every claim for which norms were run, network by network.
pub(super) fn checks(cells: &[Cell<'_>]) -> Vec<Check> {
    let of_network = |network: Architecture| {
        let cells: Vec<Cell<'_>> = cells.iter().filter(|cell| cell.row.network == network).cloned().collect();
        let stiff = ["max", "(1,1)"].into_iter().filter_map(|norm| degrades(&cells, norm));
        let checks: Vec<Check> = alike(&cells).into_iter().chain(stiff).chain(spectral(&cells)).collect();
        checks.into_iter().map(move |check| Check { claim: format!("{}: {}", head(network), check.claim), ..check })
    };
    NETWORKS.into_iter().flat_map(of_network).collect()
}

fn find<'a, 'b>(cells: &'a [Cell<'b>], norm: &str) -> Option<&'a Cell<'b>> {
    let norm: Norm = norm.parse().ok()?;
    cells.iter().find(|cell| cell.row.mode == Mode::Penalty && cell.norm == norm)
}

/// Norms that the paper calls close lie within 1 dB and 0.01 of each other.
fn alike(cells: &[Cell<'_>]) -> Option<Check> {
    let names = ["frobenius", "(2,2)", "(1,3)", "(3,3)"];
    let found = names.map(|norm| find(cells, norm).filter(|cell| !cell.runs.is_empty()));
    let [Some(a), Some(b), Some(c), Some(d)] = found else { return None };
    let four = [a, b, c, d];
    let apart = Quality::ALL.map(|quality| {
        let means = four.map(|cell| cell.quality(quality).mean());
        // NaN where one diverged, which is within nothing.
        means.iter().fold(0.0_f64, |most, a| {
            means.iter().map(|b| (a - b).abs()).fold(most, |x, y| if y > x || y.is_nan() { y } else { x })
        })
    });
    let numbers = names.iter().zip(four).map(|(name, cell)| {
        format!(
            "{name} {} {}",
            Quality::Psnr.text(cell.quality(Quality::Psnr).mean()),
            Quality::Ssim.text(cell.quality(Quality::Ssim).mean())
        )
    });
    let found = format!("apart by {:.2} dB and {:.4}: {}", apart[0], apart[1], numbers.collect::<Vec<_>>().join(", "));
    let known = four.iter().all(|cell| cell.quality(Quality::Psnr).values().len() >= 2);
    let claim = "Frobenius, (2,2), (1,3) and (3,3) lie within 1 dB and 0.01 of each other";
    Some(judged(claim.into(), apart[0] <= 1.0 && apart[1] <= 0.01, found, known, &four))
}

/// A norm that the paper calls too stiff is worse than Frobenius in both.
fn degrades(cells: &[Cell<'_>], norm: &str) -> Option<Check> {
    let of = |norm| find(cells, norm).filter(|cell| !cell.runs.is_empty());
    let (stiff, usual) = (of(norm)?, of("frobenius")?);
    let differences = Quality::ALL.map(|quality| Difference::new(&stiff.quality(quality), &usual.quality(quality)));
    let found = Quality::ALL.map(|quality| {
        let [usual, stiff] = [usual, stiff].map(|cell| quality.text(cell.quality(quality).mean()));
        format!("{} {usual} → {stiff}", quality.head())
    });
    let claim = format!("{norm} degrades both PSNR and SSIM against Frobenius");
    let known = differences.iter().all(|difference| difference.spread_known);
    Some(judged(claim, differences.iter().all(Difference::falls), found.join(", "), known, &[usual]))
}

/// Only the spectral norm costs: 10 to 15 % an epoch.
fn spectral(cells: &[Cell<'_>]) -> Option<Check> {
    let epoch = |cell: &Cell<'_>| cell.cost.as_ref().map(Cost::epoch).filter(|epoch| epoch.is_finite());
    let slow = epoch(find(cells, "spectral")?)?;
    let penalised = cells.iter().filter(|cell| cell.row.mode == Mode::Penalty && cell.norm != Norm::Spectral);
    let others: Vec<f64> = penalised.filter_map(epoch).collect();
    let mean = others.iter().sum::<f64>() / others.len() as f64;
    let (least, most) = others.iter().fold((f64::INFINITY, 0.0_f64), |(a, b), &x| (a.min(x), b.max(x)));
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
