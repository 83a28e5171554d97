//! `reynolds bench projection`: one projector, derived from text and timed.

use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use anyhow::{Context, Result};
use clap::Args;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use reynolds::steerable::RingsConfig;
use reynolds_bench::{Array, Float, GridSize, ProjectionBench, ProjectionRow};

use super::{named, not_over_input, print, whole};

#[derive(Debug, Args)]
pub(crate) struct ProjectionArgs {
    /// Symmetry group: C4, D4, O, Oh, S32, SO2, SO3, …
    #[arg(long, value_name = "G")]
    group: String,
    /// Fields of the input: "64 regular", "3 trivial + 9 regular", "permutation^2", "16x0e + 4x1o"
    #[arg(long, value_name = "FIELDS")]
    domain: String,
    /// Fields of the output
    #[arg(long, value_name = "FIELDS")]
    codomain: String,
    /// Side of a convolution kernel; without it W is a dense matrix
    #[arg(long, value_name = "K", value_parser = whole(1..=1024))]
    kernel: Option<usize>,
    /// Spatial dimensions of the kernel: 2 or 3
    #[arg(long, value_name = "D", default_value_t = 2, value_parser = whole(2..=3))]
    dimensions: usize,
    /// Band-limited steerable kernels with the rings and degrees of escnn's R2Conv and R3Conv, instead of the exact action on the grid
    #[arg(long, requires = "kernel")]
    band: bool,
    /// Largest degree in each ring of --band, from the centre outwards: 0,2,3
    #[arg(long, value_name = "L0,L1,…", value_delimiter = ',', requires = "band")]
    max_degrees: Vec<usize>,
    /// Read W from the array `weights` [out, in, k…] of this .npz, instead of random numbers
    #[arg(long, value_name = "FILE")]
    weights: Option<PathBuf>,
    /// Write P(W) as the array `projected` of this .npz
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
    /// Number type: f32 or f64
    #[arg(long, value_name = "P", default_value = "f32", value_parser = named::<Float>)]
    precision: Float,
    /// Number of timed passes
    #[arg(long, value_name = "N", default_value_t = 31, value_parser = whole(1..=1_000_000))]
    repeats: usize,
    /// Number of CPU threads; 0 = all
    #[arg(long, value_name = "T", default_value_t = 1, value_parser = whole(0..=4096))]
    threads: usize,
    /// Also compare P(W) with the Haar average over the group (at most 200 terms)
    #[arg(long)]
    check: bool,
    /// Print one JSON object
    #[arg(long)]
    json: bool,
}

pub(super) fn run(args: &ProjectionArgs) -> Result<ExitCode> {
    not_over_input(("--weights", args.weights.as_deref()), args.out.as_deref())?;
    let max_degrees = (!args.max_degrees.is_empty()).then(|| args.max_degrees.clone());
    let bench = ProjectionBench {
        group: args.group.clone(),
        domain: args.domain.clone(),
        codomain: args.codomain.clone(),
        kernel: args.kernel.map(|side| GridSize { side, dimensions: args.dimensions }),
        band: args.band.then(|| RingsConfig { max_degrees, ..RingsConfig::default() }),
        precision: args.precision,
        repeats: args.repeats,
        threads: args.threads,
        check: args.check,
    };
    let weights = args.weights.as_ref().map(|file| Array::read(file, "weights")).transpose().context("--weights")?;
    let spinner = spinner();
    let measured = bench.measure(weights.as_ref());
    spinner.finish_and_clear();
    let (row, projected) = measured?;
    if let Some(file) = &args.out {
        projected.write(file, "projected").context("--out")?;
    }
    print(args.json, &row, text)?;
    Ok(ExitCode::SUCCESS)
}

/// Shows on a terminal that work goes on. Four turns a second disturb no median.
fn spinner() -> ProgressBar {
    let style = ProgressStyle::with_template("{spinner} deriving and projecting, {elapsed}");
    let spinner = ProgressBar::with_draw_target(None, ProgressDrawTarget::stderr());
    spinner.set_style(style.unwrap_or_else(|_| ProgressStyle::default_spinner()));
    spinner.enable_steady_tick(Duration::from_millis(250));
    spinner
}

fn text(row: &ProjectionRow) -> String {
    let ProjectionRow { group, domain, codomain, shape, weights, rank, form, .. } = row;
    let mut text = format!("{group}: {domain} -> {codomain}, {shape:?}: {weights} weights, rank {rank}, {form}\n");
    for (what, seconds, more) in [
        ("derive P from text", row.build_seconds, String::new()),
        ("the first time", row.first_build_seconds, String::new()),
        ("P(W) and both energies", row.seconds, format!("   {:.2} x copying", row.seconds / row.copy_seconds)),
        ("copy W", row.copy_seconds, format!("   {} threads", row.threads)),
    ] {
        text += &format!("  {what:<24} {:>10.4} ms{more}\n", 1e3 * seconds);
    }
    text += &format!("  {:<24} {:>10.6}\n", "|P(W)|^2/|W|^2", row.equivariant);
    text += &format!("  {:<24} {:>10.1e}\n", "P(P(W)) from P(W)", row.idempotent);
    if let Some(difference) = row.haar_difference {
        text += &format!("  {:<24} {difference:>10.1e}\n", "Haar average from P(W)");
    }
    text
}
