//! Text made harmless for a page.

/// The text as HTML shows it: markup spelt out, and so are characters that control a terminal or turn the direction of writing. Line ends
/// and tabs stay.
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
            '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}' => {
                out.extend(c.escape_default())
            }
            c if c.is_control() => out.extend(c.escape_default()),
            c => out.push(c),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::escape;

    #[test]
    fn markup_and_controls_are_spelt_out_and_letters_stay() {
        assert_eq!(escape("<b a='1'>\"&\u{1b}\u{202e}"), "&lt;b a=&#39;1&#39;&gt;&quot;&amp;\\u{1b}\\u{202e}");
        assert_eq!(escape("λ_⊥ = 0,1\n\t層"), "λ_⊥ = 0,1\n\t層");
    }
}
