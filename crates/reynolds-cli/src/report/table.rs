//! Aligned columns.

use reynolds_report::terminal::printable;

/// A cell and its colour, an ANSI number.
pub(super) struct Cell {
    text: String,
    colour: Option<u8>,
}

impl<T: Into<String>> From<T> for Cell {
    fn from(text: T) -> Self {
        Self { text: printable(&text.into()), colour: None }
    }
}

impl Cell {
    pub(super) fn coloured(text: impl Into<String>, colour: u8) -> Self {
        Self { text: printable(&text.into()), colour: Some(colour) }
    }
}

/// Lines of cells under a head; the first `left` columns are aligned to the left, the others to the right.
pub(super) fn table(head: &[&str], left: usize, rows: Vec<Vec<Cell>>, colour: bool) -> String {
    let head: Vec<Cell> = head.iter().map(|&text| Cell::coloured(text, 1)).collect();
    let lines: Vec<Vec<Cell>> = std::iter::once(head).chain(rows).collect();
    let columns = lines[0].len();
    let width = |column: usize| lines.iter().map(|line| line[column].text.chars().count()).max().unwrap_or(0);
    let widths: Vec<usize> = (0..columns).map(width).collect();
    let mut text = String::new();
    for line in &lines {
        let mut printed = String::new();
        for (column, (cell, &width)) in line.iter().zip(&widths).enumerate() {
            let space = " ".repeat(width - cell.text.chars().count());
            let inside = match cell.colour {
                Some(number) if colour => format!("\u{1b}[{number}m{}\u{1b}[0m", cell.text),
                _ => cell.text.clone(),
            };
            printed += &if column < left { format!("{inside}{space}  ") } else { format!("{space}{inside}  ") };
        }
        text += printed.trim_end();
        text.push('\n');
    }
    text
}
