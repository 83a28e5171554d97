//! Text made harmless: names come from files that anybody may have written.

/// Whether it would move the cursor, colour the terminal or turn the direction of writing.
fn steers(c: char) -> bool {
    c.is_control() || matches!(c, '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

/// The text on one line of a terminal: what would move the cursor, colour the terminal or turn the direction of writing is spelt out as
/// `\u{1b}`.
pub fn printable(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        if steers(c) { out.extend(c.escape_default()) } else { out.push(c) }
    }
    out
}

/// [`printable`] for each line of a text.
pub fn printable_lines(text: &str) -> String {
    text.split('\n').map(printable).collect::<Vec<_>>().join("\n")
}

/// JSON in which strings spell out what [`printable`] does.
pub(crate) fn printable_json(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        // JSON itself has spelt out the line ends within strings.
        if steers(c) && c != '\n' { out += &format!("\\u{:04x}", u32::from(c)) } else { out.push(c) }
    }
    out
}

/// The text as HTML shows it: markup spelt out, and what [`printable`] spells out, except that line ends and tabs stay.
pub(crate) fn escape(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            '\n' | '\t' => out.push(c),
            c if steers(c) => out.extend(c.escape_default()),
            c => out.push(c),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::{escape, printable, printable_json, printable_lines};

    #[test]
    fn markup_and_controls_are_spelt_out_and_letters_stay() {
        assert_eq!(escape("<b a='1'>\"&\u{1b}\u{202e}"), "&lt;b a=&#39;1&#39;&gt;&quot;&amp;\\u{1b}\\u{202e}");
        assert_eq!(escape("λ_⊥ = 0,1\n\t層"), "λ_⊥ = 0,1\n\t層");
    }

    #[test]
    fn a_line_of_a_terminal_stays_one_line() {
        assert_eq!(printable("a\u{1b}[31m\n\r\tb"), "a\\u{1b}[31m\\n\\r\\tb");
        assert_eq!(printable("x\u{202e}y\u{9b}"), "x\\u{202e}y\\u{9b}");
        assert_eq!(printable("‖W‖² Schicht_ä 層"), "‖W‖² Schicht_ä 層");
        assert_eq!(printable_lines("a\u{1b}\n\u{202e}b\n"), "a\\u{1b}\n\\u{202e}b\n");
    }

    #[test]
    fn json_stays_the_same_json() {
        let value = serde_json::json!({ "a\u{202e}\u{9b}\u{1b}\n\"λ": [1, "\u{7f}"] });
        let text = printable_json(&serde_json::to_string_pretty(&value).unwrap());
        assert!(text.lines().all(|line| printable(line) == line), "{text}");
        assert_eq!(serde_json::from_str::<serde_json::Value>(&text).unwrap(), value);
    }
}
