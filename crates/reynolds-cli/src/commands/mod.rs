//! The subcommands, one a file.

mod audit;
mod ct;
mod data;
mod medmnist;
mod plan;
mod project;
mod rank;
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
        Command::Data(command) => data::run(&command),
    }
}
