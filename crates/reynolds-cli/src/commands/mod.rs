//! The subcommands, one a file.

mod audit;
mod plan;
mod project;
mod rank;

use std::process::ExitCode;

use anyhow::{Result, bail};

use crate::args::{Args, Command};

/// Runs what was asked for.
pub(crate) fn run(args: Args) -> Result<ExitCode> {
    match args.command {
        Command::Audit(args) => audit::run(&args),
        Command::Project(args) => project::run(&args),
        Command::Plan(args) => plan::run(&args),
        Command::Run(_) | Command::Sweep(_) | Command::Reproduce(_) | Command::Data(_) | Command::Bench(_) => {
            bail!("built without training")
        }
    }
}
