//! What can be asked of `reynolds data`.

use std::path::PathBuf;

use clap::{Args as Group, Subcommand, value_parser};
use reynolds_paper::ct::data::{SetConfig, Source};
use reynolds_paper::medmnist::data::shapes::ShapesConfig;
use reynolds_paper::medmnist::data::{MedSet, Size};
use reynolds_paper::smoke::data::Symmetry;

#[derive(Debug, Subcommand)]
pub(crate) enum DataCommand {
    /// Simulate rising smoke whose symmetry is broken a little: one .npz a simulation; what is there is kept
    Smoke(SmokeArgs),
    /// Simulate CT scans of bodies with and without metal: one .npz a pair; what is there is kept
    Ct(CtArgs),
    /// Fetch a set of MedMNIST in three dimensions, check it, and show what is in it
    Medmnist(MedmnistArgs),
    /// Make volumes of solids whose pose or hand is their label, as much as one likes: one .npz laid out as MedMNIST's
    Shapes(ShapesArgs),
}

#[derive(Debug, Group)]
pub(crate) struct SmokeArgs {
    /// Which symmetry: 35, 36 or 38 simulations
    #[arg(long, value_name = "translation|rotation|scaling")]
    pub(crate) kind: Symmetry,
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

#[derive(Debug, Group)]
pub(crate) struct MedmnistArgs {
    /// Which set; with --verify all whose files are there
    #[arg(long, value_name = "organ|nodule|adrenal|fracture|vessel|synapse", required_unless_present = "verify")]
    pub(crate) set: Option<MedSet>,
    /// Voxels along an edge: 28 by default, with --verify both
    #[arg(long, value_name = "28|64")]
    pub(crate) size: Option<Size>,
    /// The folder of the files; $REYNOLDS_DATA/medmnist, or data/medmnist, by default. An interrupted transfer goes on where it was
    #[arg(long, value_name = "DIR")]
    pub(crate) out: Option<PathBuf>,
    /// Fetch BASE/organmnist3d.npz and the like instead of the publisher's
    #[arg(long, value_name = "BASE")]
    pub(crate) url: Option<String>,
    /// Replace a file whose MD5 is not the publisher's
    #[arg(long)]
    pub(crate) force: bool,
    /// Fetch nothing: compare the files that are there with the publisher's sizes and MD5
    #[arg(long, conflicts_with_all = ["url", "force", "show", "preview"])]
    pub(crate) verify: bool,
    /// Fetch nothing: print the classes and how many volumes there are of each
    #[arg(long, conflicts_with_all = ["url", "force"])]
    pub(crate) show: bool,
    /// Write a PNG with a row for each class: middle slices and brightest values of some volumes
    #[arg(long, value_name = "FILE")]
    pub(crate) preview: Option<PathBuf>,
}

#[derive(Debug, Group)]
pub(crate) struct ShapesArgs {
    /// The file to write; one of the same settings is kept, any other is not written over
    #[arg(long, value_name = "FILE.npz")]
    pub(crate) out: PathBuf,
    /// How much pose and hand say about the label: within a pair of classes 1/2 + b/2 can be told, no more
    #[arg(long, value_name = "b", default_value_t = ShapesConfig::default().breaking)]
    pub(crate) breaking: f64,
    /// Volumes to learn from
    #[arg(long, value_name = "n", default_value_t = ShapesConfig::default().train)]
    pub(crate) train: usize,
    /// Volumes to choose settings by
    #[arg(long, value_name = "n", default_value_t = ShapesConfig::default().validation)]
    pub(crate) validation: usize,
    /// Volumes to test on
    #[arg(long, value_name = "n", default_value_t = ShapesConfig::default().test)]
    pub(crate) test: usize,
    /// Voxels along an edge
    #[arg(long, value_name = "n", default_value_t = ShapesConfig::default().side)]
    pub(crate) side: usize,
    /// Degrees that a volume is turned by, at most, when it stands as its class does
    #[arg(long, value_name = "degrees", default_value_t = ShapesConfig::default().jitter)]
    pub(crate) jitter: f64,
    /// Voxels that a solid is shifted by, at most
    #[arg(long, value_name = "voxels", default_value_t = ShapesConfig::default().shift)]
    pub(crate) shift: f64,
    /// By which share of it the size varies, at most
    #[arg(long, value_name = "share", default_value_t = ShapesConfig::default().size)]
    pub(crate) size: f64,
    /// Standard deviation of the noise; a solid is 0.6 lighter than the space about it
    #[arg(long, value_name = "sd", default_value_t = ShapesConfig::default().noise)]
    pub(crate) noise: f64,
    /// Of everything drawn at random
    #[arg(long, value_name = "n", default_value_t = 0)]
    pub(crate) seed: u64,
    /// Write a PNG with a row for each class: middle slices and brightest values of some volumes
    #[arg(long, value_name = "FILE")]
    pub(crate) preview: Option<PathBuf>,
    /// Volumes at a time; all cores by default. The file does not depend on it
    #[arg(long, value_name = "n", default_value_t = 0, hide_default_value = true, value_parser = value_parser!(u16).range(0..=1024))]
    pub(crate) threads: u16,
}
