//! Cells of a table.

use super::escape::{escape, printable};

/// What a cell is coloured for: green, yellow, red, bold.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Tone {
    Good,
    Fair,
    Bad,
    Strong,
}

impl Tone {
    /// The number that ANSI terminals know it by, and its class in the style sheet.
    fn codes(self) -> (u8, &'static str) {
        match self {
            Self::Good => (32, "good"),
            Self::Fair => (33, "fair"),
            Self::Bad => (31, "bad"),
            Self::Strong => (1, "strong"),
        }
    }
}

/// A bar from 0 to 1 with a mark on it; pages alone show it.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct MarkedBar {
    pub(crate) share: f64,
    pub(crate) mark: f64,
    /// Of the mark in the style sheet: `signs` or `dim`.
    pub(crate) class: &'static str,
    /// What the mark is, shown where the pointer rests on it.
    pub(crate) title: String,
}

/// The text of a cell with its colour, the number it is sorted by and a bar.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Cell {
    pub(super) text: String,
    tone: Option<Tone>,
    key: Option<f64>,
    bar: Option<MarkedBar>,
}

impl<T: Into<String>> From<T> for Cell {
    fn from(text: T) -> Self {
        Self { text: printable(&text.into()), ..Self::default() }
    }
}

impl Cell {
    /// At most so many letters, the middle of longer texts left out.
    pub(super) fn shorten(&mut self, most: usize) {
        let letters: Vec<char> = self.text.chars().collect();
        if letters.len() > most && most > 2 {
            let front = most.div_ceil(2) - 1;
            let (begin, end) = (&letters[..front], &letters[letters.len() - (most - 1 - front)..]);
            self.text = begin.iter().chain(&['…']).chain(end).collect();
        }
    }

    pub(crate) fn toned(mut self, tone: Tone) -> Self {
        self.tone = Some(tone);
        self
    }

    /// Sorts it by this number instead of its text.
    pub(crate) fn sorted_by(mut self, key: f64) -> Self {
        self.key = Some(key);
        self
    }

    pub(crate) fn with_bar(mut self, bar: MarkedBar) -> Self {
        self.bar = Some(bar);
        self
    }

    /// The text in a field of this many characters, coloured for a terminal.
    pub(super) fn padded(&self, width: usize, to_the_right: bool, colour: bool) -> String {
        let space = " ".repeat(width.saturating_sub(self.text.chars().count()));
        let text = match self.tone.filter(|_| colour) {
            Some(tone) => format!("\u{1b}[{}m{}\u{1b}[0m", tone.codes().0, self.text),
            None => self.text.clone(),
        };
        if to_the_right { space + &text } else { text + &space }
    }

    /// The cell as an element of a page.
    pub(super) fn html(&self, tag: &str, is_number: bool) -> String {
        let classes = [is_number.then_some("number"), self.tone.map(|tone| tone.codes().1)];
        let classes: Vec<&str> = classes.into_iter().flatten().collect();
        let class = if classes.is_empty() { String::new() } else { format!(" class=\"{}\"", classes.join(" ")) };
        let key = self.key.map(|key| format!(" data-key=\"{key}\"")).unwrap_or_default();
        let bar = self.bar.as_ref().map(MarkedBar::html).unwrap_or_default();
        format!("<{tag}{class}{key}>{}{bar}</{tag}>", escape(&self.text))
    }
}

impl MarkedBar {
    fn html(&self) -> String {
        let [share, mark] = [self.share, self.mark].map(|value| 100.0 * value);
        format!(
            "<div class=\"bar\"><i style=\"width:{share:.2}%\"></i><b class=\"{}\" title=\"{}\" style=\"left:{mark:.2}%\"></b></div>",
            self.class,
            escape(&self.title)
        )
    }
}
