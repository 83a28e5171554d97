//! The program `reynolds-train`: the commands run, sweep, reproduce and bench, linked with libtorch. `reynolds` hands over to it. Glue only;
//! training is in `reynolds-lab`.

#[path = "../args/train.rs"]
mod args;
mod bench;
mod bench_medmnist;
mod bench_metrics;
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

fn main() -> ExitCode {
    let args = Args::parse();
    let command = || match args.command {
        TrainCommand::Run(args) => run::run(&args),
        TrainCommand::Sweep(args) => sweep::run(&args),
        TrainCommand::Reproduce(args) => reproduce::run(&args),
        TrainCommand::Bench(BenchCommand::Ct(args)) => bench::run(&args),
        TrainCommand::Bench(BenchCommand::Medmnist(args)) => bench_medmnist::run(&args),
        TrainCommand::Bench(BenchCommand::Projection(args)) => bench_projection::run(&args),
        TrainCommand::Bench(BenchCommand::Metrics(args)) => bench_metrics::run(&args),
        TrainCommand::Bench(BenchCommand::Penalty(args)) => bench_penalty::run(&args),
        TrainCommand::Bench(BenchCommand::Scaling(args)) => bench_scaling::run(&args),
    };
    match last_resort::catch(command) {
        Ok(code) => code,
        Err(error) => {
            output::error(&error);
            ExitCode::from(2)
        }
    }
}
