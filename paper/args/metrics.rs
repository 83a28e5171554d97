//! What `reynolds bench metrics` is asked.

use std::path::PathBuf;

use clap::Args as Group;

#[derive(Debug, Group)]
pub(crate) struct MetricsBenchArgs {
    /// A .npz of slices from 0 to 255: `truth` and `image` [n, height, width], and, where pixels do not count, `keep`
    #[arg(long, value_name = "FILE")]
    pub(crate) images: PathBuf,
    /// Passes over all of them that are measured
    #[arg(long, value_name = "N", default_value_t = 11, value_parser = clap::value_parser!(u64).range(1..=1_000_000))]
    pub(crate) repeats: u64,
    /// Threads of the processor; 0 = all
    #[arg(long, value_name = "T", default_value_t = 1, value_parser = clap::value_parser!(u64).range(0..=4096))]
    pub(crate) threads: u64,
    /// One JSON object
    #[arg(long)]
    pub(crate) json: bool,
}
