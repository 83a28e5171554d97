//! A table that prints on a terminal and on a page.

use std::fmt;

use super::cell::{Cell, Tone};
use super::escape::escape;

/// Rows of cells under a head.
#[derive(Debug, Clone, PartialEq)]
pub struct Table {
    head: Vec<Cell>,
    rows: Vec<Vec<Cell>>,
    caption: String,
    /// Number of left-aligned columns, if set by [`Table::words`].
    words: Option<usize>,
    sortable: bool,
    /// Columns that go first where a terminal is narrow, the first to go first.
    spare: Vec<usize>,
}

impl Table {
    /// A table with these columns and no row.
    pub fn new<T: Into<Cell>>(head: impl IntoIterator<Item = T>) -> Self {
        let head = head.into_iter().map(Into::into).collect();
        Self { head, rows: Vec::new(), caption: String::new(), words: None, sortable: false, spare: Vec::new() }
    }

    /// A line above the table.
    pub fn caption(&mut self, caption: impl Into<String>) -> &mut Self {
        self.caption = caption.into();
        self
    }

    /// Aligns the first `columns` columns to the left and all others to the right. Otherwise columns of numbers alone are right-aligned.
    pub fn left_columns(&mut self, columns: usize) -> &mut Self {
        self.words = Some(columns);
        self
    }

    /// On a page, a click on a head sorts the table.
    pub(crate) fn sortable(&mut self) -> &mut Self {
        self.sortable = true;
        self
    }

    /// Columns that may be left out on a narrow terminal, the first to go first.
    pub(crate) fn spare(&mut self, columns: impl IntoIterator<Item = usize>) -> &mut Self {
        self.spare = columns.into_iter().collect();
        self
    }

    /// The table within so many columns of a terminal: without its spare columns, as many as must go, and with the words of its first column
    /// cut in the middle.
    pub(crate) fn fitted(&self, width: Option<usize>) -> Self {
        /// Letters of the first column that stay.
        const LEAST: usize = 16;
        let (mut table, mut spare) = (self.clone(), self.spare.clone());
        let Some(width) = width else { return table };
        while table.width() > width && !spare.is_empty() {
            let gone = spare.remove(0);
            table.head.remove(gone);
            table.rows.iter_mut().for_each(|row| drop(row.remove(gone)));
            spare.iter_mut().filter(|column| **column > gone).for_each(|column| *column -= 1);
            table.words = table.words.map(|count| if gone < count { count - 1 } else { count });
        }
        let over = table.width().saturating_sub(width);
        let first = table.rows.iter().map(|row| row[0].text.chars().count()).max().unwrap_or(0);
        let most = first.saturating_sub(over).max(LEAST);
        table.rows.iter_mut().for_each(|row| row[0].shorten(most));
        table
    }

    /// Columns of a terminal that the text takes.
    fn width(&self) -> usize {
        let lines = || std::iter::once(&self.head).chain(&self.rows);
        let column = |column: usize| lines().map(|line| line[column].text.chars().count()).max().unwrap_or(0);
        (0..self.head.len()).map(column).sum::<usize>() + 2 * self.head.len().saturating_sub(1)
    }

    /// Adds a row; panics unless it has a cell for each column.
    pub fn row<T: Into<Cell>>(&mut self, cells: impl IntoIterator<Item = T>) -> &mut Self {
        let cells: Vec<Cell> = cells.into_iter().map(Into::into).collect();
        assert_eq!(cells.len(), self.head.len(), "a row has a cell for each column");
        self.rows.push(cells);
        self
    }

    pub(super) fn is_sortable(&self) -> bool {
        self.sortable
    }

    /// Whether a column is right-aligned: by [`Table::words`], else if its filled cells begin as numbers do.
    fn is_numeric(&self, column: usize) -> bool {
        if let Some(words) = self.words {
            return column >= words;
        }
        let number =
            |cell: &str| cell.trim_start_matches(['−', '-', '+', '.', '~']).starts_with(|c: char| c.is_ascii_digit());
        let mut filled =
            self.rows.iter().map(|row| row[column].text.as_str()).filter(|cell| !matches!(*cell, "" | "–" | "NaN"));
        let first = filled.next().is_some_and(number);
        first && filled.all(number)
    }

    /// Text for a terminal: aligned columns, two spaces apart.
    pub fn text(&self, colour: bool) -> String {
        let head: Vec<Cell> = self.head.iter().map(|cell| cell.clone().toned(Tone::Strong)).collect();
        let lines = || std::iter::once(&head).chain(&self.rows);
        let width = |column: usize| lines().map(|line| line[column].text.chars().count()).max().unwrap_or(0);
        let columns: Vec<(usize, bool)> = (0..self.head.len()).map(|c| (width(c), self.is_numeric(c))).collect();
        let caption = if self.caption.is_empty() { String::new() } else { format!("{}\n", self.caption) };
        lines().fold(caption, |text, line| {
            let cells = line.iter().zip(&columns).map(|(cell, &(width, right))| cell.padded(width, right, colour));
            text + cells.collect::<Vec<_>>().join("  ").trim_end() + "\n"
        })
    }

