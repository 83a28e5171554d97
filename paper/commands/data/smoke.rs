//! `reynolds data smoke`: simulations of rising smoke.

use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::{Result, bail};
use clap::Args;
use reynolds_checkpoint::whole_file;
use reynolds_paper::smoke::data::{Setting, SmokeFile, Symmetry, generate, preview};
use reynolds_report::terminal;

use super::Threads;

const TILES: (usize, usize) = (8, 4);

#[derive(Debug, Args)]
pub(crate) struct SmokeArgs {
    /// Symmetry that is broken: translation (35 simulations), rotation (36) or scaling (38)
    #[arg(long, value_name = "translation|rotation|scaling")]
    kind: Symmetry,
    /// Output folder; an interrupted run continues there
    #[arg(long, value_name = "DIR")]
    out: PathBuf,
    /// Only this simulation, such as rotation_k05_j0; may be repeated
    #[arg(long, value_name = "NAME")]
    simulation: Vec<String>,
    /// Write a PNG with 32 frames of the first simulation, coloured by speed
    #[arg(long, value_name = "FILE")]
    preview: Option<PathBuf>,
    #[command(flatten)]
    threads: Threads,
}

pub(super) fn run(args: &SmokeArgs) -> Result<ExitCode> {
    let simulations = chosen(args)?;
    if let Some(path) = &args.preview {
        whole_file::check(path)?;
    }
    let summary = args.threads.generate("simulating", |report| generate(&args.out, &simulations, report))?;
    let first = &simulations[0];
    let file = SmokeFile::open(&args.out, first)?;
    if let Some(path) = &args.preview {
        let image = preview(&file.frames()?, TILES.0, TILES.1);
        whole_file::write(path, &image)?;
    }
    terminal::print(&format!(
        "{}: {} in {} ({} made, {} kept), {:.0} MB\n",
        args.kind,
        if simulations.len() == 1 { "1 simulation".into() } else { format!("{} simulations", simulations.len()) },
        args.out.display(),
        summary.made,
        summary.kept,
        simulations.iter().map(|setting| setting.bytes() as f64).sum::<f64>() / 1e6,
    ))?;
    Ok(ExitCode::SUCCESS)
}

/// The simulations that were named, in the order of the data set; all where none was.
fn chosen(args: &SmokeArgs) -> Result<Vec<Setting>> {
    let mut simulations = args.kind.simulations();
    for name in &args.simulation {
        if !simulations.iter().any(|setting| &setting.name == name) {
            let (first, last) = (&simulations[0].name, &simulations[simulations.len() - 1].name);
            bail!("--simulation: expected one of {first} … {last}, found \"{name}\"");
        }
    }
    if !args.simulation.is_empty() {
        simulations.retain(|setting| args.simulation.contains(&setting.name));
    }
    Ok(simulations)
}
