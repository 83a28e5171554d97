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
    /// The group: C4 D4 O Oh S32 SO2 SO3 …
    #[arg(long, value_name = "G")]
    group: String,
    /// Fields of the input: "64 regular", "3 trivial + 9 regular", "permutation^2", "16x0e + 4x1o"
    #[arg(long, value_name = "FIELDS")]
    domain: String,
    /// Fields of the output
    #[arg(long, value_name = "FIELDS")]
    codomain: String,
    /// Points along a side of convolution kernels; without it the map is dense
    #[arg(long, value_name = "K", value_parser = whole(1..=1024))]
    kernel: Option<usize>,
    /// Kernels in the plane or in space: 2 or 3
    #[arg(long, value_name = "D", default_value_t = 2, value_parser = whole(2..=3))]
    dimensions: usize,
    /// Band-limited steerable kernels, with the rings and degrees of escnn's R2Conv and R3Conv; without it the action is exact
    #[arg(long, requires = "kernel")]
    band: bool,
    /// Other degrees for the rings 0, 1, … of a band: 0,2,3
    #[arg(long, value_name = "L0,L1,…", value_delimiter = ',', requires = "band")]
    max_degrees: Vec<usize>,
    /// The array `weights` of this .npz, [out, in, k…], instead of random numbers
    #[arg(long, value_name = "FILE")]
    weights: Option<PathBuf>,
    /// Write P(W) as the array `projected` of this .npz
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
    /// f32 or f64
    #[arg(long, value_name = "P", default_value = "f32", value_parser = named::<Float>)]
    precision: Float,
    /// Passes that are measured
    #[arg(long, value_name = "N", default_value_t = 31, value_parser = whole(1..=1_000_000))]
    repeats: usize,
    /// Threads of the processor; 0 = all
    #[arg(long, value_name = "T", default_value_t = 1, value_parser = whole(0..=4096))]
    threads: usize,
    /// Compare P(W) with the Haar average, term by term: at most 200 terms
    #[arg(long)]
    check: bool,
    /// One JSON object
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

/// On a terminal: that something goes on, and for how long. Four turns a second disturb no median.
fn spinner() -> ProgressBar {
    let style = ProgressStyle::with_template("{spinner} deriving and projecting, {elapsed}");
    let spinner = ProgressBar::with_draw_target(None, ProgressDrawTarget::stderr());
    spinner.set_style(style.unwrap_or_else(|_| ProgressStyle::default_spinner()));
    spinner.enable_steady_tick(Duration::from_millis(250));
    spinner
}

fn text(row: &ProjectionRow) -> String {
    let ms = |seconds: f64| 1e3 * seconds;
    let mut text = format!(
        "{}: {} -> {}, {:?}: {} weights, rank {}, {}\n",
        row.group, row.domain, row.codomain, row.shape, row.weights, row.rank, row.form
    );
    text += &format!("  derived from text        {:>10.4} ms\n", ms(row.build_seconds));
    text += &format!("  the first time           {:>10.4} ms\n", ms(row.first_build_seconds));
    text += &format!(
        "  P(W) and both energies   {:>10.4} ms   {:.2} x copying\n",
        ms(row.seconds),
        row.seconds / row.copy_seconds
    );
    text += &format!("  copying W                {:>10.4} ms   {} threads\n", ms(row.copy_seconds), row.threads);
    text += &format!("  |P(W)|^2/|W|^2           {:>10.6}\n", row.equivariant);
    text += &format!("  P(P(W)) from P(W)        {:>10.1e}\n", row.idempotent);
    if let Some(difference) = row.haar_difference {
        text += &format!("  the Haar average from P(W) {difference:>8.1e}\n");
    }
    text
}
