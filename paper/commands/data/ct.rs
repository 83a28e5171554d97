//! `reynolds data ct`: pairs of CT slices with and without metal.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Context, Result, bail};
use clap::Args;
use reynolds_checkpoint::whole_file;
use reynolds_paper::ct::data::{
    CtSet, Library, Pair, SetConfig, Source, Subset, aapm, generate, hounsfield, preview, preview_image, syndeeplesion,
};
use reynolds_report::terminal;

use super::Threads;

/// Pairs of a preview, by part; a part may have fewer.
const SHOWN: [(Subset, usize); 4] =
    [(Subset::Train, 4), (Subset::Validation, 1), (Subset::Test, 2), (Subset::Figure, 1)];

#[derive(Debug, Args)]
pub(crate) struct CtArgs {
    /// Output folder; an interrupted run continues there
    #[arg(long, value_name = "DIR", required_unless_present = "show")]
    out: Option<PathBuf>,
    #[command(flatten)]
    config: SetConfig,
    /// Folder of the slices (.npz with hu, z_mm, pixel_mm; aapm/metal_masks.mat, aapm/phantom.vf); $REYNOLDS_DATA/ct by default
    #[arg(long, value_name = "DIR", conflicts_with = "show")]
    slices: Option<PathBuf>,
    /// Write a PNG of some pairs: ground truth, with metal, interpolated, and the metal mask
    #[arg(long, value_name = "FILE")]
    preview: Option<PathBuf>,
    /// Generate nothing; draw the image in this file (AAPM .raw or .vf, SynDeepLesion .h5) as the preview
    #[arg(long, value_name = "FILE", requires = "preview", conflicts_with_all = ["out", "SetConfig"])]
    show: Option<PathBuf>,
    #[command(flatten)]
    threads: Threads,
}

pub(super) fn run(args: &CtArgs) -> Result<ExitCode> {
    if let Some(path) = &args.preview {
        whole_file::check(path)?;
    }
    if let (Some(file), Some(path)) = (&args.show, &args.preview) {
        whole_file::write(path, &drawn(file)?)?;
        return Ok(ExitCode::SUCCESS);
    }
    stray(args)?;
    let out = args.out.as_ref().context("--out: expected a folder, found none")?;
    let config = &args.config;
    config.validate()?;
    let library = Library::of(config.source, args.slices.as_deref())?;
    let summary = args.threads.generate("scanning", |report| generate(out, config, &library, report))?;
    let set = CtSet::open(out)?;
    if let Some(path) = &args.preview {
        whole_file::write(path, &preview(&some(&set)?)?)?;
    }
    terminal::print(&format!(
        "{}: {} train, {} validation, {} test pairs and a figure of {} × {} in {} ({} made, {} kept), {:.0} MB\n",
        config.source,
        config.train,
        config.validation,
        config.test,
        config.side,
        config.side,
        out.display(),
        summary.made,
        summary.kept,
        set.bytes() as f64 / 1e6,
    ))?;
    Ok(ExitCode::SUCCESS)
}

/// Refuses options that have no effect on phantoms.
fn stray(args: &CtArgs) -> Result<()> {
    let given = [("--slices", args.slices.is_some()), ("--test-series", !args.config.test_series.is_empty())];
    match given.iter().find(|(_, given)| *given) {
        Some((option, _)) if args.config.source != Source::Slices => {
            bail!("{option}: expected --source slices, found --source {}", args.config.source)
        }
        _ => Ok(()),
    }
}

fn some(set: &CtSet) -> Result<Vec<Pair>> {
    let mut pairs = Vec::new();
    for (part, most) in SHOWN {
        for number in 0..set.cases(part).len().min(most) {
            pairs.push(set.file(part, number).pair()?);
        }
    }
    Ok(pairs)
}

/// A PNG of an image in a file.
fn drawn(path: &Path) -> Result<Vec<u8>> {
    let extension = path.extension().map(|extension| extension.to_string_lossy().to_lowercase());
    let (side, hu) = match extension.as_deref() {
        Some("raw") => aapm::image(path).map(|slice| (slice.side, slice.hu))?,
        Some("vf") => aapm::density(path).map(|slice| (slice.side, slice.hu))?,
        Some("h5") => {
            // With metal where the file has that, else without.
            let image = syndeeplesion::array(path, "ma_CT").or_else(|_| syndeeplesion::array(path, "image"))?;
            (image.shape[0], image.values.into_iter().map(hounsfield).collect())
        }
        _ => bail!("--show: expected a file .raw, .vf or .h5, found {}", path.display()),
    };
    Ok(preview_image(side, &hu)?)
}
