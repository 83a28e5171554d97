//! `reynolds data shapes`: 3-D shapes whose class is their orientation or handedness.

use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::Result;
use clap::Args;
use reynolds_checkpoint::whole_file;
use reynolds_paper::medmnist::data::shapes::{ShapesConfig, generate, write};
use reynolds_paper::medmnist::data::volumes::preview;
use reynolds_report::terminal;

use super::Threads;

/// Volumes of each class in a preview.
const SHOWN: usize = 4;

#[derive(Debug, Args)]
pub(crate) struct ShapesArgs {
    /// Output file; kept if it was made with the same settings, any other file is not overwritten
    #[arg(long, value_name = "FILE.npz")]
    out: PathBuf,
    #[command(flatten)]
    config: ShapesConfig,
    /// Write a PNG with one row per class: middle slices and maximum projections of some volumes
    #[arg(long, value_name = "FILE")]
    preview: Option<PathBuf>,
    #[command(flatten)]
    threads: Threads,
}

pub(super) fn run(args: &ShapesArgs) -> Result<ExitCode> {
    let config = &args.config;
    config.validate()?;
    for path in [Some(&args.out), args.preview.as_ref()].into_iter().flatten() {
        whole_file::check(path)?;
    }
    let set = args.threads.pool()?.install(|| generate(config))?;
    let made = write(&args.out, config, &set)?;
    let volumes = config.train + config.validation + config.test;
    let mut text = format!(
        "shapes: {} train, {} validation, {} test volumes of {}³, breaking {}, in {} ({}), {:.1} MB\n",
        config.train,
        config.validation,
        config.test,
        config.side,
        config.breaking,
        args.out.display(),
        if made { "made" } else { "kept" },
        (volumes * config.side.pow(3)) as f64 / 1e6,
    );
    if let Some(path) = &args.preview {
        whole_file::write(path, &preview(&set.train, set.classes.len(), SHOWN)?)?;
        text += &format!("rows of {}:\n", path.display());
        for (row, class) in set.classes.iter().enumerate() {
            text += &format!("{row:>3}  {class}\n");
        }
    }
    terminal::print(&text)?;
    Ok(ExitCode::SUCCESS)
}
