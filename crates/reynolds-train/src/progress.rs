//! Progress on standard error.

use std::io::{IsTerminal, stderr};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
pub use reynolds_report::terminal::say;
use reynolds_report::terminal::{printable, printable_lines};

use crate::metrics::Record;

/// Progress callbacks.
pub trait Observer {
    /// A message before work begins.
    fn say(&mut self, _text: &str) {}

    /// What later steps count, in the plural, if not optimiser steps: "simulations".
    fn counting(&mut self, _of: &str) {}

    /// Training begins, with `done` of `total` steps done.
    fn begin(&mut self, _done: usize, _total: usize) {}

    /// `done` steps are done; `loss` is the mean of this epoch, if known.
    fn step(&mut self, _done: usize, _loss: Option<f64>) {}

    /// An epoch of `epochs` is done.
    fn epoch(&mut self, _record: &Record, _epochs: usize) {}

    /// Training is over, or was stopped.
    fn end(&mut self) {}
}

/// Says nothing.
#[derive(Debug, Default)]
pub struct Silent;

impl Observer for Silent {}

/// Lines of progress in a run or a phase of a table, without a terminal.
const LINES: usize = 20;

/// Longest time between two lines, without a terminal.
const SILENCE: Duration = Duration::from_secs(30);

/// On a terminal a bar with epoch, loss, "validation/`metric`" and time left; elsewhere a line now and then.
pub(crate) fn shown(metric: &str) -> Box<dyn Observer> {
    let (metric, text) = (metric.to_string(), String::new());
    if stderr().is_terminal() {
        let bar = bar("{msg} {wide_bar} {pos}/{len} {per_sec} eta {eta}", None);
        Box::new(Bar { bar, metric, text })
    } else {
        Box::new(Lines { metric, of: text, total: 0, silence: SILENCE, last: Instant::now() })
    }
}

fn bar(template: &str, total: Option<u64>) -> ProgressBar {
    let bar = ProgressBar::with_draw_target(total, ProgressDrawTarget::stderr());
    bar.set_style(ProgressStyle::with_template(template).expect("the template names fields that bars have"));
    bar
}

struct Bar {
    bar: ProgressBar,
    metric: String,
    text: String,
}

impl Observer for Bar {
    fn say(&mut self, text: &str) {
        self.bar.println(printable_lines(text));
    }

    fn counting(&mut self, of: &str) {
        self.bar.set_message(of.to_string());
    }

    fn begin(&mut self, done: usize, total: usize) {
        self.bar.set_length(total as u64);
        self.bar.set_position(done as u64);
        self.bar.reset_eta();
    }

    fn step(&mut self, done: usize, loss: Option<f64>) {
        self.bar.set_position(done as u64);
        if let Some(loss) = loss {
            self.bar.set_message(format!("{} · loss {loss:.4}", self.text));
        }
    }

    fn epoch(&mut self, record: &Record, epochs: usize) {
        self.text = line(record, epochs, &self.metric);
        self.bar.set_message(self.text.clone());
    }

    fn end(&mut self) {
        self.bar.finish_and_clear();
    }
}

/// About [`LINES`] lines, evenly spread over epochs or counted steps; step numbers during long epochs.
struct Lines {
    metric: String,
    /// See [`Observer::counting`].
    of: String,
    total: usize,
    silence: Duration,
    last: Instant,
}

impl Lines {
    /// The line after `done` steps, if one is due.
    fn due(&mut self, done: usize) -> Option<String> {
        if !self.of.is_empty() {
            let due = done.is_multiple_of(self.total.div_ceil(LINES)) || done == self.total;
            return due.then(|| format!("{done}/{} {}", self.total, self.of));
        }
        let due = self.last.elapsed() >= self.silence;
        due.then(|| {
            self.last = Instant::now();
            format!("step {done}/{}", self.total)
        })
    }
}

impl Observer for Lines {
    fn say(&mut self, text: &str) {
        say(text);
    }

    fn counting(&mut self, of: &str) {
        self.of = of.into();
    }

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

/// Progress of work of a known size before training: a bar on a terminal, a line for each tenth elsewhere. Shared by threads.
#[derive(Debug)]
pub struct WorkProgress {
    bar: ProgressBar,
    what: String,
    total: u64,
    done: AtomicU64,
}

impl WorkProgress {
    /// `total` units of `what` lie ahead.
    pub fn begin(what: &str, total: u64) -> Self {
        let bar = bar("{msg} {wide_bar} {percent} % eta {eta}", Some(total));
        bar.set_message(what.to_owned());
        if bar.is_hidden() {
            say(what);
        }
        Self { bar, what: what.to_owned(), total: total.max(1), done: AtomicU64::new(0) }
    }

    /// So many units are done.
    pub fn advance(&self, units: u64) {
        self.bar.inc(units);
        let before = self.done.fetch_add(units, Ordering::Relaxed);
        let [before, now] = [before, before + units].map(|done| 10 * done / self.total);
        if self.bar.is_hidden() && now > before {
            say(&format!("{}: {} %", self.what, 10 * now));
        }
    }
}

impl Drop for WorkProgress {
    fn drop(&mut self) {
        self.bar.finish_and_clear();
    }
}

/// "epoch 3/200 · loss 0.1234 · accuracy 0.9871".
fn line(record: &Record, epochs: usize, metric: &str) -> String {
    let mut text = format!("epoch {}/{epochs}", record.epoch);
    if let Some(loss) = record.values.get("train/loss") {
        text.push_str(&format!(" · loss {loss:.4}"));
    }
    if let Some(value) = record.values.get(&format!("validation/{metric}")) {
        text.push_str(&format!(" · {} {value:.4}", printable(metric)));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::task::Metrics;

    #[test]
    fn a_line_shows_epoch_loss_and_metric() {
        let values = Metrics::from([("train/loss".into(), 0.12345), ("validation/accuracy".into(), 0.5)]);
        let record = Record { epoch: 3, step: 9, values };
        assert_eq!(line(&record, 200, "accuracy"), "epoch 3/200 · loss 0.1235 · accuracy 0.5000");
        assert_eq!(line(&record, 200, "defect"), "epoch 3/200 · loss 0.1235");
    }

    #[test]
    fn steps_within_an_epoch_are_said_where_epochs_are_long_in_coming_and_counted_ones_evenly() {
        let after = |silence: Duration, of: &str| {
            let mut lines = Lines { metric: String::new(), of: of.into(), total: 0, silence, last: Instant::now() };
            lines.begin(2, 40);
            [lines.due(3), lines.due(4)].map(Option::unwrap_or_default)
        };
        assert_eq!(after(Duration::ZERO, ""), ["step 3/40", "step 4/40"]);
        assert_eq!(after(Duration::MAX, ""), ["", ""]);
        assert_eq!(after(Duration::ZERO, "models"), ["", "4/40 models"]);
    }
}
