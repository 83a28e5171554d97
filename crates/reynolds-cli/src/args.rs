//! The command line.

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
    /// Measure how equivariant each layer of a checkpoint is: its energy ‖P(W)‖²/‖W‖² (1 = equivariant) beside what random signs give
    Audit(AuditArgs),
    /// Replace each weight tensor W by its equivariant part P(W); all other bytes of the file stay the same
    Project(ProjectArgs),
    /// Write a draft plan: a TOML file that says which fields the channels of each layer hold
    Plan(PlanArgs),
    /// Print the manual page (reynolds.1) of all commands, for `man`
    Man,
    /// Print completions for a shell
    Completions {
        /// The shell
        shell: clap_complete::Shell,
    },
    /// Train an experiment; leaves a folder with settings, metrics, checkpoints and a report
    #[command(disable_help_flag = true)]
    Run(Handed),
    /// Train over a grid of settings and seeds, several runs in parallel; one CSV for all
    #[command(disable_help_flag = true)]
    Sweep(Handed),
    /// Compute one table or figure of the paper and check its claims
    #[command(disable_help_flag = true)]
    Reproduce(Handed),
    /// Generate or download the data sets of the experiments
    #[command(disable_help_flag = true)]
    Data(Handed),
    /// Measure the cost of training steps, projections and penalties
    #[command(disable_help_flag = true)]
    Bench(Handed),
}

/// Arguments for the program `reynolds-paper`.
#[derive(Debug, Group)]
pub(crate) struct Handed {
    #[arg(hide = true, trailing_var_arg = true, allow_hyphen_values = true)]
    pub(crate) arguments: Vec<OsString>,
}

/// The fields that the channels hold.
#[derive(Debug, Group)]
pub(crate) struct Typing {
    /// Symmetry group: C4, D4, C8, SO2, O2, SO3, O3, Oh, S5, …; not needed with --plan, which names its own
    #[arg(long, value_name = "G")]
    pub(crate) group: Option<String>,
    /// Fields of all channels: `trivial` (each channel is a scalar), `regular` (each |G| consecutive channels are permuted by G) or `auto`
    /// (as `reynolds plan` guesses)
    #[arg(long, value_name = "regular|trivial|auto", conflicts_with = "plan", value_parser = fields)]
    pub(crate) fields: Option<FieldsArg>,
    /// TOML file that gives the fields of each layer by name; `reynolds plan` writes a draft
    #[arg(long, value_name = "FILE")]
    pub(crate) plan: Option<PathBuf>,
}

#[derive(Debug, Group)]
pub(crate) struct AuditArgs {
    /// A checkpoint: .safetensors, .npz, .pt, .onnx, .h5, or the index or folder of several. Given several checkpoints of one network, shows how
    /// energy and defect of each layer change from one to the next
    #[arg(required = true, num_args = 1..)]
    pub(crate) models: Vec<PathBuf>,
    #[command(flatten)]
    pub(crate) typing: Typing,
    /// Also write a self-contained HTML report with a bar for each layer
    #[arg(long, value_name = "FILE")]
    pub(crate) html: Option<PathBuf>,
    /// Print JSON instead of a table
    #[arg(long)]
    pub(crate) json: bool,
    /// Which symmetry do the weights have? Lists several groups by how far the energy lies above chance; kernels with trivial fields,
    /// unless --fields regular is given
    #[arg(long)]
    pub(crate) rank: bool,
    /// Exit with code 1 unless the energy ‖P(W)‖²/‖W‖² of all layers together is at least x
    #[arg(long, value_name = "x", value_parser = share)]
    pub(crate) require: Option<f64>,
}

#[derive(Debug, Group)]
pub(crate) struct ProjectArgs {
    /// A checkpoint: .safetensors, .npz, .pt, .onnx, .h5, or the index or folder of several
    pub(crate) model: PathBuf,
    /// Output file, in the format of MODEL or .safetensors; a new folder for a model in several files
    pub(crate) out: PathBuf,
    #[command(flatten)]
    pub(crate) typing: Typing,
    /// Write (1−t)W + tP(W), with t from 0 to 1
    #[arg(long, value_name = "t", default_value_t = 1.0, value_parser = share)]
    pub(crate) blend: f64,
    /// Project onto a subgroup of the group instead, such as C2
    #[arg(long, value_name = "SUBGROUP")]
    pub(crate) to: Option<String>,
    /// Leave biases, norm scales and running statistics unchanged
    #[arg(long)]
    pub(crate) weights_only: bool,
}

#[derive(Debug, Group)]
pub(crate) struct PlanArgs {
    /// A checkpoint: .safetensors, .npz, .pt, .onnx, .h5, or the index or folder of several
    pub(crate) model: PathBuf,
    /// Symmetry group: C4, D4, C8, SO2, O2, SO3, O3, Oh, S5, …
    #[arg(long, value_name = "G")]
    pub(crate) group: String,
    /// Output file; standard output by default
    #[arg(long, value_name = "FILE")]
    pub(crate) out: Option<PathBuf>,
}

/// What all channels are taken for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum FieldsArg {
    Uniform(UniformFields),
    /// What a suggested plan says.
    Auto,
}

fn fields(text: &str) -> Result<FieldsArg, String> {
    let uniform = || {
        text.parse()
            .map(FieldsArg::Uniform)
            .map_err(|_| format!("expected regular or trivial or auto, found \"{text}\""))
    };
    if text == "auto" { Ok(FieldsArg::Auto) } else { uniform() }
}

/// A number from 0 to 1.
fn share(text: &str) -> Result<f64, String> {
    let value: f64 = text.parse().map_err(|_| format!("expected a number, found \"{text}\""))?;
    if (0.0..=1.0).contains(&value) { Ok(value) } else { Err(format!("expected a number from 0 to 1, found {value}")) }
}
