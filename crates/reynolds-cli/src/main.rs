//! The command `reynolds`: audits and projects checkpoints, trains networks, reproduces the paper. Glue only; the mathematics is in
//! `reynolds`, the formats in `reynolds-data`, training in `reynolds-lab` behind the program `reynolds-train`.

mod args;
mod commands;
#[cfg(feature = "data")]
mod download;
mod last_resort;
mod model;
mod output;
mod progress;
mod report;
mod written;

use std::process::ExitCode;

use clap::Parser;

fn main() -> ExitCode {
    let args = args::Args::parse();
    match last_resort::catch(|| commands::run(args)) {
        Ok(code) => code,
        Err(error) => {
            output::error(&error);
            ExitCode::from(2)
        }
    }
}
