//! `reynolds data shapes`: volumes of solids whose pose or hand is their label.

use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::Result;
use clap::{Args, value_parser};
use reynolds_checkpoint::whole_file;
use reynolds_paper::medmnist::data::shapes::{ShapesConfig, generate, write};
use reynolds_paper::medmnist::data::volumes::preview;
use reynolds_report::terminal;

use super::pool;

/// Volumes of each class in a preview.
const SHOWN: usize = 4;

#[derive(Debug, Args)]
pub(crate) struct ShapesArgs {
    /// The file to write; one of the same settings is kept, any other is not written over
    #[arg(long, value_name = "FILE.npz")]
    out: PathBuf,
    /// Symmetry breaking b in [0, 1]; best possible accuracy within a class pair is (1 + b)/2
    #[arg(long, value_name = "b", default_value_t = ShapesConfig::default().breaking)]
    breaking: f64,
    /// Volumes to learn from
    #[arg(long, value_name = "n", default_value_t = ShapesConfig::default().train)]
    train: usize,
    /// Volumes to choose settings by
    #[arg(long, value_name = "n", default_value_t = ShapesConfig::default().validation)]
    validation: usize,
    /// Volumes to test on
    #[arg(long, value_name = "n", default_value_t = ShapesConfig::default().test)]
    test: usize,
    /// Voxels along an edge
    #[arg(long, value_name = "n", default_value_t = ShapesConfig::default().side)]
    side: usize,
    /// Degrees that a volume is turned by, at most, when it stands as its class does
    #[arg(long, value_name = "degrees", default_value_t = ShapesConfig::default().jitter)]
    jitter: f64,
    /// Voxels that a solid is shifted by, at most
    #[arg(long, value_name = "voxels", default_value_t = ShapesConfig::default().shift)]
    shift: f64,
    /// By which share of it the size varies, at most
    #[arg(long, value_name = "share", default_value_t = ShapesConfig::default().size)]
    size: f64,
    /// Standard deviation of the noise; a solid is 0.6 lighter than the space about it
    #[arg(long, value_name = "sd", default_value_t = ShapesConfig::default().noise)]
    noise: f64,
    /// Random seed
    #[arg(long, value_name = "n", default_value_t = 0)]
    seed: u64,
    /// Write a PNG with a row for each class: middle slices and brightest values of some volumes
    #[arg(long, value_name = "FILE")]
    preview: Option<PathBuf>,
    /// Volumes at a time; all cores by default. The file does not depend on it
    #[arg(long, value_name = "n", default_value_t = 0, hide_default_value = true, value_parser = value_parser!(u16).range(0..=1024))]
    threads: u16,
}

pub(super) fn run(args: &ShapesArgs) -> Result<ExitCode> {
    let config = ShapesConfig {
        train: args.train,
        validation: args.validation,
        test: args.test,
        side: args.side,
        breaking: args.breaking,
        jitter: args.jitter,
        shift: args.shift,
        size: args.size,
        noise: args.noise,
        seed: args.seed,
    };
    config.validate()?;
    for path in [Some(&args.out), args.preview.as_ref()].into_iter().flatten() {
        whole_file::check(path)?;
    }
    let set = pool(args.threads)?.install(|| generate(&config))?;
    let made = write(&args.out, &config, &set)?;
    let volumes = config.train + config.validation + config.test;
    let mut text = format!(
        "shapes: {} train, {} validation, {} test volumes of {}³, breaking {}, in {} ({}), {:.1} MB\n",
        config.train,
        config.validation,
        config.test,
        config.side,
        config.breaking,
        terminal::printable(&args.out.display().to_string()),
        if made { "made" } else { "kept" },
        (volumes * config.side.pow(3)) as f64 / 1e6,
    );
    if let Some(path) = &args.preview {
        whole_file::write(path, &preview(&set.train, set.classes.len(), SHOWN)?)?;
        text += &format!("rows of {}:\n", terminal::printable(&path.display().to_string()));
        for (row, class) in set.classes.iter().enumerate() {
            text += &format!("{row:>3}  {class}\n");
        }
    }
    terminal::print(&text)?;
    Ok(ExitCode::SUCCESS)
}
