//! `reynolds bench projection`: one projector, derived from text and timed.

use std::process::ExitCode;
use std::time::Duration;

use anyhow::{Context, Result};
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use reynolds::steerable::RingsConfig;
use reynolds_bench::{Array, GridSize, ProjectionBench, ProjectionRow};

use super::bench::named;
use super::bench_options::not_over_input;
use crate::args::ProjectionBenchArgs;
use reynolds_report::terminal;

pub(crate) fn run(args: &ProjectionBenchArgs) -> Result<ExitCode> {
    not_over_input(("--weights", args.weights.as_deref()), args.out.as_deref())?;
    let bench = asked(args)?;
    let weights = args.weights.as_ref().map(|file| Array::read(file, "weights")).transpose().context("--weights")?;
    let spinner = spinner();
    let measured = bench.measure(weights.as_ref());
    spinner.finish_and_clear();
    let (row, projected) = measured?;
    if let Some(file) = &args.out {
        projected.write(file, "projected").context("--out")?;
    }
    terminal::print(&if args.json { serde_json::to_string(&row)? + "\n" } else { text(&row) })?;
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

fn asked(args: &ProjectionBenchArgs) -> Result<ProjectionBench> {
    let size = |value: u64| usize::try_from(value).context("a size that does not fit");
    let kernel = match args.kernel {
        Some(side) => Some(GridSize { side: size(side)?, dimensions: size(args.dimensions)? }),
        None => None,
    };
    let max_degrees = (!args.max_degrees.is_empty()).then(|| args.max_degrees.clone());
    Ok(ProjectionBench {
        group: args.group.clone(),
        domain: args.domain.clone(),
        codomain: args.codomain.clone(),
        kernel,
        band: args.band.then(|| RingsConfig { max_degrees, ..RingsConfig::default() }),
        precision: named("--precision", &args.precision)?,
        repeats: size(args.repeats)?,
        threads: size(args.threads)?,
        check: args.check,
    })
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
