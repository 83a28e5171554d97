//! Standard output and standard error of a program.
//!
//! Results go to standard output by [`print()`], errors with their causes to standard error by [`error()`], remarks there by [`say`],
//! progress as a [`bar`]. All of them make what they are given [`printable`], so that no text of a file, such as the name of a tensor, can
//! steer the terminal; only reports with colours and JSON, whose names are printable already, go through [`print_prepared`].

use std::io::{self, ErrorKind, IsTerminal, Write};
use std::path::Path;

use anyhow::{Context, Result};
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

pub use super::escape::{printable, printable_lines};

/// Prints lines to standard output; a reader that has gone away is no error.
pub fn print(text: &str) -> Result<()> {
    print_prepared(&printable_lines(text))
}

/// As [`print()`], for text in which what comes from files is [`printable`] already.
pub fn print_prepared(text: &str) -> Result<()> {
    match io::stdout().lock().write_all(text.as_bytes()).and_then(|()| io::stdout().flush()) {
        Err(error) if error.kind() == ErrorKind::BrokenPipe => Ok(()),
        done => done.context("cannot write to standard output"),
    }
}

/// Whether to colour standard output: it is a terminal, and `NO_COLOR` is not set.
pub fn colour() -> bool {
    io::stdout().is_terminal() && std::env::var_os("NO_COLOR").is_none()
}

/// Columns that a table on standard output should fit: those of the terminal, or of `COLUMNS`; `None` in a file or pipe.
pub fn width() -> Option<usize> {
    let said = std::env::var("COLUMNS").ok().and_then(|columns| columns.parse().ok());
    let terminal = || io::stdout().is_terminal().then(|| usize::from(console::Term::stdout().size().1));
    said.or_else(terminal).filter(|&columns| columns >= 40)
}

/// Prints an error with its causes.
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
    say(&format!("error: {message}"));
}

/// Prints lines to standard error; where that is closed there is nobody to tell.
pub fn say(text: &str) {
    let _ = writeln!(io::stderr(), "{}", printable_lines(text));
}

/// A path as one word of a shell's command line. What [`printable`] would spell out is in an escape of bash and zsh.
pub fn shell_word(path: &Path) -> String {
    let bytes = path.as_os_str().as_encoded_bytes();
    let plain = |byte: &u8| byte.is_ascii_alphanumeric() || b"_-./=:,+@%".contains(byte);
    // Not an option.
    let start = if bytes.first() == Some(&b'-') { "./" } else { "" };
    let word = match path.to_str() {
        Some(text) if !bytes.is_empty() && bytes.iter().all(plain) => text.to_string(),
        Some(text) if printable(text) == text => format!("'{}'", text.replace('\'', r"'\''")),
        _ => {
            let letter = |byte: &u8| match byte {
                b' '..=b'~' if !b"'\\".contains(byte) => char::from(*byte).to_string(),
                _ => format!("\\x{byte:02x}"),
            };
            format!("$'{}'", bytes.iter().map(letter).collect::<String>())
        }
    };
    format!("{start}{word}")
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

#[cfg(all(test, unix))]
mod tests {
    use std::ffi::OsStr;
    use std::os::unix::ffi::OsStrExt;
    use std::process::Command;

    use super::*;

    #[test]
    fn a_shell_reads_a_word_as_the_path_it_was_made_of() {
        let names: [&[u8]; 8] = [
            b"runs/so2-1",
            b"my runs",
            b"it's; rm -rf $HOME `x`",
            b"-x",
            b"\x1b[31m\\'",
            "λ 層".as_bytes(),
            b"\xff\n",
            b"",
        ];
        for name in names {
            let word = shell_word(Path::new(OsStr::from_bytes(name)));
            assert_eq!(printable(&word), word);
            let said = Command::new("bash").args(["-c", &format!("printf %s {word}")]).output().unwrap().stdout;
            assert_eq!(said.strip_prefix(b"./").unwrap_or(&said), name, "{word}");
        }
        assert_eq!(shell_word(Path::new("runs/so2/20260101-abc")), "runs/so2/20260101-abc");
    }
}
