//! Standard output and standard error of a program.
//!
//! Results go to standard output by [`print()`], errors with their causes to standard error by [`error()`], progress as a [`bar`]. Text that
//! comes from a file, such as the name of a tensor, is made [`printable`] first, so that nobody can steer the terminal by it;
//! [`crate::Table`] does so itself.

use std::io::{self, ErrorKind, IsTerminal, Write};

use anyhow::{Context, Result};
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

pub use super::escape::printable;

/// Prints to standard output; a reader that has gone away is no error.
pub fn print(text: &str) -> Result<()> {
    match io::stdout().lock().write_all(text.as_bytes()).and_then(|()| io::stdout().flush()) {
        Err(error) if error.kind() == ErrorKind::BrokenPipe => Ok(()),
        done => done.context("cannot write to standard output"),
    }
}

/// Whether to colour standard output: it is a terminal, and `NO_COLOR` is not set.
pub fn colour() -> bool {
    io::stdout().is_terminal() && std::env::var_os("NO_COLOR").is_none()
}

/// Prints an error with its causes; where standard error is closed there is nobody to tell.
pub fn error(error: &anyhow::Error) {
    // A cause whose text the one above it already carries is not said twice.
    let mut message = String::new();
    for cause in error.chain().map(ToString::to_string).filter(|cause| !cause.is_empty()) {
        if !message.ends_with(&cause) {
            let colon = if message.is_empty() { "" } else { ": " };
            message = format!("{message}{colon}{cause}");
        }
    }
    // Plans are quoted over several lines.
    let lines: Vec<String> = message.split('\n').map(printable).collect();
    let _ = writeln!(io::stderr(), "error: {}", lines.join("\n"));
}

/// A progress bar over `total` weights, bytes or other units of work, with this name before it: drawn ten times a second, and only where
/// standard error is a terminal. Training has bars of its own, with losses in them.
pub fn bar(total: u64, what: &'static str) -> ProgressBar {
    let bar = ProgressBar::with_draw_target(Some(total), ProgressDrawTarget::stderr_with_hz(10));
    let style = ProgressStyle::with_template("{msg} [{bar:32}] {percent:>3} %  {eta}");
    bar.set_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()).progress_chars("=> "));
    bar.set_message(what);
    bar
}
