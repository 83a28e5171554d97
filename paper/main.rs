//! The program `reynolds-paper`: the commands run, sweep, reproduce, data and bench. `reynolds` hands over to it. Glue only.

mod commands;
mod download;

use std::process::ExitCode;

use clap::Parser;

fn main() -> ExitCode {
    let args = commands::Args::parse();
    match reynolds_report::catch(move || args.carry_out()) {
        Ok(code) => code,
        Err(error) => {
            reynolds_report::terminal::error(&error);
            ExitCode::from(2)
        }
    }
}
