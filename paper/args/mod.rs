//! What can be asked for on the command line.

mod data;
#[cfg(feature = "torch")]
mod metrics;
#[cfg(feature = "torch")]
mod projection;
#[cfg(feature = "torch")]
mod scaling;
#[cfg(feature = "torch")]
mod train;

use clap::{Parser, Subcommand};

#[cfg(feature = "torch")]
pub(crate) use self::{metrics::MetricsBenchArgs, projection::ProjectionBenchArgs, scaling::ScalingArgs, train::*};
pub(crate) use data::{CtArgs, DataCommand, MedmnistArgs, ShapesArgs, SmokeArgs};

/// Experiments of reynolds: training, the paper's tables and figures, their data, and measurements.
#[derive(Debug, Parser)]
#[command(name = "reynolds", version, arg_required_else_help = true)]
pub(crate) struct Args {
    #[command(subcommand)]
    pub(crate) command: Command,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    #[cfg(feature = "torch")]
    #[command(flatten)]
    Train(reynolds_train::command_line::Command),
    /// One table or figure of the paper, with its claims checked
    #[cfg(feature = "torch")]
    Reproduce(ReproduceArgs),
    /// Measure what a folder asks for: a child of `reproduce`
    #[cfg(feature = "torch")]
    #[command(hide = true)]
    Cost {
        folder: std::path::PathBuf,
        #[arg(long, default_value = "cpu")]
        device: String,
    },
    /// Make or fetch the data sets of the experiments
    #[command(subcommand, arg_required_else_help = true)]
    Data(DataCommand),
    /// Measurements of networks and of projections
    #[cfg(feature = "torch")]
    #[command(subcommand, arg_required_else_help = true)]
    Bench(BenchCommand),
}
