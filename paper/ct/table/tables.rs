//! The tables beside the paper's: how good the images are, and what they cost.

use super::cells::{Cell, CellColumn, EPOCH, PSNR, SSIM, find, gain, lines, quality_text};
use super::pictures::Shown;
use super::row::{Mode, head};
use super::settings::{Costs, TargetSettings};
use crate::targets::columns::{self, Column, decimals};
use crate::targets::runs::seeds;
use reynolds_report::Table;

/// Not the challenge's data.
pub(super) const DATA: &str = "simulated CT-MAR";

/// "mean ± standard deviation over 3 seeds", or what one seed has.
fn over(settings: &TargetSettings) -> String {
    match settings.seeds {
        1 => "1 seed, ± standard error over cases".into(),
        count => format!("mean ± standard deviation over {}", seeds(count)),
    }
}

fn paper<'a>(head: &str, metric: &'static str, format: fn(f64) -> String) -> CellColumn<'a> {
    CellColumn::new(head, move |cell| cell.published(metric)).format(format)
}

/// PSNR and SSIM, each beside the paper's, and the gain.
fn images<'a>() -> [CellColumn<'a>; 5] {
    [
        quality_text("PSNR (dB)", PSNR),
        paper("paper", "psnr", decimals::<2>),
        quality_text("SSIM", SSIM),
        paper("paper", "ssim", decimals::<4>),
        gain(),
    ]
}

/// How far the weights and the whole network are from C4.
fn distances<'a>() -> [CellColumn<'a>; 3] {
    [
        ("‖W − P(W)‖", "weights/distance"),
        ("relative", "weights/relative_distance"),
        ("C4 equivariance error", "equivariance_error"),
    ]
    .map(|(head, metric)| CellColumn::sample(head, move |cell| cell.test(metric)))
}

