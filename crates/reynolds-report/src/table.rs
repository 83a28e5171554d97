//! A table that prints on a terminal and on a page.

use std::fmt;

use super::escape::escape;

/// Rows of cells under a head.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Table {
    head: Vec<String>,
    rows: Vec<Vec<String>>,
    caption: String,
}

impl Table {
    /// A table with these columns and no row.
    pub fn new<T: Into<String>>(head: impl IntoIterator<Item = T>) -> Self {
        Self { head: head.into_iter().map(Into::into).collect(), rows: Vec::new(), caption: String::new() }
    }

    /// What is written above it.
    pub fn caption(&mut self, caption: impl Into<String>) -> &mut Self {
        self.caption = caption.into();
        self
    }

    /// Adds a row.
    ///
    /// # Panics
    /// If it has another number of cells than the head.
    pub fn row<T: Into<String>>(&mut self, cells: impl IntoIterator<Item = T>) -> &mut Self {
        let cells: Vec<String> = cells.into_iter().map(Into::into).collect();
        assert_eq!(cells.len(), self.head.len(), "a row has a cell for each column");
        self.rows.push(cells);
        self
    }

    /// Whether a column is of numbers, and so aligned to the right: its filled cells begin as numbers do.
    fn is_numeric(&self, column: usize) -> bool {
        let number =
            |cell: &str| cell.trim_start_matches(['−', '-', '+', '.', '~']).starts_with(|c: char| c.is_ascii_digit());
        let mut filled =
            self.rows.iter().map(|row| row[column].as_str()).filter(|cell| !matches!(*cell, "" | "–" | "NaN"));
        let first = filled.next().is_some_and(number);
        first && filled.all(number)
    }

    pub(super) fn html(&self) -> String {
        let class = |column| if self.is_numeric(column) { " class=\"number\"" } else { "" };
        let classes: Vec<&str> = (0..self.head.len()).map(class).collect();
        let line = |tag: &str, cells: &[String]| -> String {
            let cells =
                cells.iter().zip(&classes).map(|(cell, class)| format!("<{tag}{class}>{}</{tag}>", escape(cell)));
            format!("<tr>{}</tr>\n", cells.collect::<String>())
        };
        let caption = match self.caption.as_str() {
            "" => String::new(),
            caption => format!("<caption>{}</caption>\n", escape(caption)),
        };
        let rows: String = self.rows.iter().map(|row| line("td", row)).collect();
        let head = line("th", &self.head);
        format!("<div class=\"wide\"><table>\n{caption}<thead>{head}</thead><tbody>\n{rows}</tbody></table></div>\n")
    }
}

impl fmt::Display for Table {
    /// Aligned columns, two spaces apart, each line ended.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let lines = || std::iter::once(&self.head).chain(&self.rows);
        let width = |column: usize| lines().map(|line| line[column].chars().count()).max().unwrap_or(0);
        let columns: Vec<(usize, bool)> = (0..self.head.len()).map(|c| (width(c), self.is_numeric(c))).collect();
        if !self.caption.is_empty() {
            writeln!(f, "{}", self.caption)?;
        }
        for line in lines() {
            let cells = line.iter().zip(&columns).map(|(cell, &(width, numeric))| {
                if numeric { format!("{cell:>width$}") } else { format!("{cell:<width$}") }
            });
            writeln!(f, "{}", cells.collect::<Vec<_>>().join("  ").trim_end())?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::Table;

    #[test]
    fn numbers_are_aligned_to_the_right_and_words_to_the_left() {
        let mut table = Table::new(["form", "λ_⊥", "note"]);
        table.row(["plain", "0.001", "a"]).row(["squared", "10", ""]).row(["p", "–", "b"]);
        let expected = "form       λ_⊥  note\nplain    0.001  a\nsquared     10\np            –  b\n";
        assert_eq!(table.to_string(), expected);
    }

    #[test]
    fn cells_are_escaped_on_the_page() {
        let mut table = Table::new(["<i>"]);
        table.row(["a & b"]).caption("x < y");
        let html = table.html();
        assert!(html.contains("<th>&lt;i&gt;</th>") && html.contains("<td>a &amp; b</td>"), "{html}");
        assert!(html.contains("<caption>x &lt; y</caption>"), "{html}");
    }
}