    pub(super) fn html(&self) -> String {
        let numeric: Vec<bool> = (0..self.head.len()).map(|column| self.is_numeric(column)).collect();
        let line = |tag: &str, cells: &[Cell]| -> String {
            let cells = cells.iter().zip(&numeric).map(|(cell, &is_number)| cell.html(tag, is_number));
            format!("<tr>{}</tr>\n", cells.collect::<String>())
        };
        let caption = match self.caption.as_str() {
            "" => String::new(),
            caption => format!("<caption>{}</caption>\n", escape(caption)),
        };
        let rows: String = self.rows.iter().map(|row| line("td", row)).collect();
        let head = line("th", &self.head);
        let class = if self.sortable { " class=\"sortable\"" } else { "" };
        format!(
            "<div class=\"wide\"><table{class}>\n{caption}<thead>{head}</thead><tbody>\n{rows}</tbody></table></div>\n"
        )
    }
}

impl fmt::Display for Table {
    /// [`Table::text`] without colour.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text(false))
    }
}

#[cfg(test)]
mod tests {
    use super::super::cell::MarkedBar;
    use super::*;

    #[test]
    fn numbers_are_aligned_to_the_right_and_words_to_the_left() {
        let mut table = Table::new(["form", "λ_⊥", "note"]);
        table.row(["plain", "0.001", "a"]).row(["squared", "10", ""]).row(["p", "–", "b"]);
        let expected = "form       λ_⊥  note\nplain    0.001  a\nsquared     10\np            –  b\n";
        assert_eq!(table.to_string(), expected);
    }

    #[test]
    fn columns_can_be_aligned_whatever_they_hold_and_cells_coloured() {
        let mut table = Table::new(["shape", "energy"]);
        table.left_columns(1).row([Cell::from("8x3"), Cell::from("fixed")]);
        table.row([Cell::from("8x8x3"), Cell::from("0.5").toned(Tone::Good)]);
        assert_eq!(table.to_string(), "shape  energy\n8x3     fixed\n8x8x3     0.5\n");
        let coloured = table.text(true);
        assert!(coloured.contains("\u{1b}[1mshape\u{1b}[0m") && coloured.ends_with("   \u{1b}[32m0.5\u{1b}[0m\n"));
    }

    #[test]
    fn a_narrow_terminal_gets_fewer_columns_and_shorter_names() {
        let mut table = Table::new(["layer", "shape", "energy", "dim"]);
        table.left_columns(2).spare([3, 1]);
        table.row(["module.layer1.block0.conv1.weight", "8x8x3x3", "0.5", "0.25"]).row(["b", "4", "1", "1"]);
        let lines =
            |width| -> Vec<String> { table.fitted(Some(width)).to_string().lines().map(str::to_string).collect() };
        assert_eq!(table.fitted(None), table);
        assert!(lines(60)[0].ends_with("shape    energy   dim"), "{:?}", lines(60));
        assert!(lines(52)[0].ends_with("shape    energy"), "{:?}", lines(52));
        assert_eq!(lines(28)[1], "module.la…nv1.weight     0.5");
        assert!(lines(28).iter().all(|line| line.chars().count() <= 29));
    }

    #[test]
    fn cells_are_escaped_on_pages_and_terminals() {
        let mut table = Table::new(["<i>"]);
        table.row(["a & b\u{1b}\n"]).caption("x < y");
        let html = table.html();
        assert!(html.contains("<th>&lt;i&gt;</th>") && html.contains("<td>a &amp; b\\u{1b}\\n</td>"), "{html}");
        assert!(html.contains("<caption>x &lt; y</caption>"), "{html}");
        assert_eq!(table.to_string().lines().last(), Some("a & b\\u{1b}\\n"));
    }

    #[test]
    fn a_cell_has_a_sort_key_and_a_bar() {
        let mut table = Table::new(["energy"]);
        let bar = MarkedBar { share: 0.25, mark: 0.5, class: "dim", title: "<".into() };
        table.left_columns(0).sortable().row([Cell::from("0.2500").sorted_by(0.25).with_bar(bar)]);
        let html = table.html();
        assert!(html.contains("<table class=\"sortable\">"), "{html}");
        assert!(html.contains("<td class=\"number\" data-key=\"0.25\">0.2500<div class=\"bar\">"), "{html}");
        assert!(html.contains("width:25.00%") && html.contains("title=\"&lt;\" style=\"left:50.00%\""), "{html}");
    }
}
