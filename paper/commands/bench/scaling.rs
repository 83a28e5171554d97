//! `reynolds bench scaling`: growth of cost with weights, group, kernel, band limit and network; figures and exponents.

use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::{Context, Result};
use clap::Args;
use reynolds_bench::{ExponentRow, Extent, Scaling};
use reynolds_report::{Table, terminal};
use reynolds_torch::device;
use reynolds_train::command_line::say;

use super::whole;

#[derive(Debug, Args)]
pub(crate) struct ScalingArgs {
    /// Folder for scaling.json and the figures scaling-*.svg
    #[arg(long, value_name = "DIR")]
    out: PathBuf,
    /// Smaller sizes and fewer repetitions; takes seconds
    #[arg(long)]
    quick: bool,
    /// Sizes so small that the numbers mean nothing: for tests
    #[arg(long, hide = true)]
    tiny: bool,
    /// Device for the penalty: cpu, cuda:N, or none to skip it; everything else runs on the CPU
    #[arg(long, value_name = "DEVICE", default_value = "cpu")]
    device: String,
    /// Number of CPU threads; 0 = all
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = whole(0..=4096))]
    threads: usize,
    /// Print one JSON object per exponent
    #[arg(long)]
    json: bool,
}

pub(super) fn run(args: &ScalingArgs) -> Result<ExitCode> {
    let extent = match (args.tiny, args.quick) {
        (true, _) => Extent::Tiny,
        (false, true) => Extent::Quick,
        (false, false) => Extent::Whole,
    };
    let device = if args.device == "none" { None } else { Some(device::parse(&args.device)?) };
    // Before minutes of measuring, not after.
    std::fs::create_dir_all(&args.out)
        .with_context(|| format!("--out: {}: cannot make the folder", args.out.display()))?;
    let report = Scaling { extent, device, threads: args.threads }.measure()?;
    for file in report.write(&args.out)? {
        say(&file.display().to_string());
    }
    let rows = report.exponents();
    if args.json {
        for row in &rows {
            terminal::print(&(serde_json::to_string(row)? + "\n"))?;
        }
    } else {
        let panels = rows.chunk_by(|a, b| (&a.plot, &a.panel) == (&b.plot, &b.panel)).map(table);
        terminal::print(&panels.collect::<Vec<_>>().join("\n"))?;
    }
    Ok(ExitCode::SUCCESS)
}

/// The exponents of one panel.
fn table(rows: &[ExponentRow]) -> String {
    let mut table = Table::new(["", "measured exponent", "claimed", "who claims what"]);
    table.caption(format!("{}: {}", rows[0].plot, rows[0].panel));
    for row in rows {
        let error = row.standard_error.map_or(String::new(), |error| format!(" ± {error:.2}"));
        let claimed = row.claimed.map_or("–".into(), |claimed| claimed.to_string());
        table.row([row.series.clone(), format!("{:.2}{error}", row.exponent), claimed, row.claim.clone()]);
    }
    table.to_string()
}
