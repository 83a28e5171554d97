//! `reynolds bench scaling`: how cost grows with weights, group, kernel, band limit and network; figures and exponents.

use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::{Context, Result};
use clap::Args;
use reynolds_bench::{ExponentRow, Extent, Scaling};
use reynolds_report::terminal;
use reynolds_torch::device;
use reynolds_train::command_line::say;

use super::whole;

#[derive(Debug, Args)]
pub(crate) struct ScalingArgs {
    /// The folder that scaling.json and the figures scaling-*.svg are written to
    #[arg(long, value_name = "DIR")]
    out: PathBuf,
    /// Smaller sizes and fewer turns: seconds
    #[arg(long)]
    quick: bool,
    /// So little that its numbers mean nothing
    #[arg(long, hide = true)]
    tiny: bool,
    /// Where the penalty is measured: cpu, cuda:N or none; all else is measured on the processor
    #[arg(long, value_name = "DEVICE", default_value = "cpu")]
    device: String,
    /// Processor threads; 0 = all
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = whole(0..=4096))]
    threads: usize,
    /// One JSON object an exponent
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
        terminal::print(&table(&rows))?;
    }
    Ok(ExitCode::SUCCESS)
}

/// One line a series, under the name of its panel.
fn table(rows: &[ExponentRow]) -> String {
    let width = rows.iter().map(|row| row.series.chars().count()).max().unwrap_or(0);
    let mut text = String::new();
    let mut panel = (String::new(), String::new());
    for row in rows {
        let next = (row.plot.clone(), row.panel.clone());
        if panel != next {
            let gap = if text.is_empty() { "" } else { "\n" };
            text += &format!("{gap}{}: {}\n", next.0, next.1);
            text += &format!("  {:<width$} {:>17} {:>8}  {}\n", "", "measured exponent", "claimed", "who claims what");
            panel = next;
        }
        let error = row.standard_error.map_or(String::new(), |error| format!(" ± {error:.2}"));
        let measured = format!("{:.2}{error}", row.exponent);
        let claimed = row.claimed.map_or("-".into(), |claimed| claimed.to_string());
        text += &format!("  {:<width$} {measured:>17} {claimed:>8}  {}\n", row.series, row.claim);
    }
    text
}
