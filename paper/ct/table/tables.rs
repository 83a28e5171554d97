//! The table beside the paper's: how good the images are, and what they cost.

use super::cells::{Cell, Cost, EPOCH, Quality, trivial};
use super::paper::published;
use super::pictures::Shown;
use super::row::Mode;
use super::settings::Costs;
use super::training::Training;
use crate::targets::runs::seeds;
use crate::targets::sample::{Sample, three_digits};
use reynolds_report::Table;

/// What the data are called: never the challenge, whose data these are not.
pub(super) const DATA: &str = "simulated CT-MAR";

/// A number that may be none.
pub(super) fn shown(value: f64, text: impl Fn(f64) -> String) -> String {
    if value.is_finite() { text(value) } else { "–".into() }
}

/// "2.41 ± 0.03", without a deviation where there is one value.
pub(super) fn spread(sample: &Sample) -> String {
    match sample.values().len() {
        1 => shown(sample.mean(), three_digits),
        _ => shown(sample.mean(), |_| sample.to_string()),
    }
}

/// "mean ± standard deviation over 3 seeds", or what one seed has.
pub(super) fn over(training: &Training) -> String {
    match training.seeds {
        1 => "1 seed, ± standard error over cases".into(),
        count => format!("mean ± standard deviation over {}", seeds(count)),
    }
}

/// "0.412 / 0.031": a gain and its standard error.
pub(super) fn gain(cell: &Cell<'_>) -> String {
    let (gain, error) = cell.gain();
    if cell.runs.is_empty() { "–".into() } else { shown(gain, |_| format!("{gain:+.2} / {error:.2}")) }
}

