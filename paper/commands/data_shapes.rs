//! `reynolds data shapes`: volumes of solids whose pose or hand is their label.

use std::process::ExitCode;

use anyhow::{Context, Result};
use reynolds_paper::medmnist::data::shapes::{ShapesConfig, generate, write};
use reynolds_paper::medmnist::data::volumes::preview;

use crate::args::ShapesArgs;
use reynolds_checkpoint::whole_file;
use reynolds_report::terminal;

/// Volumes of each class in a preview.
const SHOWN: usize = 4;

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
    let pool =
        rayon::ThreadPoolBuilder::new().num_threads(args.threads.into()).build().context("cannot start threads")?;
    let set = pool.install(|| generate(&config))?;
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
