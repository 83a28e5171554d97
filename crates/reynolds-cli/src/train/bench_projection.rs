//! `reynolds bench projection`: one projector, derived from text and timed.

use std::process::ExitCode;

use anyhow::{Context, Result};
use reynolds::steerable::RingsConfig;
use reynolds_lab::bench::{Array, GridSize, ProjectionBench, ProjectionRow};

use crate::args::ProjectionBenchArgs;
use crate::bench::named;
use crate::output;

pub(crate) fn run(args: &ProjectionBenchArgs) -> Result<ExitCode> {
    let bench = asked(args)?;
    let weights = args.weights.as_ref().map(|file| Array::read(file, "weights")).transpose().context("--weights")?;
    let (row, projected) = bench.measure(weights.as_ref())?;
    if let Some(file) = &args.out {
        projected.write(file, "projected").context("--out")?;
    }
    output::print(&if args.json { serde_json::to_string(&row)? + "\n" } else { text(&row) })?;
    Ok(ExitCode::SUCCESS)
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
