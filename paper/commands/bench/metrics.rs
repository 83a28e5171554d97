//! `reynolds bench metrics`: PSNR and SSIM of slices in a file.

use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::{Context, Result, anyhow};
use clap::Args;
use reynolds_bench::Array;
use reynolds_paper::ct::{MetricsBench, MetricsRow};
use reynolds_train::Error;

use super::{print, whole};

#[derive(Debug, Args)]
pub(crate) struct MetricsArgs {
    /// .npz of images with values in [0, 255]: arrays `truth` and `image` [n, height, width], and optionally the mask `keep` of pixels that count
    #[arg(long, value_name = "FILE")]
    images: PathBuf,
    /// Number of timed passes over all images
    #[arg(long, value_name = "N", default_value_t = 11, value_parser = whole(1..=1_000_000))]
    repeats: usize,
    /// Number of CPU threads; 0 = all
    #[arg(long, value_name = "T", default_value_t = 1, value_parser = whole(0..=4096))]
    threads: usize,
    /// Print one JSON object
    #[arg(long)]
    json: bool,
}

pub(super) fn run(args: &MetricsArgs) -> Result<ExitCode> {
    let bench = MetricsBench { repeats: args.repeats, threads: args.threads };
    let file = &args.images;
    let [truth, image] = ["truth", "image"].map(|name| Array::read(file, name).context("--images"));
    let keep = Array::read_if_there(file, "keep").context("--images")?;
    // The keys are names of arrays here, not settings.
    let named = |error: Error| match error {
        Error::Config { key, expected, found, .. } => {
            anyhow!("--images: {}: {key}: expected {expected}, found {found}", file.display())
        }
        other => other.into(),
    };
    let row = bench.measure(&truth?, &image?, keep.as_ref()).map_err(named)?;
    print(args.json, &row, text)?;
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
