//! The subcommands, one a file.

mod audit;
mod course;
mod handover;
mod plan;
mod project;
mod rank;
mod shell;

pub use audit::audit;

use anyhow::Result;

use crate::args::{Args, Command};

/// Runs the subcommand; its exit code.
pub(crate) fn run(args: Args) -> Result<u8> {
    match args.command {
        Command::Audit(args) => audit::run(&args),
        Command::Project(args) => project::run(&args),
        Command::Plan(args) => plan::run(&args),
        Command::Man => shell::man(),
        Command::Completions { shell } => shell::completions(shell),
        Command::Run(handed) => handover::run("run", &handed.arguments),
        Command::Sweep(handed) => handover::run("sweep", &handed.arguments),
        Command::Reproduce(handed) => handover::run("reproduce", &handed.arguments),
        Command::Data(handed) => handover::run("data", &handed.arguments),
        Command::Bench(handed) => handover::run("bench", &handed.arguments),
    }
}