/// Images and distances of networks in their modes.
pub(super) fn quality(settings: &TargetSettings, cells: &[Cell<'_>]) -> Table {
    let mut columns = vec![CellColumn::new("row", |cell| cell.label.clone())];
    columns.extend(images());
    columns.extend(distances());
    let trained: Vec<Cell<'_>> = cells.iter().filter(|cell| !cell.runs.is_empty()).cloned().collect();
    let lines = lines(&trained, ["corrupted input", "LI"], ["row", "PSNR (dB)", "SSIM"]);
    let mut table = columns::table(&columns, lines);
    table.caption(format!(
        "{DATA}, {}, beside the paper's on other data; the defect is ‖f(r x) − r f(x)‖/‖f(x)‖ of the whole network over quarter turns, \
         outside the metal, of at most 12 test cases; \"not trained\": does not beat LI by 3 standard errors",
        over(settings)
    ));
    table
}

/// The same weights in both precisions; `None` where no device had both.
pub(super) fn precisions(cells: &[Cell<'_>]) -> Option<Table> {
    let trained = cells.iter().filter(|cell| cell.row.mode != Mode::Projected);
    let runs = trained.flat_map(|cell| cell.runs.iter().map(move |run| (cell, run)));
    let both = runs.flat_map(|(cell, (seed, run))| {
        [("f32", "bf16"), ("bf16", "f32")].map(|(other, own)| {
            let [here, there] = ["test/psnr", &format!("{other}/test/psnr")].map(|metric| run.metric(metric));
            (format!("{}, seed {seed}", cell.label), own, here, there)
        })
    });
    let tested: Vec<_> = both.filter(|(_, _, _, there)| there.is_finite()).collect();
    type CellColumn = Column<'static, (String, &'static str, f64, f64)>;
    let columns = [
        CellColumn::new("row", |tested| tested.0.clone()),
        CellColumn::new("tested in", |tested| tested.1),
        CellColumn::new("PSNR (dB)", |tested| tested.2).format(decimals::<2>),
        CellColumn::new("other precision", |tested| tested.3).format(decimals::<2>),
        CellColumn::new("difference (dB)", |tested| tested.3 - tested.2).format(|value| format!("{value:+.4}")),
    ];
    let mut table = columns::table(&columns, &tested);
    table.caption(format!("{DATA}: the same trained weights tested in f32 (TF32 convolutions) and in bf16, by seed"));
    (!tested.is_empty()).then_some(table)
}

/// Parameters, throughput, time and memory beside the paper; `None` if nothing was measured.
pub(super) fn efficiency(costs: &Costs, cells: &[Cell<'_>]) -> Option<Table> {
    let measured: Vec<&Cell<'_>> = cells.iter().filter(|cell| cell.cost.is_some()).collect();
    let most = measured.iter().map(|cell| cell.largest()).max()?;
    let least = costs.measured_batches.first().copied()?;
    let larger = if most == least { "larger".into() } else { format!("batch {most}") };
    let train = |batch: usize| move |cell: &Cell<'_>| if batch == 0 { f64::NAN } else { cell.train(batch) };
    let columns = [
        CellColumn::new("row", |cell| cell.label.clone()),
        CellColumn::new("parameters", Cell::parameters).format(decimals::<0>),
        paper("paper", "parameters", |value| format!("{value:.1}M")),
        CellColumn::new(format!("train/s, batch {least}"), train(least)),
        paper("paper (4)", "train_4", decimals::<2>),
        CellColumn::new(format!("train/s, {larger}"), train(if most == least { 0 } else { most })),
        paper("paper (12)", "train_12", decimals::<2>),
        CellColumn::new("inference/s", Cell::inference),
        paper("paper", "inference", decimals::<2>),
        CellColumn::new("epoch (s)", Cell::epoch),
        paper("paper", "epoch_s", decimals::<0>),
        CellColumn::new("peak memory (GiB)", |cell| cell.memory(cell.largest())).format(decimals::<2>),
        paper("paper (GB)", "memory_gb", decimals::<2>),
    ];
    let mut table = columns::table(&columns, measured);
    table.caption(format!(
        "images a second, measured alone by a process for each row: {} steps of side {} in {}; inference, epoch ({EPOCH} images) and \
         memory at the largest batch that was measured of a row; test-time projection is the plain network with other weights, and costs \
         what that does",
        costs.measured_steps,
        costs.measured_side,
        costs.measured_precision.name()
    ));
    Some(table)
}

/// Quality and cost of every norm.
pub(super) fn norms(settings: &TargetSettings, cells: &[Cell<'_>]) -> Table {
    let plain = |cell: &Cell<'_>| find(cells, cell.row.network, Mode::Plain).map_or(f64::NAN, Cell::step);
    let mut columns = vec![
        CellColumn::new("network", |cell| head(cell.row.network)),
        CellColumn::new("norm", |cell| cell.label.clone()),
    ];
    columns.extend(images());
    columns.extend([
        CellColumn::new("step (ms)", Cell::step),
        CellColumn::new("overhead", |cell| cell.step() / plain(cell) - 1.0)
            .format(|share| format!("{:+.1} %", 100.0 * share)),
        CellColumn::new("train/s", |cell| cell.train(cell.largest())),
        paper("paper", "train_12", decimals::<2>),
        CellColumn::new("epoch (s)", Cell::epoch),
        paper("paper", "epoch_s", decimals::<0>),
    ]);
    columns.extend(distances());
    let mut table = columns::table(&columns, lines(cells, ["corrupted input", "LI"], ["norm", "PSNR (dB)", "SSIM"]));
    table.caption(format!(
        "{DATA}, {}, beside the paper's on other data; times of a training step at the largest batch, measured alone, the overhead over the \
         network without a penalty; an epoch is {EPOCH} images; \"not trained\": does not beat LI by 3 standard errors",
        over(settings)
    ));
    table
}

/// PSNR of every picture of the figures.
pub(super) fn pictures(pictures: &[Shown]) -> Table {
    let columns = [
        Column::new("slice", |picture: &Shown| picture.case),
        Column::new("picture", |picture: &Shown| picture.label.clone()),
        Column::new("PSNR (dB)", |picture: &Shown| picture.psnr).format(decimals::<2>),
    ];
    let mut table = columns::table(&columns, pictures.iter().filter(|picture| picture.psnr.is_finite()));
    table.caption(format!("{DATA}: the slices of the figures, each picture by itself"));
    table
}
