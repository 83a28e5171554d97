//! What commands that train share: the device, Ctrl-C, progress on standard error.

use std::io::{IsTerminal, Write, stderr};
use std::ops::Range;
use std::path::Path;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use anyhow::{Result, bail};
use reynolds_torch::{device, tch::Device};

use super::PlaceArgs;
use crate::config::TrainConfig;
use crate::interrupt::Interrupt;
use crate::metrics::Record;
use crate::progress::{Bar, Observer, line};

/// Exit code after Ctrl-C, as a shell reports it.
pub const INTERRUPTED: u8 = 130;

/// Lines of progress in a run where there is no terminal.
const LINES: usize = 20;

/// Longest time without a line, where there is no terminal and steps are made.
const SILENCE: Duration = Duration::from_secs(30);

/// The device asked for, and the flag that Ctrl-C sets.
///
/// # Errors
/// If there is no such device.
pub fn session(place: &PlaceArgs) -> Result<(Device, Interrupt)> {
    Ok((device::parse(&place.device)?, Interrupt::on_signal()))
}

/// Consecutive seeds, all of which TOML can hold.
pub(super) fn consecutive(first: u64, count: u64) -> Result<Range<u64>> {
    match first.checked_add(count) {
        Some(end) if end <= i64::MAX as u64 + 1 => Ok(first..end),
        _ => bail!("--seeds: expected seeds of at most 2⁶³ − 1, found {count} from {first} on"),
    }
}

/// Progress of a run: a bar on a terminal, a line from time to time elsewhere.
pub(super) fn observer(train: Option<&TrainConfig>) -> Box<dyn Observer> {
    let watched = train.map(|train| train.early_stopping.metric.as_str());
    let metric = watched.filter(|metric| !metric.is_empty()).unwrap_or("accuracy");
    if stderr().is_terminal() { Box::new(Bar::new(metric)) } else { Box::new(Lines::new(metric, SILENCE)) }
}

/// Progress of work whose steps are whole models, such as a table.
pub fn models() -> Box<dyn Observer> {
    if stderr().is_terminal() { Box::new(Bar::new("")) } else { Box::new(CountLines { of: String::new(), total: 0 }) }
}

/// About [`LINES`] lines a run, evenly spread; between them the number of steps, if an epoch takes long.
struct Lines {
    metric: String,
    total: usize,
    /// Longest time without a line.
    silence: Duration,
    last: Instant,
}

impl Lines {
    fn new(metric: &str, silence: Duration) -> Self {
        Self { metric: metric.into(), total: 0, silence, last: Instant::now() }
    }

    /// The line after `done` steps, if it is time for one.
    fn due(&mut self, done: usize) -> Option<String> {
        if self.last.elapsed() < self.silence {
            return None;
        }
        self.last = Instant::now();
        Some(format!("step {done}/{}", self.total))
    }
}

impl Observer for Lines {
    fn begin(&mut self, _: usize, total: usize) {
        (self.total, self.last) = (total, Instant::now());
    }

    fn step(&mut self, done: usize, _: Option<f64>) {
        if let Some(text) = self.due(done) {
            say(&text);
        }
    }

    fn epoch(&mut self, record: &Record, epochs: usize) {
        if record.epoch.is_multiple_of(epochs.div_ceil(LINES)) || record.epoch == epochs {
            say(&line(record, epochs, &self.metric));
            self.last = Instant::now();
        }
    }
}

/// About [`LINES`] lines a phase.
struct CountLines {
    of: String,
    total: usize,
}

impl Observer for CountLines {
    fn say(&mut self, text: &str) {
        say(text);
    }

    fn counting(&mut self, of: &str) {
        self.of = of.into();
    }

    fn begin(&mut self, _: usize, total: usize) {
        self.total = total;
    }

    fn step(&mut self, done: usize, _: Option<f64>) {
        if done.is_multiple_of(self.total.div_ceil(LINES)) || done == self.total {
            say(&format!("{done}/{} {}", self.total, self.of));
        }
    }
}

/// Prints a line to standard error.
pub fn say(text: &str) {
    // Where standard error is closed there is nobody to tell.
    let _ = writeln!(stderr(), "{text}");
}

/// Prints that work was stopped and saved, with the command that resumes it; the exit code.
pub fn interrupted(folder: &Path, command: &str) -> ExitCode {
    say(&format!("stopped; all is saved in {}\ngo on with: {command}", folder.display()));
    ExitCode::from(INTERRUPTED)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steps_within_an_epoch_are_said_where_epochs_are_long_in_coming() {
        let after = |silence: Duration| {
            let mut lines = Lines::new("accuracy", silence);
            lines.begin(2, 10);
            [lines.due(3), lines.due(4)]
        };
        assert_eq!(after(Duration::ZERO), [Some("step 3/10".to_string()), Some("step 4/10".to_string())]);
        assert_eq!(after(Duration::MAX), [None, None]);
    }
}
