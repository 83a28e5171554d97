//! The program `reynolds-train`: the commands run, sweep, reproduce and bench, linked with libtorch. `reynolds` hands over to it. Glue only;
//! training is in `reynolds-lab`.

#[path = "../args/train.rs"]
mod args;
mod bench;
mod bench_medmnist;
mod bench_metrics;
mod bench_options;
mod bench_penalty;
mod bench_projection;
mod bench_scaling;
#[path = "../last_resort.rs"]
mod last_resort;
#[path = "../output.rs"]
mod output;
mod reproduce;
mod run;
mod session;
mod sweep;

use std::process::ExitCode;

use args::{BenchCommand, TrainCommand};
use clap::Parser;

/// Training commands of reynolds.
#[derive(Debug, Parser)]
#[command(name = "reynolds", version, arg_required_else_help = true)]
struct Args {
    #[command(subcommand)]
    command: TrainCommand,
}

fn bench(command: &BenchCommand) -> anyhow::Result<ExitCode> {
    match command {
        BenchCommand::Ct(args) => bench::run(args),
        BenchCommand::Medmnist(args) => bench_medmnist::run(args),
        BenchCommand::Projection(args) => bench_projection::run(args),
        BenchCommand::Metrics(args) => bench_metrics::run(args),
        BenchCommand::Penalty(args) => bench_penalty::run(args),
        BenchCommand::Scaling(args) => bench_scaling::run(args),
    }
}

fn main() -> ExitCode {
    let args = Args::parse();
    let command = || match args.command {
        TrainCommand::Run(args) => run::run(&args),
        TrainCommand::Sweep(args) => sweep::run(&args),
        TrainCommand::Reproduce(args) => reproduce::run(&args),
        TrainCommand::Bench(command) => bench(&command).map_err(bench_options::by_option),
    };
    match last_resort::catch(command) {
        Ok(code) => code,
        Err(error) => {
            output::error(&error);
            ExitCode::from(2)
        }
    }
}
