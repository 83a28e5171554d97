//! A matrix as coloured cells, with its numbers where there is room.

use super::colour::{Colour, diverging, sequential};
use super::svg::{Anchor, Frame, Svg};
use super::{Drawing, LETTER, TICK_SIZE};

/// Number of colours on each side of zero in a coarse drawing.
const COARSE: f64 = 32.0;

/// How a value becomes a colour.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Shading {
    /// Red for −scale, white for 0, blue for scale.
    Diverging {
        /// The value of the deepest colour.
        scale: f64,
    },
    /// White for 0 or less, deep blue for `high` or more.
    Linear {
        /// The value of the deepest colour.
        high: f64,
    },
    /// White for `low` or less, deep blue for `high` or more, by the logarithm.
    Logarithmic {
        /// The value of the lightest colour.
        low: f64,
        /// The value of the deepest colour.
        high: f64,
    },
}

impl Shading {
    /// The colour of a value, one of about thirty where the scale is linear.
    pub(super) fn coarse(self, value: f64) -> Colour {
        let rounded = |share: f64| (share.clamp(-1.0, 1.0) * COARSE).round() / COARSE;
        match self {
            Self::Diverging { scale } => diverging(rounded(value / scale)),
            Self::Linear { high } => sequential(rounded(value / high)),
            Self::Logarithmic { .. } => self.colour(value),
        }
    }

    /// The colour of a value.
    pub(super) fn colour(self, value: f64) -> Colour {
        match self {
            Self::Diverging { scale } => diverging(value / scale),
            Self::Linear { high } => sequential(value / high),
            Self::Logarithmic { low, high } => sequential((value.max(low) / low).ln() / (high / low).ln()),
        }
    }
}

/// Cells `[rows, columns]` from the top, with lines between groups of rows and columns.
#[derive(Debug, Clone)]
pub struct HeatMap {
    columns: usize,
    values: Vec<f64>,
    shading: Shading,
    numbers: Vec<String>,
    /// Of rows and columns.
    labels: [Vec<String>; 2],
    turned: bool,
    groups: [Vec<usize>; 2],
}

impl HeatMap {
    /// Row-major values; panics unless they fill whole rows.
    pub fn new(columns: usize, values: Vec<f64>, shading: Shading) -> Self {
        assert!(columns > 0 && !values.is_empty() && values.len().is_multiple_of(columns), "{} values", values.len());
        Self {
            columns,
            values,
            shading,
            numbers: Vec::new(),
            labels: Default::default(),
            turned: false,
            groups: Default::default(),
        }
    }

    /// Writes a text into every cell; panics unless there is one for each value.
    pub fn numbers(mut self, numbers: Vec<String>) -> Self {
        assert_eq!(numbers.len(), self.values.len(), "a text for each value");
        self.numbers = numbers;
        self
    }

    /// Names rows and columns.
    pub fn labels(mut self, rows: Vec<String>, columns: Vec<String>) -> Self {
        self.labels = [rows, columns];
        self
    }

    /// Writes the names of columns upwards, for long names.
    pub fn turned(mut self, turned: bool) -> Self {
        self.turned = turned;
        self
    }

    /// Draws lines after these numbers of rows and columns.
    pub fn groups(mut self, rows: Vec<usize>, columns: Vec<usize>) -> Self {
        self.groups = [rows, columns];
        self
    }

    fn rows(&self) -> usize {
        self.values.len() / self.columns
    }
}

impl Drawing for HeatMap {
    fn draw(&self, svg: &mut Svg, frame: Frame, _left: bool, _bottom: bool) {
        let (width, height) = (frame.width / self.columns as f64, frame.height / self.rows() as f64);
        let longest = self.numbers.iter().map(|text| text.chars().count()).max().unwrap_or(0).max(3) as f64;
        let size = (0.9 * width / (LETTER * longest)).min(0.4 * height).min(TICK_SIZE + 2.0);
        for (index, &value) in self.values.iter().enumerate() {
            let (row, column) = (index / self.columns, index % self.columns);
            let cell = Frame { x: frame.x + column as f64 * width, y: frame.y + row as f64 * height, width, height };
            let colour = self.shading.colour(value);
            let edge = if size > 5.0 { "1" } else { "0.25" };
            svg.rectangle(cell, &colour.to_string(), &format!(" stroke=\"#ffffff\" stroke-width=\"{edge}\""));
            if let Some(text) = self.numbers.get(index) {
                let at = [cell.x + width / 2.0, cell.y + height / 2.0 + 0.35 * size];
                svg.styled_text(at, text, size, Anchor::Middle, &format!(" fill=\"{}\"", colour.contrasting()));
            }
        }
        let [row_groups, column_groups] = &self.groups;
        for &row in row_groups {
            let y = frame.y + row as f64 * height;
            svg.line([frame.x, y], [frame.x + frame.width, y], "#444444", 0.7);
        }
        for &column in column_groups {
            let x = frame.x + column as f64 * width;
            svg.line([x, frame.y], [x, frame.y + frame.height], "#444444", 0.7);
        }
        svg.rectangle(frame, "none", " stroke=\"#444444\" stroke-width=\"0.8\"");
        let [row_labels, column_labels] = &self.labels;
        for (row, label) in row_labels.iter().enumerate().filter(|(_, label)| !label.is_empty()) {
            let y = frame.y + (row as f64 + 0.5) * height + 0.35 * TICK_SIZE;
            svg.text([frame.x - 5.0, y], label, TICK_SIZE, Anchor::End);
        }
        for (column, label) in column_labels.iter().enumerate().filter(|(_, label)| !label.is_empty()) {
            let (x, base) = (frame.x + (column as f64 + 0.5) * width, frame.y + frame.height);
            if self.turned {
                svg.turned_text([x + 0.35 * TICK_SIZE, base + 4.0], label, TICK_SIZE, Anchor::End);
            } else {
                svg.text([x, base + 4.0 + TICK_SIZE], label, TICK_SIZE, Anchor::Middle);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::drawn;
    use super::*;

    #[test]
    fn every_cell_has_its_colour_and_its_number() {
        let shading = Shading::Logarithmic { low: 0.01, high: 1.0 };
        let map = HeatMap::new(2, vec![0.001, 0.01, 0.1, 1.0], shading)
            .numbers(["a", "b", "c", "d"].map(String::from).to_vec());
        let text = drawn(&map, [0.0, 0.0, 100.0, 100.0]);
        assert_eq!(shading.colour(0.001), shading.colour(0.01));
        assert_eq!(shading.colour(0.1), sequential(0.5));
        for letter in ["a", "b", "c", "d"] {
            assert!(text.contains(&format!(">{letter}</text>")));
        }
    }
}
