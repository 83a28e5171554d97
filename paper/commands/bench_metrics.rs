//! `reynolds bench metrics`: PSNR and SSIM of slices in a file.

use std::process::ExitCode;

use anyhow::{Context, Result, anyhow};
use reynolds_bench::Array;
use reynolds_paper::ct::{MetricsBench, MetricsRow};
use reynolds_train::Error;

use crate::args::MetricsBenchArgs;
use reynolds_report::terminal;

pub(crate) fn run(args: &MetricsBenchArgs) -> Result<ExitCode> {
    let size = |value: u64| usize::try_from(value).context("a size that does not fit");
    let bench = MetricsBench { repeats: size(args.repeats)?, threads: size(args.threads)? };
    let file = &args.images;
    let [truth, image] = ["truth", "image"].map(|name| Array::read(file, name).context("--images"));
    let keep = Array::read_if_there(file, "keep").context("--images")?;
    // What is refused are the arrays, not settings.
    let named = |error: Error| match error {
        Error::Config { key, expected, found, .. } => {
            anyhow!("--images: {}: {key}: expected {expected}, found {found}", file.display())
        }
        other => other.into(),
    };
    let row = bench.measure(&truth?, &image?, keep.as_ref()).map_err(named)?;
    terminal::print(&if args.json { serde_json::to_string(&row)? + "\n" } else { text(&row) })?;
    Ok(ExitCode::SUCCESS)
}

fn text(row: &MetricsRow) -> String {
    let mut text = format!("{:>6} {:>10} {:>10}\n", "image", "PSNR dB", "SSIM");
    for (number, (psnr, ssim)) in row.psnr.iter().zip(&row.ssim).enumerate() {
        text += &format!("{number:>6} {psnr:>10.4} {ssim:>10.6}\n");
    }
    let ms = |seconds: f64| 1e3 * seconds;
    text + &format!(
        "{:?} in {:.3} ms: PSNR {:.3} ms, SSIM {:.3} ms, {} threads\n",
        row.shape,
        ms(row.seconds),
        ms(row.psnr_seconds),
        ms(row.ssim_seconds),
        row.threads
    )
}
