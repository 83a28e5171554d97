//! What can be asked of `reynolds data`.

use std::path::PathBuf;

use clap::{Args as Group, Subcommand, value_parser};
use reynolds_data::ct::{SetConfig, Source};
use reynolds_data::smoke::Kind;

#[derive(Debug, Subcommand)]
pub(crate) enum DataCommand {
    /// Simulate rising smoke whose symmetry is broken a little: one .npz a simulation; what is there is kept
    Smoke(SmokeArgs),
    /// Simulate CT scans of bodies with and without metal: one .npz a pair; what is there is kept
    Ct(CtArgs),
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

#[derive(Debug, Group)]
pub(crate) struct CtArgs {
    /// The folder to write to; an interrupted generation goes on where it was
    #[arg(long, value_name = "DIR", required_unless_present = "show")]
    pub(crate) out: Option<PathBuf>,
    /// Bodies: built-in phantoms, or real slices in files
    #[arg(long, value_name = "phantom|slices", default_value_t = Source::Phantom, conflicts_with = "show")]
    pub(crate) source: Source,
    /// Where the slices are (.npz with hu, z_mm, pixel_mm; aapm/metal_masks.mat, aapm/phantom.vf); $REYNOLDS_DATA/ct by default
    #[arg(long, value_name = "DIR", conflicts_with = "show")]
    pub(crate) slices: Option<PathBuf>,
    /// The series to test on, and nothing else; the one of median length by default
    #[arg(long, value_name = "NAME", default_value = "", hide_default_value = true, conflicts_with = "show")]
    pub(crate) test_series: String,
    /// Pairs to learn from
    #[arg(long, value_name = "n", default_value_t = SetConfig::default().train, conflicts_with = "show")]
    pub(crate) train: usize,
    /// Pairs to choose settings by
    #[arg(long, value_name = "n", default_value_t = SetConfig::default().validation, conflicts_with = "show")]
    pub(crate) validation: usize,
    /// Pairs to test on
    #[arg(long, value_name = "n", default_value_t = SetConfig::default().test, conflicts_with = "show")]
    pub(crate) test: usize,
    /// Pixels along a side
    #[arg(long, value_name = "n", default_value_t = SetConfig::default().side, conflicts_with = "show")]
    pub(crate) side: usize,
    /// Of everything drawn at random
    #[arg(long, value_name = "n", default_value_t = 0, conflicts_with = "show")]
    pub(crate) seed: u64,
    /// Write a PNG of some pairs: truth, with metal, interpolated, and where the metal is
    #[arg(long, value_name = "FILE")]
    pub(crate) preview: Option<PathBuf>,
    /// Make nothing: show an image of a file (AAPM .raw or .vf, SynDeepLesion .h5) in the preview
    #[arg(long, value_name = "FILE", requires = "preview", conflicts_with = "out")]
    pub(crate) show: Option<PathBuf>,
    /// Pairs at a time; all cores by default. The files do not depend on it
    #[arg(long, value_name = "n", default_value_t = 0, hide_default_value = true, value_parser = value_parser!(u16).range(0..=1024))]
    pub(crate) threads: u16,
}
