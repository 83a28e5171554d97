//! `reynolds bench scaling`.

use std::path::PathBuf;

use clap::Args as Group;

#[derive(Debug, Group)]
pub(crate) struct ScalingArgs {
    /// The folder that scaling.json and the figures scaling-*.svg are written to
    #[arg(long, value_name = "DIR")]
    pub(crate) out: PathBuf,
    /// Smaller sizes and fewer turns: seconds
    #[arg(long)]
    pub(crate) quick: bool,
    /// So little that its numbers mean nothing
    #[arg(long, hide = true)]
    pub(crate) tiny: bool,
    /// Where the penalty is measured: cpu, cuda:N or none; all else is measured on the processor
    #[arg(long, value_name = "DEVICE", default_value = "cpu")]
    pub(crate) device: String,
    /// Processor threads; 0 = all
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u64).range(0..=4096))]
    pub(crate) threads: u64,
    /// One JSON object an exponent
    #[arg(long)]
    pub(crate) json: bool,
}
