//! Text on the streams of a program.

use std::io::{self, ErrorKind, Write};

use anyhow::{Context, Result};

/// Prints to standard output; a reader that has gone away is no error.
pub fn print(text: &str) -> Result<()> {
    match io::stdout().lock().write_all(text.as_bytes()).and_then(|()| io::stdout().flush()) {
        Err(error) if error.kind() == ErrorKind::BrokenPipe => Ok(()),
        done => done.context("cannot write to standard output"),
    }
}

/// The text with what would move the cursor, colour the terminal or turn the direction of writing spelt out as `\u{1b}`: names come from
/// files that anybody may have written.
pub fn printable(text: &str) -> String {
    let spell = |c: char| -> String {
        let turns = matches!(c, '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
        if c.is_control() || turns { c.escape_default().to_string() } else { c.to_string() }
    };
    text.chars().map(spell).collect()
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

#[cfg(test)]
mod tests {
    use super::printable;

    #[test]
    fn controls_are_spelt_out_and_letters_stay() {
        assert_eq!(printable("a\u{1b}[31m\n\r\tb"), "a\\u{1b}[31m\\n\\r\\tb");
        assert_eq!(printable("x\u{202e}y\u{9b}"), "x\\u{202e}y\\u{9b}");
        assert_eq!(printable("‖W‖² Schicht_ä 層"), "‖W‖² Schicht_ä 層");
    }
}
