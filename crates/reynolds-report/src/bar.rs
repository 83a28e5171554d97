//! A bar on standard error while tensors are read, on a terminal only.

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

/// A bar over this many weights; hidden unless standard error is a terminal.
pub fn bar(weights: u64, what: &'static str) -> ProgressBar {
    let bar = ProgressBar::with_draw_target(Some(weights), ProgressDrawTarget::stderr_with_hz(10));
    let style = ProgressStyle::with_template("{msg} [{bar:32}] {percent:>3} %  {eta}");
    bar.set_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()).progress_chars("=> "));
    bar.set_message(what);
    bar
}
