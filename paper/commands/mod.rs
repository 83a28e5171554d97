//! The subcommands, one a file.

#[cfg(feature = "torch")]
mod bench;
#[cfg(feature = "torch")]
mod bench_medmnist;
#[cfg(feature = "torch")]
mod bench_metrics;
#[cfg(feature = "torch")]
mod bench_options;
#[cfg(feature = "torch")]
mod bench_penalty;
#[cfg(feature = "torch")]
mod bench_projection;
#[cfg(feature = "torch")]
mod bench_scaling;
mod data;
mod data_ct;
mod data_medmnist;
mod data_shapes;
#[cfg(feature = "torch")]
mod reproduce;

use std::process::ExitCode;

use anyhow::Result;

use crate::args::Command;

pub(crate) fn run(command: Command) -> Result<ExitCode> {
    match command {
        #[cfg(feature = "torch")]
        Command::Train(command) => command.carry_out("reynolds", &reynolds_paper::experiments::all()),
        #[cfg(feature = "torch")]
        Command::Reproduce(args) => reproduce::run(&args),
        #[cfg(feature = "torch")]
        Command::Bench(command) => measure(&command).map_err(bench_options::by_option),
        #[cfg(feature = "torch")]
        Command::Cost { folder, device } => {
            reynolds_paper::targets::cost::carry_out(&folder, reynolds_torch::device::parse(&device)?)?;
            Ok(ExitCode::SUCCESS)
        }
        Command::Data(command) => data::run(&command),
    }
}

#[cfg(feature = "torch")]
fn measure(command: &crate::args::BenchCommand) -> Result<ExitCode> {
    use crate::args::BenchCommand;
    match command {
        BenchCommand::Ct(args) => bench::run(args),
        BenchCommand::Medmnist(args) => bench_medmnist::run(args),
        BenchCommand::Projection(args) => bench_projection::run(args),
        BenchCommand::Metrics(args) => bench_metrics::run(args),
        BenchCommand::Penalty(args) => bench_penalty::run(args),
        BenchCommand::Scaling(args) => bench_scaling::run(args),
    }
}
