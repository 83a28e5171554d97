//! `reynolds data medmnist`: downloads and shows sets of MedMNIST.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Context, Result, bail};
use clap::Args;
use reynolds_checkpoint::whole_file;
use reynolds_paper::data::folder;
use reynolds_paper::medmnist::data::volumes::{VolumeSet, Volumes, preview};
use reynolds_paper::medmnist::data::{Checked, MedSet, PUBLISHER, Size, open};
use reynolds_report::{Table, terminal};

use crate::download::{Client, Outcome, Wanted, fetch};

/// Volumes of each class in a preview.
const SHOWN: usize = 4;

#[derive(Debug, Args)]
pub(crate) struct MedmnistArgs {
    /// Data set; with --verify, all whose files exist by default
    #[arg(long, value_name = "organ|nodule|adrenal|fracture|vessel|synapse", required_unless_present = "verify")]
    set: Option<MedSet>,
    /// Voxels along an edge; 28 by default, with --verify both
    #[arg(long, value_name = "28|64")]
    size: Option<Size>,
    /// Folder of the files, where an interrupted download continues; $REYNOLDS_DATA/medmnist or data/medmnist by default
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
    /// Download BASE/organmnist3d.npz, …, instead of the publisher's files
    #[arg(long, value_name = "BASE")]
    url: Option<String>,
    /// Replace an existing file whose MD5 is not the publisher's
    #[arg(long)]
    force: bool,
    /// Download nothing; compare existing files with the publisher's MD5 and numbers of volumes
    #[arg(long, conflicts_with_all = ["url", "force", "show", "preview"])]
    verify: bool,
    /// Download nothing; print the classes and the number of volumes of each
    #[arg(long, conflicts_with_all = ["url", "force"])]
    show: bool,
    /// Write a PNG with one row per class: middle slices and maximum projections of some volumes
    #[arg(long, value_name = "FILE")]
    preview: Option<PathBuf>,
}

pub(super) fn run(args: &MedmnistArgs) -> Result<ExitCode> {
    let folder = folder(args.out.as_deref().unwrap_or(Path::new("")), "medmnist");
    if args.verify {
        return verify(args, &folder);
    }
    if let Some(path) = &args.preview {
        whole_file::check(path)?;
    }
    let set = args.set.context("--set: expected a set, found none")?;
    let size = args.size.unwrap_or_default();
    let target = folder.join(set.file_name(size));
    if !args.show {
        fetched(args, set, size, &target)?;
    } else if !target.exists() {
        if args.preview.is_some() {
            bail!("{}: expected the file to show, found none; without --show it is downloaded", target.display());
        }
        terminal::print(&published(set, size, &target))?;
        return Ok(ExitCode::SUCCESS);
    }
    if !args.show && args.preview.is_none() {
        return Ok(ExitCode::SUCCESS);
    }
    let volumes = open(&folder, set, size, Checked::Yes)?;
    if args.show {
        terminal::print(&facts(&volumes, &target))?;
    }
    if let Some(path) = &args.preview {
        whole_file::write(path, &preview(&volumes.train, volumes.classes.len(), SHOWN)?)?;
        terminal::print(&rows(&volumes, path))?;
    }
    Ok(ExitCode::SUCCESS)
}

