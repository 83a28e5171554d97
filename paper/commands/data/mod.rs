//! `reynolds data`: data sets that are made here, or fetched.

mod ct;
mod medmnist;
mod shapes;
mod smoke;

use std::io::{self, Write};
use std::process::ExitCode;

use anyhow::{Context, Result};
use clap::Subcommand;
use rayon::ThreadPool;
use reynolds_report::terminal;

#[derive(Debug, Subcommand)]
pub(crate) enum DataCommand {
    /// Simulate rising smoke whose symmetry is broken a little: one .npz a simulation; what is there is kept
    Smoke(smoke::SmokeArgs),
    /// Simulate CT scans of bodies with and without metal: one .npz a pair; what is there is kept
    Ct(ct::CtArgs),
    /// Fetch a set of MedMNIST in three dimensions, check it, and show what is in it
    Medmnist(medmnist::MedmnistArgs),
    /// Generate 3-D shapes whose class is their orientation or handedness: one .npz laid out as MedMNIST's
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

/// Prints a line to standard error; where that is closed there is nobody to tell.
fn note(text: &str) {
    let _ = writeln!(io::stderr(), "{}", terminal::printable(text));
}

/// So many threads, all if 0.
fn pool(threads: u16) -> Result<ThreadPool> {
    rayon::ThreadPoolBuilder::new().num_threads(threads.into()).build().context("cannot start threads")
}
