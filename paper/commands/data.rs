//! `reynolds data`: data sets that are made here, or fetched.

use std::io::{self, Write};
use std::ops::ControlFlow;
use std::process::ExitCode;

use anyhow::{Context, Result, bail};
use reynolds_paper::data::generate::Event;
use reynolds_paper::smoke::data::{Setting, SmokeFile, generate, preview};

use super::{data_ct, data_medmnist, data_shapes};
use crate::args::{DataCommand, SmokeArgs};
use reynolds_checkpoint::whole_file;
use reynolds_report::terminal;

const TILES: (usize, usize) = (8, 4);

pub(crate) fn run(command: &DataCommand) -> Result<ExitCode> {
    match command {
        DataCommand::Smoke(args) => smoke(args),
        DataCommand::Ct(args) => data_ct::run(args),
        DataCommand::Medmnist(args) => data_medmnist::run(args),
        DataCommand::Shapes(args) => data_shapes::run(args),
    }
}

fn smoke(args: &SmokeArgs) -> Result<ExitCode> {
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
    let pool =
        rayon::ThreadPoolBuilder::new().num_threads(args.threads.into()).build().context("cannot start threads")?;
    let summary = pool.install(|| generate(&args.out, &simulations, &report));
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

/// Prints a line to standard error; where that is closed there is nobody to tell.
pub(super) fn note(text: &str) {
    let _ = writeln!(io::stderr(), "{}", terminal::printable(text));
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
