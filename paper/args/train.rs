//! Arguments of `reproduce` and `bench`.

use std::path::PathBuf;

use clap::{Args as Group, Subcommand, ValueEnum};
use reynolds_train::command_line::PlaceArgs;

use super::metrics::MetricsBenchArgs;
use super::projection::ProjectionBenchArgs;
use super::scaling::ScalingArgs;

#[derive(Debug, Subcommand)]
pub(crate) enum BenchCommand {
    /// Training and inference of the CT networks on random images: time, memory, and what the projection penalty adds
    Ct(CtBenchArgs),
    /// Building, training and inference of the networks of MedMNIST on random volumes: time, memory, and what the projection penalty adds
    Medmnist(MedBenchArgs),
    /// Projection of a dense map or a kernel for any group and fields: deriving P, one pass, copying the same bytes
    Projection(ProjectionBenchArgs),
    /// PSNR and SSIM of slices in a file, as the CT experiment judges them: values and time
    Metrics(MetricsBenchArgs),
    /// The penalty by itself on a stack of convolutions: time beside a step of Adam and a copy, and what it adds to steps of a network
    Penalty(PenaltyBenchArgs),
    /// How cost grows with weights, group, kernel, band limit and network: figures, and exponents beside the claimed ones
    Scaling(ScalingArgs),
}

#[derive(Debug, Group)]
pub(crate) struct CtBenchArgs {
    /// acdnet, dicdnet or oscnet; may be repeated
    #[arg(long, value_name = "A", default_value = "dicdnet")]
    pub(crate) architecture: Vec<String>,
    /// plain, sample, projected, rpp or penalty; may be repeated
    #[arg(long, value_name = "MODE", default_value = "plain")]
    pub(crate) mode: Vec<String>,
    /// Images of a minibatch; may be repeated
    #[arg(long, value_name = "N", default_value = "12", value_parser = clap::value_parser!(u64).range(1..=4096))]
    pub(crate) batch: Vec<u64>,
    /// f32 or bf16; may be repeated
    #[arg(long, value_name = "P", default_value = "f32")]
    pub(crate) precision: Vec<String>,
    /// The norm of the projection penalty: frobenius, spectral, max or (p,q)
    #[arg(long, value_name = "NAME", default_value = "frobenius")]
    pub(crate) norm: String,
    /// Pixels along a side of an image
    #[arg(long, value_name = "S", default_value_t = 256, value_parser = clap::value_parser!(u64).range(16..=1024))]
    pub(crate) side: u64,
    /// Stages of the networks
    #[arg(long, value_name = "T", default_value_t = 10, value_parser = clap::value_parser!(u64).range(2..=64))]
    pub(crate) stages: u64,
    /// Residual blocks of their nets
    #[arg(long, value_name = "B", default_value_t = 3, value_parser = clap::value_parser!(u64).range(1..=16))]
    pub(crate) blocks: u64,
    /// Steps that are measured, in ten groups
    #[arg(long, value_name = "K", default_value_t = 50, value_parser = clap::value_parser!(u64).range(1..=1_000_000))]
    pub(crate) steps: u64,
    /// Steps before that
    #[arg(long, value_name = "W", default_value_t = 5, value_parser = clap::value_parser!(u64).range(0..=1_000_000))]
    pub(crate) warmup: u64,
    /// So many pairs of neighbouring steps with and without the projection penalty
    #[arg(long, value_name = "N", default_value_t = 0, value_parser = clap::value_parser!(u64).range(0..=1_000_000))]
    pub(crate) pairs: u64,
    /// Where tensors live: cpu or cuda:N
    #[arg(long, value_name = "DEVICE", default_value = "cpu")]
    pub(crate) device: String,
    /// One JSON object a row
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Group)]
pub(crate) struct MedBenchArgs {
    /// cnn, scnn, rpp, pscnn or ours; may be repeated
    #[arg(long, value_name = "M", default_value = "ours")]
    pub(crate) model: Vec<String>,
    /// so3 or o3; may be repeated
    #[arg(long, value_name = "G", default_value = "so3")]
    pub(crate) group: Vec<String>,
    /// Volumes of a minibatch; may be repeated
    #[arg(long, value_name = "N", default_value = "32", value_parser = clap::value_parser!(u64).range(2..=4096))]
    pub(crate) batch: Vec<u64>,
    /// f32 or bf16; may be repeated
    #[arg(long, value_name = "P", default_value = "f32")]
    pub(crate) precision: Vec<String>,
    /// Fields of the first layer; 0 = 2 for ours, 6 for the others
    #[arg(long, value_name = "C", default_value_t = 0, value_parser = clap::value_parser!(u64).range(0..=64))]
    pub(crate) width: u64,
    /// Of ours: pointwise or gated
    #[arg(long, value_name = "NAME", default_value = "pointwise")]
    pub(crate) nonlinearity: String,
    /// Classes that are told apart
    #[arg(long, value_name = "N", default_value_t = 2, value_parser = clap::value_parser!(u64).range(2..=256))]
    pub(crate) classes: u64,
    /// Steps that are measured, in ten groups
    #[arg(long, value_name = "K", default_value_t = 50, value_parser = clap::value_parser!(u64).range(1..=1_000_000))]
    pub(crate) steps: u64,
    /// Steps before that
    #[arg(long, value_name = "W", default_value_t = 5, value_parser = clap::value_parser!(u64).range(0..=1_000_000))]
    pub(crate) warmup: u64,
    /// Ours without its penalty
    #[arg(long)]
    pub(crate) without_penalty: bool,
    /// So many pairs of neighbouring steps of ours with and without the projection penalty
    #[arg(long, value_name = "N", default_value_t = 0, value_parser = clap::value_parser!(u64).range(0..=1_000_000))]
    pub(crate) pairs: u64,
    /// Where tensors live: cpu or cuda:N
    #[arg(long, value_name = "DEVICE", default_value = "cpu")]
    pub(crate) device: String,
    /// One JSON object a row
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Group)]
pub(crate) struct PenaltyBenchArgs {
    /// Convolutions
    #[arg(long, value_name = "N", default_value_t = 72, value_parser = clap::value_parser!(u64).range(1..=1_000_000))]
    pub(crate) layers: u64,
    /// As many convolutions as have so many weights, about: 1e6
    #[arg(long, value_name = "N", conflicts_with_all = ["layers", "weights_file"])]
    pub(crate) weights: Option<f64>,
    /// An .npz with the array `weights` [layers, channels, channels, kernel, kernel] instead of random ones
    #[arg(long, value_name = "FILE", conflicts_with_all = ["layers", "channels", "kernel"])]
    pub(crate) weights_file: Option<PathBuf>,
    /// An .npz for the array `gradient` of the squared penalty
    #[arg(long, value_name = "FILE")]
    pub(crate) out: Option<PathBuf>,
    /// The group of the plane whose regular fields the channels are: C4 D4 C8 …
    #[arg(long, value_name = "G", default_value = "C4")]
    pub(crate) group: String,
    /// Channels of each
    #[arg(long, value_name = "C", default_value_t = 36, value_parser = clap::value_parser!(u64).range(1..=4096))]
    pub(crate) channels: u64,
    /// Points along a side of a kernel
    #[arg(long, value_name = "K", default_value_t = 5, value_parser = clap::value_parser!(u64).range(1..=63))]
    pub(crate) kernel: u64,
    /// Calls that are timed, in ten groups
    #[arg(long, value_name = "R", default_value_t = 50, value_parser = clap::value_parser!(u64).range(1..=1_000_000))]
    pub(crate) repeats: u64,
    /// So many pairs of training steps of a network of these convolutions, with and without the penalty
    #[arg(long, value_name = "N", default_value_t = 0, value_parser = clap::value_parser!(u64).range(0..=1_000_000))]
    pub(crate) pairs: u64,
    /// Images of its minibatch
    #[arg(long, value_name = "N", default_value_t = 4, value_parser = clap::value_parser!(u64).range(1..=4096))]
    pub(crate) batch: u64,
    /// Pixels along a side of its images
    #[arg(long, value_name = "S", default_value_t = 256, value_parser = clap::value_parser!(u64).range(1..=4096))]
    pub(crate) side: u64,
    /// Threads of the processor; 0 = as libtorch likes
    #[arg(long, value_name = "T", default_value_t = 0, value_parser = clap::value_parser!(u64).range(0..=4096))]
    pub(crate) threads: u64,
    /// Where tensors live: cpu or cuda:N
    #[arg(long, value_name = "DEVICE", default_value = "cpu")]
    pub(crate) device: String,
    /// One JSON object
    #[arg(long)]
    pub(crate) json: bool,
}

