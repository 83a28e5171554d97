//! `reynolds data`: data sets that are generated, or downloaded.

mod ct;
mod medmnist;
mod shapes;
mod smoke;

use std::ops::ControlFlow;
use std::process::ExitCode;

use anyhow::{Context, Result};
use clap::{Args, Subcommand, value_parser};
use rayon::ThreadPool;
use reynolds_paper::data;
use reynolds_paper::data::generate::{Case, Event, Report, Summary};
use reynolds_report::terminal::say;

#[derive(Debug, Subcommand)]
pub(crate) enum DataCommand {
    /// Simulate rising smoke with slightly broken symmetry; one .npz per simulation, existing files are kept
    Smoke(smoke::SmokeArgs),
    /// Simulate CT scans of bodies with and without metal; one .npz per pair, existing files are kept
    Ct(ct::CtArgs),
    /// Download a 3-D set of MedMNIST, check it, and show what it contains
    Medmnist(medmnist::MedmnistArgs),
    /// Generate 3-D shapes whose class is their orientation or handedness; one .npz in the layout of MedMNIST
    Shapes(shapes::ShapesArgs),
}

impl DataCommand {
    pub(super) fn carry_out(&self) -> Result<ExitCode> {
        match self {
            Self::Smoke(args) => smoke::run(args),
            Self::Ct(args) => ct::run(args),
            Self::Medmnist(args) => medmnist::run(args),
            Self::Shapes(args) => shapes::run(args),
        }
    }
}

#[derive(Debug, Args)]
struct Threads {
    /// Number of CPU threads, all by default; the files do not depend on it
    #[arg(long, value_name = "n", default_value_t = 0, hide_default_value = true, value_parser = value_parser!(u16).range(0..=1024))]
    threads: u16,
}

impl Threads {
    fn pool(&self) -> Result<ThreadPool> {
        rayon::ThreadPoolBuilder::new().num_threads(self.threads.into()).build().context("cannot start threads")
    }

    /// Generates files on these threads, with a progress bar.
    fn generate<C: Case>(
        &self,
        what: &'static str,
        generate: impl FnOnce(&Report<'_, C>) -> data::Result<Summary> + Send,
    ) -> Result<Summary> {
        let bar = reynolds_report::bar(0, what);
        let report = |event: Event<'_, C>| {
            match event {
                Event::Begun { work, .. } => bar.set_length(work),
                Event::Kept(case) => bar.inc(case.work()),
                Event::Stepped(case) => bar.inc(case.work() / case.steps()),
                Event::Refused { reason, .. } => bar.suspend(|| say(&format!("made again: {reason}"))),
                _ => {}
            }
            // Ctrl-C ends this program at once: files appear whole or not at all.
            ControlFlow::Continue(())
        };
        let summary = self.pool()?.install(|| generate(&report));
        bar.finish_and_clear();
        Ok(summary?)
    }
}
