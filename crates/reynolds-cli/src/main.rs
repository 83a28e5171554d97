//! The command `reynolds`: audits and projects checkpoints, and hands training over to `reynolds-paper`. Glue only; the mathematics is in
//! `reynolds`, the formats in `reynolds-checkpoint`, tables and pages in `reynolds-report`.

mod args;
mod commands;
mod model;

use std::process::ExitCode;

use clap::Parser;

fn main() -> ExitCode {
    let args = args::Args::parse();
    match reynolds_report::catch(|| commands::run(args)) {
        Ok(code) => code,
        Err(error) => {
            reynolds_report::terminal::error(&error);
            ExitCode::from(2)
        }
    }
}
