//! The subcommands, one a file.

mod audit;
#[cfg(feature = "data")]
mod ct;
#[cfg(feature = "data")]
mod data;
#[cfg(feature = "data")]
mod medmnist;
mod plan;
mod project;
mod rank;
#[cfg(feature = "data")]
mod shapes;
mod train;

use std::process::ExitCode;

use anyhow::Result;

use crate::args::{Args, Command};

/// Runs what was asked for.
pub(crate) fn run(args: Args) -> Result<ExitCode> {
    match args.command {
        Command::Audit(args) => audit::run(&args),
        Command::Project(args) => project::run(&args),
        Command::Plan(args) => plan::run(&args),
        Command::Train(_) => train::run(),
        #[cfg(feature = "data")]
        Command::Data(command) => data::run(&command),
        #[cfg(not(feature = "data"))]
        Command::Data { .. } => {
            anyhow::bail!("built without data sets: expected a build with the feature `data`, which is on by default")
        }
    }
}
