//! Cells of a table.

use super::escape::{escape, printable};

/// What a cell, or a mark on a bar, is coloured for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Tone {
    /// Green.
    Good,
    /// Yellow.
    Fair,
    /// Red.
    Bad,
    /// Bold.
    Strong,
}

impl Tone {
    /// The number that ANSI terminals know it by.
    fn ansi(self) -> u8 {
        match self {
            Self::Good => 32,
            Self::Fair => 33,
            Self::Bad => 31,
            Self::Strong => 1,
        }
    }

    /// Its class in the style sheet.
    fn class(self) -> &'static str {
        match self {
            Self::Good => "good",
            Self::Fair => "fair",
            Self::Bad => "bad",
            Self::Strong => "strong",
        }
    }
}

/// A bar from 0 to 1 with a mark on it; pages alone show it.
#[derive(Debug, Clone, PartialEq)]
pub struct MarkedBar {
    /// The length of the bar.
    pub share: f64,
    /// Where the mark stands.
    pub mark: f64,
    /// The class of the mark in the style sheet: `signs` or `dim`.
    pub class: &'static str,
    /// What the mark is, shown where the pointer rests on it.
    pub title: String,
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
    /// Colours it.
    pub fn toned(mut self, tone: Tone) -> Self {
        self.tone = Some(tone);
        self
    }

    /// Sorts it by this number instead of its text.
    pub fn sorted_by(mut self, key: f64) -> Self {
        self.key = Some(key);
        self
    }

    /// Adds a bar, shown on pages.
    pub fn with_bar(mut self, bar: MarkedBar) -> Self {
        self.bar = Some(bar);
        self
    }

    /// The text in a field of this many characters, coloured for a terminal.
    pub(super) fn padded(&self, width: usize, to_the_right: bool, colour: bool) -> String {
        let space = " ".repeat(width.saturating_sub(self.text.chars().count()));
        let text = match self.tone.filter(|_| colour) {
            Some(tone) => format!("\u{1b}[{}m{}\u{1b}[0m", tone.ansi(), self.text),
            None => self.text.clone(),
        };
        if to_the_right { space + &text } else { text + &space }
    }

    /// The cell as an element of a page.
    pub(super) fn html(&self, tag: &str, is_number: bool) -> String {
        let classes = [is_number.then_some("number"), self.tone.map(Tone::class)];
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