/// Fetches a file unless it is there, and says which.
fn fetched(args: &MedmnistArgs, set: MedSet, size: Size, target: &Path) -> Result<()> {
    let name = set.file_name(size);
    let url = match &args.url {
        Some(base) => format!("{}/{name}", base.trim_end_matches('/')),
        None => format!("{PUBLISHER}/{name}?download=1"),
    };
    if let Some(folder) = target.parent() {
        fs::create_dir_all(folder).with_context(|| format!("{}: cannot create", folder.display()))?;
    }
    let bar = reynolds_report::bar(0, "fetching");
    let report = |have: u64, total: Option<u64>| {
        bar.set_length(total.unwrap_or(have));
        bar.set_position(have);
    };
    // Ctrl-C ends this program at once: what has arrived lies in a file of another name, from where the next call goes on.
    let md5 = set.md5(size);
    let outcome = fetch(&Client::new(), &Wanted { url: &url, target, md5, force: args.force }, &report);
    bar.finish_and_clear();
    let place = target.display();
    let text = match outcome? {
        Outcome::Kept => format!("{}, {size}³: {place} is there, and as published (MD5 {md5})\n", set.title()),
        Outcome::Fetched { bytes, received } => {
            let kept = bytes - received;
            let before = if kept > 0 { format!(", {:.1} of them before", kept as f64 / 1e6) } else { String::new() };
            let megabytes = bytes as f64 / 1e6;
            format!("{}, {size}³: {megabytes:.1} MB fetched{before} to {place} (MD5 {md5})\n", set.title())
        }
    };
    terminal::print(&text)
}

/// Checks the files that are there: one line each, exit code 2 if one is not as published.
fn verify(args: &MedmnistArgs, folder: &Path) -> Result<ExitCode> {
    let all = MedSet::ALL.into_iter().flat_map(|set| Size::ALL.map(|size| (set, size)));
    let asked = all.filter(|&(set, size)| args.set.is_none_or(|s| s == set) && args.size.is_none_or(|s| s == size));
    let files: Vec<(MedSet, Size, PathBuf)> = asked
        .map(|(set, size)| (set, size, folder.join(set.file_name(size))))
        .filter(|(_, _, path)| path.exists())
        .collect();
    if files.is_empty() {
        bail!("{}: expected files of MedMNIST to check, found none", folder.display());
    }
    let mut wrong = 0;
    for (set, size, path) in &files {
        match open(folder, *set, *size, Checked::Yes) {
            Ok(_) => {
                let [train, validation, test] = set.counts();
                let counts = format!("{train} train, {validation} validation, {test} test");
                terminal::print(&format!("{}: as published ({counts})\n", path.display()))?;
            }
            Err(error) => {
                wrong += 1;
                terminal::say(&error.to_string());
            }
        }
    }
    match wrong {
        0 => Ok(ExitCode::SUCCESS),
        wrong => {
            bail!("expected the publisher's files, found other contents in {wrong} of {} files", files.len())
        }
    }
}

/// What the publisher says of a set whose file is not there.
fn published(set: MedSet, size: Size, target: &Path) -> String {
    let ([train, validation, test], title, place) = (set.counts(), set.title(), target.display());
    let classes = set.classes().join(", ");
    format!(
        "{title}, {size}³: {train} train, {validation} validation, {test} test (no file {place})\nclasses: {classes}\n"
    )
}

/// A line for each class: how many volumes of it each part has.
fn facts(set: &VolumeSet, target: &Path) -> String {
    let parts = [&set.train, &set.validation, &set.test];
    let counts = parts.map(|part| part.counts(set.classes.len()));
    let mut table = Table::new(["label", "class", "train", "validation", "test"]);
    table.caption(format!("{}, {}", set.name, target.display()));
    let mut row = |label: String, name: &str, counts: [usize; 3]| {
        table.row([label, name.into()].into_iter().chain(counts.map(|count| count.to_string())));
    };
    for (label, name) in set.classes.iter().enumerate() {
        row(label.to_string(), name, [0, 1, 2].map(|part| counts[part][label]));
    }
    row(String::new(), "all", parts.map(Volumes::count));
    table.to_string()
}

/// What the rows of a preview are.
fn rows(set: &VolumeSet, path: &Path) -> String {
    let classes = set.classes.iter().enumerate().map(|(row, class)| format!("  row {}: {class}\n", row + 1));
    format!(
        "{}: {SHOWN} training volumes of each class; of each the middle slice across each axis and the maximum along the first\n{}",
        path.display(),
        classes.collect::<String>()
    )
}
