//! Shared by the commands: device, Ctrl-C, progress on standard error.

use std::ops::Range;
use std::path::Path;
use std::process::ExitCode;

use anyhow::{Result, bail};
use reynolds_torch::{device, tch::Device};

use super::SessionArgs;
use crate::config::{Assignment, TrainConfig};
use crate::interrupt::Interrupt;
use crate::progress::{self, Observer};

pub use crate::progress::say;

/// Exit code after Ctrl-C, as a shell reports it.
pub const INTERRUPTED: u8 = 130;

/// The device, and the flag that Ctrl-C sets.
pub fn session(args: &SessionArgs) -> Result<(Device, Interrupt)> {
    Ok((device::parse(&args.device)?, Interrupt::on_signal()))
}

pub(super) fn assignments(given: &[String]) -> Result<Vec<Assignment>> {
    Ok(given.iter().map(|text| text.parse()).collect::<crate::Result<_>>()?)
}

/// Consecutive seeds that TOML can represent.
pub(super) fn consecutive(first: u64, count: u64) -> Result<Range<u64>> {
    match first.checked_add(count) {
        Some(end) if end <= i64::MAX as u64 + 1 => Ok(first..end),
        _ => bail!("--seeds: expected seeds of at most 2⁶³ − 1, found {count} from {first} on"),
    }
}

/// Progress of a run.
pub(super) fn observer(train: Option<&TrainConfig>) -> Box<dyn Observer> {
    let watched = train.map(|train| train.early_stopping.metric.as_str());
    progress::shown(watched.filter(|metric| !metric.is_empty()).unwrap_or("accuracy"))
}

/// Progress of a table, whose steps are models.
pub fn models() -> Box<dyn Observer> {
    progress::shown("")
}

/// Prints the command that resumes cancelled work; returns the exit code.
pub fn interrupted(folder: &Path, command: &str) -> ExitCode {
    say(&format!("stopped; all is saved in {}\ngo on with: {command}", folder.display()));
    ExitCode::from(INTERRUPTED)
}
