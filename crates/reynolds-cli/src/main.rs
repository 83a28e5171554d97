//! The command `reynolds`: audits and projects checkpoints. Glue only; the mathematics is in `reynolds`, the formats in `reynolds-data`.

mod args;
mod commands;
mod model;
mod output;
mod progress;
mod report;

use std::process::ExitCode;

use clap::Parser;

fn main() -> ExitCode {
    let done = commands::run(args::Args::parse());
    match done {
        Ok(code) => code,
        Err(error) => {
            output::error(&error);
            ExitCode::from(2)
        }
    }
}
