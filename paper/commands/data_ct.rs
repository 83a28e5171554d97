//! `reynolds data ct`: pairs of CT slices with and without metal.

use std::ops::ControlFlow;
use std::path::Path;
use std::process::ExitCode;

use anyhow::{Context, Result, bail};
use reynolds_paper::ct::data::{
    Case, CtSet, Library, Pair, Part, SetConfig, Source, aapm, generate, hounsfield, syndeeplesion,
};
use reynolds_paper::ct::data::{preview, preview_image};
use reynolds_paper::data::generate::Event;

use super::data::note;
use crate::args::CtArgs;
use reynolds_checkpoint::whole_file;
use reynolds_report::terminal;

/// Pairs of a preview, by part; a part may have fewer.
const SHOWN: [(Part, usize); 4] = [(Part::Train, 4), (Part::Validation, 1), (Part::Test, 2), (Part::Figure, 1)];

pub(super) fn run(args: &CtArgs) -> Result<ExitCode> {
    if let Some(path) = &args.preview {
        whole_file::check(path)?;
    }
    if let (Some(file), Some(path)) = (&args.show, &args.preview) {
        whole_file::write(path, &shown(file)?)?;
        return Ok(ExitCode::SUCCESS);
    }
    stray(args)?;
    let out = args.out.as_ref().context("--out: expected a folder, found none")?;
    let config = SetConfig {
        source: args.source,
        side: args.side,
        train: args.train,
        validation: args.validation,
        test: args.test,
        seed: args.seed,
        test_series: args.test_series.clone(),
        ..SetConfig::default()
    };
    config.validate()?;
    let library = Library::of(args.source, args.slices.as_deref())?;
    let bar = reynolds_report::bar(0, "scanning");
    let report = |event: Event<'_, Case>| {
        match event {
            Event::Begun { cases, .. } => bar.set_length(cases as u64),
            Event::Kept(_) | Event::Made(_) => bar.inc(1),
            Event::Refused { reason, .. } => bar.suspend(|| note(&format!("made again: {reason}"))),
            _ => {}
        }
        // Ctrl-C ends this program at once: files appear whole or not at all.
        ControlFlow::Continue(())
    };
    let pool =
        rayon::ThreadPoolBuilder::new().num_threads(args.threads.into()).build().context("cannot start threads")?;
    let summary = pool.install(|| generate(out, &config, &library, &report));
    bar.finish_and_clear();
    let summary = summary?;
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
        terminal::printable(&out.display().to_string()),
        summary.made,
        summary.kept,
        set.bytes() as f64 / 1e6,
    ))?;
    Ok(ExitCode::SUCCESS)
}

/// Phantoms come from no files: what says which would be without effect.
fn stray(args: &CtArgs) -> Result<()> {
    let given = [("--slices", args.slices.is_some()), ("--test-series", !args.test_series.is_empty())];
    match given.iter().find(|(_, given)| *given) {
        Some((option, _)) if args.source != Source::Slices => {
            bail!("{option}: expected --source slices with it, found --source {}", args.source)
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
fn shown(path: &Path) -> Result<Vec<u8>> {
    let extension = path.extension().map(|extension| extension.to_string_lossy().to_lowercase());
    let (side, hu) = match extension.as_deref() {
        Some("raw") => aapm::image(path).map(|slice| (slice.side, slice.hu))?,
        Some("vf") => aapm::density(path).map(|slice| (slice.side, slice.hu))?,
        Some("h5") => {
            // With metal where the file has that, else without.
            let image = syndeeplesion::array(path, "ma_CT").or_else(|_| syndeeplesion::array(path, "image"))?;
            (image.shape[0], image.values.into_iter().map(hounsfield).collect())
        }
        _ => {
            bail!(
                "--show: expected a file .raw, .vf or .h5, found {}",
                terminal::printable(&path.display().to_string())
            )
        }
    };
    Ok(preview_image(side, &hu)?)
}
