//! What can be asked for on the command line.

use std::ffi::OsString;
use std::path::PathBuf;

use clap::{Args as Group, Parser, Subcommand};
use reynolds::plan::UniformFields;

/// Approximately equivariant machine learning by projection: audit, project and train networks against a symmetry group.
#[derive(Debug, Parser)]
#[command(name = "reynolds", version, arg_required_else_help = true)]
pub(crate) struct Args {
    #[command(subcommand)]
    pub(crate) command: Command,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// How equivariant each layer of a checkpoint is, and how much of that is chance
    Audit(AuditArgs),
    /// Replace the weights by their equivariant part: W ← P(W); all other bytes stay
    Project(ProjectArgs),
    /// Write a plan to start from: which fields the channels of each layer hold
    Plan(PlanArgs),
    /// Train an experiment; leaves a folder with settings, metrics, checkpoints and a report
    #[command(disable_help_flag = true)]
    Run(Handed),
    /// Train over a grid of settings and seeds, several at a time; one CSV for all
    #[command(disable_help_flag = true)]
    Sweep(Handed),
    /// One table or figure of the paper, with its claims checked
    #[command(disable_help_flag = true)]
    Reproduce(Handed),
    /// Make or fetch the data sets of the experiments
    #[command(disable_help_flag = true)]
    Data(Handed),
    /// Measurements of networks and of projections
    #[command(disable_help_flag = true)]
    Bench(Handed),
}

/// What is handed over to the program that trains.
#[derive(Debug, Group)]
pub(crate) struct Handed {
    #[arg(hide = true, trailing_var_arg = true, allow_hyphen_values = true)]
    pub(crate) arguments: Vec<OsString>,
}

/// How the channels are typed.
#[derive(Debug, Group)]
pub(crate) struct Typing {
    /// The group: C4 D4 C8 SO2 O2 SO3 O3 Oh S5 … A plan names its own
    #[arg(long, value_name = "G")]
    pub(crate) group: Option<String>,
    /// What every channel is: `regular` fields (orientation fastest) or `trivial` ones (scalars)
    #[arg(long, value_name = "regular|trivial", conflicts_with = "plan")]
    pub(crate) fields: Option<UniformFields>,
    /// A plan in TOML that types layers by name
    #[arg(long, value_name = "FILE")]
    pub(crate) plan: Option<PathBuf>,
}

#[derive(Debug, Group)]
pub(crate) struct AuditArgs {
    /// A .safetensors, .npz, .pt or .pth checkpoint
    pub(crate) model: PathBuf,
    #[command(flatten)]
    pub(crate) typing: Typing,
    /// Write one self-contained page with a bar for each layer
    #[arg(long, value_name = "FILE")]
    pub(crate) html: Option<PathBuf>,
    /// Print JSON instead of a table
    #[arg(long)]
    pub(crate) json: bool,
    /// Compare a lattice of groups: which symmetry do the weights have?
    #[arg(long)]
    pub(crate) rank: bool,
    /// Exit with 1 unless the energy ‖P(W)‖²/‖W‖² of all layers together is at least this
    #[arg(long, value_name = "x", value_parser = share)]
    pub(crate) require: Option<f64>,
}

#[derive(Debug, Group)]
pub(crate) struct ProjectArgs {
    /// A .safetensors, .npz, .pt or .pth checkpoint
    pub(crate) model: PathBuf,
    /// Where to write; the same format as MODEL
    pub(crate) out: PathBuf,
    #[command(flatten)]
    pub(crate) typing: Typing,
    /// Write (1−t)W + tP(W)
    #[arg(long, value_name = "t", default_value_t = 1.0, value_parser = share)]
    pub(crate) blend: f64,
    /// Project onto this subgroup of the group of the fields
    #[arg(long, value_name = "SUBGROUP")]
    pub(crate) to: Option<String>,
    /// Leave biases, norm scales and running statistics as they are
    #[arg(long)]
    pub(crate) weights_only: bool,
}

#[derive(Debug, Group)]
pub(crate) struct PlanArgs {
    /// A .safetensors, .npz, .pt or .pth checkpoint
    pub(crate) model: PathBuf,
    /// The group: C4 D4 C8 SO2 O2 SO3 O3 Oh S5 …
    #[arg(long, value_name = "G")]
    pub(crate) group: String,
    /// Where to write; standard output otherwise
    #[arg(long, value_name = "FILE")]
    pub(crate) out: Option<PathBuf>,
}

/// A number from 0 to 1.
fn share(text: &str) -> Result<f64, String> {
    let value: f64 = text.parse().map_err(|_| format!("expected a number, got \"{text}\""))?;
    if (0.0..=1.0).contains(&value) { Ok(value) } else { Err(format!("expected a number from 0 to 1, got {value}")) }
}