/// PSNR, SSIM, and how far the weights and the whole network are from C4, beside the paper.
pub(super) fn quality(training: &Training, cells: &[Cell<'_>]) -> Table {
    let mut table = Table::new([
        "row",
        "PSNR (dB)",
        "paper",
        "SSIM",
        "paper",
        "gain over LI / se",
        "‖W − P(W)‖",
        "relative",
        "C4 defect",
    ]);
    table.caption(format!(
        "{DATA}, {}, beside the paper's on other data; the defect is ‖f(r x) − r f(x)‖/‖f(x)‖ of the whole network over quarter turns, \
         outside the metal, of at most 12 test cases; \
         \"not trained\": does not beat LI by 3 standard errors",
        over(training)
    ));
    for (name, key) in [("corrupted input", "input"), ("LI", "interpolated")] {
        let [psnr, ssim] =
            Quality::ALL.map(|quality| quality.text(trivial(cells, &format!("{key}/{}", quality.name()))));
        let dash = || "–".to_string();
        table.row([name.to_string(), psnr, dash(), ssim, dash(), dash(), dash(), dash(), dash()]);
    }
    for cell in cells.iter().filter(|cell| !cell.runs.is_empty()) {
        let paper = published(cell.row);
        table.row([
            cell.label.clone(),
            cell.text(Quality::Psnr),
            Quality::Psnr.text(paper.psnr),
            cell.text(Quality::Ssim),
            Quality::Ssim.text(paper.ssim),
            gain(cell),
            spread(&cell.test("held/residual")),
            spread(&cell.test("held/relative")),
            spread(&cell.test("defect")),
        ]);
    }
    table
}

/// The same weights in both precisions; `None` where no device had both.
pub(super) fn precisions(cells: &[Cell<'_>]) -> Option<Table> {
    let mut table = Table::new(["row", "tested in", "PSNR (dB)", "other precision", "difference (dB)"]);
    table.caption(format!(
        "{DATA}: the same trained weights tested in f32 (TF32 convolutions) and in bf16, seed by seed"
    ));
    let mut found = false;
    for cell in cells.iter().filter(|cell| cell.row.mode != Mode::Projected) {
        for (seed, run) in &cell.runs {
            for (other, own) in [("f32", "bf16"), ("bf16", "f32")] {
                let (here, there) = (run.metric("test/psnr"), run.metric(&format!("{other}/test/psnr")));
                if there.is_finite() {
                    found = true;
                    let label = format!("{}, seed {seed}", cell.label);
                    let [first, second] = [here, there].map(|value| Quality::Psnr.text(value));
                    table.row([label, own.to_string(), first, second, format!("{:+.4}", there - here)]);
                }
            }
        }
    }
    found.then_some(table)
}

/// Parameters, throughput, time and memory beside the paper; `None` if nothing was measured.
pub(super) fn efficiency(costs: &Costs, cells: &[Cell<'_>]) -> Option<Table> {
    let measured: Vec<(&Cell<'_>, &Cost<'_>)> =
        cells.iter().filter_map(|cell| Some((cell, cell.cost.as_ref()?))).collect();
    let most = measured.iter().map(|(_, cost)| cost.largest()).max()?;
    let least = costs.measured_batches.first().copied()?;
    let [first, mut second] = [least, most].map(|batch| format!("train/s, batch {batch}"));
    if most == least {
        second = "train/s, larger".into();
    }
    let mut table = Table::new([
        "row",
        "parameters",
        "paper",
        &first,
        "paper (4)",
        &second,
        "paper (12)",
        "inference/s",
        "paper",
        "epoch (s)",
        "paper",
        "peak memory (GiB)",
        "paper (GB)",
    ]);
    table.caption(format!(
        "images a second, measured alone by a process for each row: {} steps of side {} in {}; inference, epoch ({EPOCH} images) and \
         memory at the largest batch that was measured of a row; test-time projection is the plain network with other weights, and costs \
         what that does",
        costs.measured_steps,
        costs.measured_side,
        costs.measured_precision.name()
    ));
    let speed = |value: f64| shown(value, three_digits);
    let whole = |value: f64| shown(value, |value| format!("{value:.0}"));
    let hundredths = |value: f64| shown(value, |value| format!("{value:.2}"));
    for (cell, cost) in measured {
        let paper = published(cell.row);
        table.row([
            cell.label.clone(),
            whole(cell.parameters()),
            shown(paper.parameters, |value| format!("{value:.1}M")),
            speed(cost.train(least)),
            hundredths(paper.train_4),
            if most == least { "–".into() } else { speed(cost.train(most)) },
            hundredths(paper.train_12),
            speed(cost.inference()),
            hundredths(paper.inference),
            speed(cost.epoch()),
            whole(paper.epoch),
            hundredths(cost.memory(cost.largest())),
            hundredths(paper.memory),
        ]);
    }
    Some(table)
}

/// PSNR of every picture of the figures.
pub(super) fn pictures(shown: &[Shown]) -> Table {
    let mut table = Table::new(["slice", "picture", "PSNR (dB)"]);
    table.caption(format!("{DATA}: the slices of the figures, each picture by itself"));
    for Shown { case, label, psnr } in shown.iter().filter(|shown| shown.psnr.is_finite()) {
        table.row([case.to_string(), label.clone(), Quality::Psnr.text(*psnr)]);
    }
    table
}

#[cfg(test)]
mod tests {
    use super::super::row::Mode;
    use super::super::synthetic::{cells, cost, models, run, table};
    use super::super::written::csv;
    use super::*;

    fn line(text: &str, start: &str) -> String {
        let line = text.lines().find(|line| line.starts_with(start)).unwrap_or_else(|| panic!("{start}: {text}"));
        line.split_whitespace().collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn ours_stands_beside_the_papers_and_trivial_rows_above() {
        let settings = table(&[("networks", "dicdnet"), ("seeds", "2")]);
        let psnr = |mode| if mode == Mode::Rpp { 35.2 } else { 41.0 };
        let all = models(&settings, |model| run(psnr(model.row.mode), 0.2), |_| Some(cost(10.0, 4e6)));
        let cells = cells(&settings, &all);
        let text = quality(&settings.training, &cells).to_string();
        assert_eq!(line(&text, "corrupted input"), "corrupted input 30.00 – 0.8000 – – – – –");
        assert!(text.contains("outside the metal, of at most 12 test cases"), "{text}");
        assert_eq!(line(&text, "LI"), "LI 35.00 – 0.9000 – – – – –");
        let plain =
            "DICDNet 41.00 ± 0.00 41.44 0.9111 ± 0.0000 0.9468 +6.00 / 0.10 2.00 ± 0.00 0.200 ± 0.000 0.200 ± 0.000";
        assert_eq!(line(&text, "DICDNet "), plain);
        // 35.2 is 2 standard errors above LI; the projected weights are 10 dB below the plain ones, and below LI.
        assert!(line(&text, "DICDNet + RPP").contains("35.20 ± 0.00 not trained 39.42"), "{text}");
        assert!(line(&text, "DICDNet + test-time").contains("31.00 ± 0.00 not trained 41.59"), "{text}");
        let text = efficiency(&settings.costs, &cells).unwrap().to_string();
        let ours =
            "DICDNet + projection penalty (ours) 4300175 4.3M 10.0 5.77 11.0 7.82 20.0 10.11 545 782 12.00 12.05";
        assert_eq!(line(&text, "DICDNet + projection"), ours);
        assert_eq!(text.lines().filter(|line| line.starts_with("DICDNet")).count(), 5, "{text}");
    }

    #[test]
    fn one_seed_shows_the_error_over_cases() {
        let settings = table(&[("networks", "dicdnet"), ("modes", "plain")]);
        let all = models(&settings, |_| run(41.0, 0.2), |_| None);
        let cells = cells(&settings, &all);
        let text = quality(&settings.training, &cells).to_string();
        assert!(line(&text, "DICDNet").starts_with("DICDNet 41.00 ± 0.25 41.44 0.9111 0.9468"), "{text}");
        assert!(text.contains("1 seed, ± standard error over cases") && efficiency(&settings.costs, &cells).is_none());
    }

    #[test]
    fn every_line_for_programs_has_a_field_for_each_name() {
        let settings = table(&[]);
        let all = models(&settings, |_| run(41.0, 0.2), |_| Some(cost(10.0, 4e6)));
        let csv = csv(&settings.costs.measured_batches, &cells(&settings, &all), false);
        let fields = |line: &str| line.split(',').count();
        assert_eq!(csv.lines().count(), 1 + 2 + 15);
        let head = csv.lines().next().unwrap();
        assert!(csv.lines().all(|line| fields(line) == fields(head)), "{csv}");
        let of = |line: &str, name: &str| {
            let place = head.split(',').position(|other| other == name).unwrap();
            csv.lines().find(|other| other.starts_with(line)).unwrap().split(',').nth(place).unwrap().to_string()
        };
        assert_eq!((of("li", "psnr_mean"), of("li", "ssim_mean")), ("35".into(), "0.9".into()));
        assert_eq!(of("oscnet,penalty", "paper_psnr"), "41.88");
        assert_eq!((of("acdnet,projected", "psnr_mean"), of("acdnet,projected", "epoch_s")).0, "31");
    }
}
