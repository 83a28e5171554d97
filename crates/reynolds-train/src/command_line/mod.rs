//! The commands `run` and `sweep` of a program that trains.
//!
//! ```text
//! reynolds_train::main([Mine.into()])     a program of experiments alone: `own run mine --set penalty.lambda_perp=0.1`
//! Command::carry_out                      the same commands beside others: a variant of the program's own enum, flattened
//! ```
//!
//! ```
//! use clap::Parser;
//! use reynolds_train::command_line::Command;
//! #[derive(Parser)]
//! struct Args {
//!     #[command(subcommand)]
//!     command: Mine,
//! }
//! #[derive(clap::Subcommand)]
//! enum Mine {
//!     #[command(flatten)]
//!     Training(Command),
//!     /// Print the data
//!     Data,
//! }
//! let args = Args::parse_from(["program", "run", "mine", "--set", "penalty.lambda_perp=0.1", "--seeds", "3"]);
//! assert!(matches!(args.command, Mine::Training(Command::Run(run)) if run.seeds == 3));
//! ```

mod args;
mod run;
mod session;
mod sweep;

use std::ffi::OsString;
use std::panic::AssertUnwindSafe;
use std::path::Path;
use std::process::ExitCode;

use anyhow::Result;
use clap::{CommandFactory, FromArgMatches, Parser, Subcommand};

pub use args::{RunArgs, SessionArgs, SettingsArgs, SweepArgs};
pub use session::{INTERRUPTED, interrupted, models, say, session};

use crate::experiment::{AnyExperiment, Experiments};

/// The commands that train.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Train an experiment; leaves a folder with settings, metrics, checkpoints and a report
    Run(RunArgs),
    /// Train over a grid of settings and seeds, several runs in parallel; one CSV for all
    Sweep(SweepArgs),
}

impl Command {
    /// Carries the command out; `program` is the name of the program in messages. The exit code is 1 if a run of a sweep failed.
    pub fn carry_out(&self, program: &str, experiments: &Experiments) -> Result<ExitCode> {
        match self {
            Self::Run(args) => run::run(program, experiments, args),
            Self::Sweep(args) => sweep::run(program, experiments, args),
        }
    }
}

/// Train experiments.
#[derive(Debug, Parser)]
#[command(arg_required_else_help = true)]
struct Program {
    #[command(subcommand)]
    command: Command,
}

/// The `main` of a program with these experiments: the commands `run` and `sweep` with all their options. Exits with 0, with 1 if a run of a
/// sweep failed, with 2 on bad input, with 130 after Ctrl-C.
///
/// ```no_run
/// # use reynolds_train::experiment::AnyExperiment;
/// # fn experiments() -> [AnyExperiment; 1] { unimplemented!() }
/// fn main() -> std::process::ExitCode {
///     reynolds_train::main(experiments())
/// }
/// ```
pub fn main<const N: usize>(experiments: [AnyExperiment; N]) -> ExitCode {
    let experiments = Experiments::new(experiments.into());
    let name = program_name(std::env::args_os().next());
    let command = Program::command().after_help(format!("Experiments:\n{experiments}"));
    let program = Program::from_arg_matches(&command.get_matches()).unwrap_or_else(|error| error.exit());
    reynolds_report::exit_code(AssertUnwindSafe(|| program.command.carry_out(&name, &experiments)))
}

/// The file name of the program without its extension.
fn program_name(argument: Option<OsString>) -> String {
    let stem = argument.as_ref().and_then(|path| Path::new(path).file_stem());
    stem.map_or_else(|| "program".into(), |stem| stem.to_string_lossy().into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_arguments_are_consistent() {
        Program::command().debug_assert();
    }

    #[test]
    fn a_program_is_called_as_its_file() {
        assert_eq!(program_name(Some("target/debug/own-experiment".into())), "own-experiment");
        assert_eq!(program_name(None), "program");
    }
}
