//! What a person sees while a run trains.

use std::io::{Write, stderr};
use std::sync::atomic::{AtomicU64, Ordering};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

use crate::metrics::Record;

/// Someone who is told how a run goes on.
pub trait Observer {
    /// Something to be known before work begins.
    fn say(&mut self, text: &str) {
        let _ = text;
    }

    /// What steps are from now on, in the plural, where they are not those of a run: "simulations".
    fn counting(&mut self, of: &str) {
        let _ = of;
    }

    /// Training begins, with `done` of `total` steps done.
    fn begin(&mut self, done: usize, total: usize) {
        let _ = (done, total);
    }

    /// `done` steps are done; `loss` is the mean of this epoch where it is known.
    fn step(&mut self, done: usize, loss: Option<f64>) {
        let _ = (done, loss);
    }

    /// An epoch of `epochs` is done.
    fn epoch(&mut self, record: &Record, epochs: usize) {
        let _ = (record, epochs);
    }

    /// Training is over, or was stopped.
    fn end(&mut self) {}
}

/// Says nothing.
#[derive(Debug, Default)]
pub struct Silent;

impl Observer for Silent {}

/// A bar with epoch, loss, metric and time left on a terminal; nothing where there is none.
#[derive(Debug)]
pub struct Bar {
    bar: ProgressBar,
    metric: String,
    text: String,
}

impl Bar {
    /// A bar that shows "validation/`metric`" beside the loss.
    pub fn new(metric: &str) -> Self {
        let bar = ProgressBar::with_draw_target(None, ProgressDrawTarget::stderr());
        let style = ProgressStyle::with_template("{msg} {wide_bar} {pos}/{len} {per_sec} eta {eta}")
            .expect("the template names fields that bars have");
        bar.set_style(style);
        Self { bar, metric: metric.into(), text: String::new() }
    }
}

impl Observer for Bar {
    fn say(&mut self, text: &str) {
        self.bar.println(text);
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

/// Work of a known size before a run trains: a bar on a terminal, a line for each tenth elsewhere. Several threads may advance it.
#[derive(Debug)]
pub struct Work {
    bar: ProgressBar,
    what: String,
    total: u64,
    done: AtomicU64,
}

impl Work {
    /// `total` units of `what` lie ahead.
    pub fn begin(what: &str, total: u64) -> Self {
        let bar = ProgressBar::with_draw_target(Some(total), ProgressDrawTarget::stderr());
        let style = ProgressStyle::with_template("{msg} {wide_bar} {percent} % eta {eta}")
            .expect("the template names fields that bars have");
        bar.set_style(style);
        bar.set_message(what.to_owned());
        if bar.is_hidden() {
            note(what);
        }
        Self { bar, what: what.to_owned(), total: total.max(1), done: AtomicU64::new(0) }
    }

    /// So many units are done.
    pub fn advance(&self, units: u64) {
        self.bar.inc(units);
        let before = self.done.fetch_add(units, Ordering::Relaxed);
        let [before, now] = [before, before + units].map(|done| 10 * done / self.total);
        if self.bar.is_hidden() && now > before {
            note(&format!("{}: {} %", self.what, 10 * now));
        }
    }
}

impl Drop for Work {
    fn drop(&mut self) {
        self.bar.finish_and_clear();
    }
}

/// Says something that a user should know and that is no error, on standard error; where that is closed there is nobody to tell.
pub fn note(text: &str) {
    // Names and what is said of files may hold what moves a cursor.
    let text: String =
        text.chars().map(|c| if c.is_control() { c.escape_default().to_string() } else { c.to_string() }).collect();
    let _ = writeln!(stderr(), "{text}");
}

/// "epoch 3/200 · loss 0.1234 · accuracy 0.9871".
pub fn line(record: &Record, epochs: usize, metric: &str) -> String {
    let mut text = format!("epoch {}/{epochs}", record.epoch);
    if let Some(loss) = record.values.get("train/loss") {
        text.push_str(&format!(" · loss {loss:.4}"));
    }
    if let Some(value) = record.values.get(&format!("validation/{metric}")) {
        text.push_str(&format!(" · {metric} {value:.4}"));
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
}
