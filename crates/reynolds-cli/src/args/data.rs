//! What can be asked of `reynolds data`.

use std::path::PathBuf;

use clap::{Args as Group, Subcommand, value_parser};
use reynolds_data::smoke::Kind;

#[derive(Debug, Subcommand)]
pub(crate) enum DataCommand {
    /// Simulate rising smoke whose symmetry is broken a little: one .npz a simulation; what is there is kept
    Smoke(SmokeArgs),
}

#[derive(Debug, Group)]
pub(crate) struct SmokeArgs {
    /// Which symmetry: 35, 36 or 38 simulations
    #[arg(long, value_name = "translation|rotation|scaling")]
    pub(crate) kind: Kind,
    /// The folder to write to; an interrupted generation goes on where it was
    #[arg(long, value_name = "DIR")]
    pub(crate) out: PathBuf,
    /// Only this simulation, such as rotation_k05_j0; may be repeated
    #[arg(long, value_name = "NAME")]
    pub(crate) simulation: Vec<String>,
    /// Write 32 frames of the first simulation, by speed, as a PNG
    #[arg(long, value_name = "FILE")]
    pub(crate) preview: Option<PathBuf>,
    /// Simulations at a time; all cores by default. The files do not depend on it
    #[arg(long, value_name = "n", default_value_t = 0, hide_default_value = true, value_parser = value_parser!(u16).range(0..=1024))]
    pub(crate) threads: u16,
}
