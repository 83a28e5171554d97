//! The program `reynolds-paper`: the commands run, sweep, reproduce, data and bench. `reynolds` hands over to it. Glue only.

mod commands;
mod download;

use clap::Parser;

fn main() -> std::process::ExitCode {
    reynolds_checkpoint::say_when_shortened();
    let args = commands::Args::parse();
    reynolds_report::exit_code(move || args.carry_out())
}
