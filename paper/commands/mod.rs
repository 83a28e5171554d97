//! The command line: each command's arguments beside what it does.

#[cfg(feature = "torch")]
mod bench;
mod data;
#[cfg(feature = "torch")]
mod reproduce;

use std::process::ExitCode;

use anyhow::Result;
use clap::{Parser, Subcommand};
#[cfg(feature = "torch")]
use reynolds_train::sweep::end_with_sweep;

/// Experiments of reynolds: training, the paper's tables and figures, their data, and measurements.
#[derive(Debug, Parser)]
#[command(name = "reynolds", version, arg_required_else_help = true)]
pub(crate) struct Args {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    #[cfg(feature = "torch")]
    #[command(flatten)]
    Train(reynolds_train::command_line::Command),
    /// Compute one table or figure of the paper and check its claims
    #[cfg(feature = "torch")]
    Reproduce(reproduce::ReproduceArgs),
    /// Run the measurement that a folder describes; started by `reproduce`
    #[cfg(feature = "torch")]
    #[command(hide = true)]
    Cost {
        folder: std::path::PathBuf,
        #[arg(long, default_value = "cpu", value_parser = reynolds_torch::device::parse)]
        device: reynolds_torch::tch::Device,
    },
    /// Train one point of a reproduction; started by `reproduce`
    #[cfg(feature = "torch")]
    #[command(hide = true)]
    Point {
        reproduction: std::path::PathBuf,
        id: String,
        folder: std::path::PathBuf,
        /// Process that waits for this one.
        #[arg(long)]
        sweep: u32,
        /// Train for so many seconds and measure the pace.
        #[arg(long)]
        probe: Option<u64>,
        #[arg(long, default_value = "cpu", value_parser = reynolds_torch::device::parse)]
        device: reynolds_torch::tch::Device,
    },
    /// Generate or download the data sets of the experiments
    #[command(subcommand, arg_required_else_help = true)]
    Data(data::DataCommand),
    /// Measure the cost of training steps, projections and penalties
    #[cfg(feature = "torch")]
    #[command(subcommand, arg_required_else_help = true)]
    Bench(bench::BenchCommand),
}

impl Args {
    pub(crate) fn carry_out(&self) -> Result<ExitCode> {
        match &self.command {
            #[cfg(feature = "torch")]
            Command::Train(command) => command.carry_out("reynolds", &reynolds_paper::experiments::all()),
            #[cfg(feature = "torch")]
            Command::Reproduce(args) => reproduce::run(args),
            #[cfg(feature = "torch")]
            Command::Bench(command) => command.carry_out(),
            #[cfg(feature = "torch")]
            Command::Cost { folder, device } => {
                reynolds_paper::step::carry_out(folder, *device)?;
                Ok(ExitCode::SUCCESS)
            }
            #[cfg(feature = "torch")]
            Command::Point { reproduction, id, folder, sweep, probe, device } => {
                end_with_sweep(*sweep)?;
                reproduce::point(reproduction, id, folder, *probe, *device)
            }
            Command::Data(command) => command.carry_out(),
        }
    }
}
