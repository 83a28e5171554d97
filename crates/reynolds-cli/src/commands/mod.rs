//! The subcommands, one a file.

mod audit;
mod handover;
mod plan;
mod project;
mod rank;

use std::process::ExitCode;

use anyhow::Result;

use crate::args::{Args, Command};

/// Runs what was asked for.
pub(crate) fn run(args: Args) -> Result<ExitCode> {
    match args.command {
        Command::Audit(args) => audit::run(&args),
        Command::Project(args) => project::run(&args),
        Command::Plan(args) => plan::run(&args),
        Command::Run { arguments } => handover::run("run", &arguments),
        Command::Sweep { arguments } => handover::run("sweep", &arguments),
        Command::Reproduce { arguments } => handover::run("reproduce", &arguments),
        Command::Data { arguments } => handover::run("data", &arguments),
        Command::Bench { arguments } => handover::run("bench", &arguments),
    }
}
