//! Progress bar of a long command, on standard error.
//!
//! Drawn ten times a second, and only where standard error is a terminal: logs and pipes stay clean. Training has bars of its own, with
//! losses in them.

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

/// A bar over `total` weights, bytes or other units of work, with this name before it.
pub fn bar(total: u64, what: &'static str) -> ProgressBar {
    let bar = ProgressBar::with_draw_target(Some(total), ProgressDrawTarget::stderr_with_hz(10));
    let style = ProgressStyle::with_template("{msg} [{bar:32}] {percent:>3} %  {eta}");
    bar.set_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()).progress_chars("=> "));
    bar.set_message(what);
    bar
}
