//! Arguments of the commands that train.

use std::path::PathBuf;

use clap::Args;

/// Device and folders.
#[derive(Debug, Args)]
pub struct SessionArgs {
    /// Device for tensors: cpu or cuda:N
    #[arg(long, value_name = "DEVICE", default_value = "cpu")]
    pub device: String,
    /// Resume the work in this folder; the result is that of an uninterrupted run
    #[arg(long, value_name = "DIR")]
    pub resume: Option<PathBuf>,
    /// Parent of new folders
    #[arg(long, value_name = "DIR", default_value = "runs")]
    pub runs: PathBuf,
}

/// Settings of a run.
#[derive(Debug, Args)]
pub struct SettingsArgs {
    /// Settings in TOML; override the experiment's defaults
    #[arg(long, value_name = "FILE", conflicts_with = "resume")]
    pub config: Option<PathBuf>,
    /// One setting, such as penalty.lambda_perp=0.1; overrides the file; may be repeated
    #[arg(long, value_name = "KEY=VALUE", conflicts_with = "resume")]
    pub set: Vec<String>,
}

/// Arguments of `run`.
#[derive(Debug, Args)]
pub struct RunArgs {
    /// Name of the experiment, or `list` to show all; optional with `--resume`
    #[arg(required_unless_present = "resume")]
    pub experiment: Option<String>,
    /// Settings.
    #[command(flatten)]
    pub settings: SettingsArgs,
    /// Number of runs, with consecutive seeds
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u64).range(1..=1_000_000), conflicts_with = "resume")]
    pub seeds: u64,
    /// Device and folders.
    #[command(flatten)]
    pub session: SessionArgs,
    /// Print all settings with their values and exit; docs/settings.md of reynolds explains them
    #[arg(long, conflicts_with = "resume")]
    pub show: bool,
    /// Folder of the run; created, or resumed if it exists
    #[arg(long, value_name = "DIR", hide = true, conflicts_with_all = ["resume", "seeds"])]
    pub folder: Option<PathBuf>,
    /// Process of the sweep that starts this run, which ends with it
    #[arg(long, value_name = "PID", hide = true, requires = "resume")]
    pub sweep: Option<u32>,
}

/// Arguments of `sweep`.
#[derive(Debug, Args)]
pub struct SweepArgs {
    /// Name of the experiment; optional with `--resume`
    #[arg(required_unless_present = "resume")]
    pub experiment: Option<String>,
    /// Values of one setting: penalty.lambda_perp=0,0.01,0.1; repeated, all combinations are run
    #[arg(long, value_name = "KEY=V1,V2,…", conflicts_with = "resume")]
    pub grid: Vec<String>,
    /// Settings.
    #[command(flatten)]
    pub settings: SettingsArgs,
    /// Number of runs at each grid point, with consecutive seeds
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u64).range(1..=1_000_000), conflicts_with = "resume")]
    pub seeds: u64,
    /// Number of runs in parallel, each a process with its share of the processors
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u64).range(1..=4096))]
    pub jobs: u64,
    /// Device and folders.
    #[command(flatten)]
    pub session: SessionArgs,
}
