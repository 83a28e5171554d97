//! `reynolds data smoke`: simulations of rising smoke.

use std::ops::ControlFlow;
use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::{Result, bail};
use clap::{Args, value_parser};
use reynolds_checkpoint::whole_file;
use reynolds_paper::data::generate::Event;
use reynolds_paper::smoke::data::{Setting, SmokeFile, Symmetry, generate, preview};
use reynolds_report::terminal;

use super::{note, pool};

const TILES: (usize, usize) = (8, 4);

#[derive(Debug, Args)]
pub(crate) struct SmokeArgs {
    /// Which symmetry: 35, 36 or 38 simulations
    #[arg(long, value_name = "translation|rotation|scaling")]
    kind: Symmetry,
    /// The folder to write to; an interrupted generation goes on where it was
    #[arg(long, value_name = "DIR")]
    out: PathBuf,
    /// Only this simulation, such as rotation_k05_j0; may be repeated
    #[arg(long, value_name = "NAME")]
    simulation: Vec<String>,
    /// Write 32 frames of the first simulation, by speed, as a PNG
    #[arg(long, value_name = "FILE")]
    preview: Option<PathBuf>,
    /// Simulations at a time; all cores by default. The files do not depend on it
    #[arg(long, value_name = "n", default_value_t = 0, hide_default_value = true, value_parser = value_parser!(u16).range(0..=1024))]
    threads: u16,
}

pub(super) fn run(args: &SmokeArgs) -> Result<ExitCode> {
    let simulations = chosen(args)?;
    if let Some(path) = &args.preview {
        whole_file::check(path)?;
    }
    let bar = reynolds_report::bar(simulations.iter().map(Setting::work).sum(), "simulating");
    let report = |event: Event<'_, Setting>| {
        match event {
            Event::Kept(setting) => bar.inc(setting.work()),
            Event::Stepped(setting) => bar.inc(setting.work() / setting.steps as u64),
            Event::Refused { reason, .. } => bar.suspend(|| note(&format!("made again: {reason}"))),
            _ => {}
        }
        // Ctrl-C ends this program at once: files appear whole or not at all.
        ControlFlow::Continue(())
    };
    let summary = pool(args.threads)?.install(|| generate(&args.out, &simulations, &report));
    bar.finish_and_clear();
    let summary = summary?;
    let first = &simulations[0];
    let file = SmokeFile::open(&args.out, first)?;
    if let Some(path) = &args.preview {
        let image = preview(&file.frames()?, TILES.0, TILES.1)?;
        whole_file::write(path, &image)?;
    }
    terminal::print(&format!(
        "{}: {} in {} ({} made, {} kept), {:.0} MB\n",
        args.kind,
        if simulations.len() == 1 { "1 simulation".into() } else { format!("{} simulations", simulations.len()) },
        terminal::printable(&args.out.display().to_string()),
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