/// How much is computed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Budget {
    /// Minutes: figures of SO(2) with 5 seeds, the rest small and with 2 or fewer
    Quick,
    /// Figures of SO(2) with 10 seeds; the rest with 3 or fewer, for an accelerator
    Standard,
    /// Figures of SO(2) with 20 seeds; the rest as in the paper
    Full,
}

impl Budget {
    /// As on the command line.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Quick => "quick",
            Self::Standard => "standard",
            Self::Full => "full",
        }
    }
}

#[derive(Debug, Group)]
pub(crate) struct ReproduceArgs {
    /// A table or figure of the paper, or `list` for all of them
    pub(crate) target: String,
    /// How much is computed
    #[arg(long, value_enum, default_value_t = Budget::Standard, conflicts_with = "resume")]
    pub(crate) budget: Budget,
    /// Exit with 1 unless every claim held
    #[arg(long)]
    pub(crate) strict: bool,
    /// One setting of the target, over the budget's: seeds=3
    #[arg(long, value_name = "KEY=VALUE", conflicts_with = "resume")]
    pub(crate) set: Vec<String>,
    /// So many models at a time; 0 = one for each processor, and one on any other device
    #[arg(long, value_name = "N", default_value_t = 0, value_parser = clap::value_parser!(u64).range(0..=4096))]
    pub(crate) jobs: u64,
    #[command(flatten)]
    pub(crate) place: PlaceArgs,
    /// The group: C4 D4 SO2 SO3 …
    #[arg(long, value_name = "G", help_heading = "fig-projection", conflicts_with = "resume")]
    pub(crate) group: Option<String>,
    /// Fields of the input
    #[arg(long, value_name = "FIELDS", help_heading = "fig-projection", conflicts_with = "resume")]
    pub(crate) domain: Option<String>,
    /// Fields of the output
    #[arg(long, value_name = "FIELDS", help_heading = "fig-projection", conflicts_with = "resume")]
    pub(crate) codomain: Option<String>,
}
