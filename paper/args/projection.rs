//! What `reynolds bench projection` is asked.

use std::path::PathBuf;

use clap::Args as Group;

#[derive(Debug, Group)]
pub(crate) struct ProjectionBenchArgs {
    /// The group: C4 D4 O Oh S32 SO2 SO3 …
    #[arg(long, value_name = "G")]
    pub(crate) group: String,
    /// Fields of the input: "64 regular", "3 trivial + 9 regular", "permutation^2", "16x0e + 4x1o"
    #[arg(long, value_name = "FIELDS")]
    pub(crate) domain: String,
    /// Fields of the output
    #[arg(long, value_name = "FIELDS")]
    pub(crate) codomain: String,
    /// Points along a side of convolution kernels; without it the map is dense
    #[arg(long, value_name = "K", value_parser = clap::value_parser!(u64).range(1..=1024))]
    pub(crate) kernel: Option<u64>,
    /// Kernels in the plane or in space: 2 or 3
    #[arg(long, value_name = "D", default_value_t = 2, value_parser = clap::value_parser!(u64).range(2..=3))]
    pub(crate) dimensions: u64,
    /// Band-limited steerable kernels, with the rings and degrees of escnn's R2Conv and R3Conv; without it the action is exact
    #[arg(long, requires = "kernel")]
    pub(crate) band: bool,
    /// Other degrees for the rings 0, 1, … of a band: 0,2,3
    #[arg(long, value_name = "L0,L1,…", value_delimiter = ',', requires = "band")]
    pub(crate) max_degrees: Vec<usize>,
    /// The array `weights` of this .npz, [out, in, k…], instead of random numbers
    #[arg(long, value_name = "FILE")]
    pub(crate) weights: Option<PathBuf>,
    /// Write P(W) as the array `projected` of this .npz
    #[arg(long, value_name = "FILE")]
    pub(crate) out: Option<PathBuf>,
    /// f32 or f64
    #[arg(long, value_name = "P", default_value = "f32")]
    pub(crate) precision: String,
    /// Passes that are measured
    #[arg(long, value_name = "N", default_value_t = 31, value_parser = clap::value_parser!(u64).range(1..=1_000_000))]
    pub(crate) repeats: u64,
    /// Threads of the processor; 0 = all
    #[arg(long, value_name = "T", default_value_t = 1, value_parser = clap::value_parser!(u64).range(0..=4096))]
    pub(crate) threads: u64,
    /// Compare P(W) with the Haar average, term by term: at most 200 terms
    #[arg(long)]
    pub(crate) check: bool,
    /// One JSON object
    #[arg(long)]
    pub(crate) json: bool,
}
