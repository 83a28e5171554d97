//! A field on a grid, cell by cell, in few colours so that the file stays small.

use std::fmt::Write as _;

use super::heat_map::Shading;
use super::svg::{Frame, Svg, number};
use super::{Colour, Drawing};

/// Cells `[rows, columns]`, the first row at the bottom.
#[derive(Debug, Clone)]
pub struct Raster {
    columns: usize,
    values: Vec<f64>,
    shading: Shading,
}

impl Raster {
    /// Row-major values from the bottom up; panics unless they fill whole rows.
    pub fn new(columns: usize, values: Vec<f64>, shading: Shading) -> Self {
        assert!(columns > 0 && !values.is_empty() && values.len().is_multiple_of(columns), "{} values", values.len());
        Self { columns, values, shading }
    }
}

impl Drawing for Raster {
    fn draw(&self, svg: &mut Svg, frame: Frame, _left: bool, _bottom: bool) {
        let rows = self.values.len() / self.columns;
        // Neighbours of one colour in a row are one stroke; all strokes of a colour one path.
        let mut strokes: Vec<(Colour, String)> = Vec::new();
        for (row, cells) in self.values.chunks(self.columns).rev().enumerate() {
            let colours: Vec<Colour> = cells.iter().map(|&value| self.shading.coarse(value)).collect();
            let mut column = 0;
            for run in colours.chunk_by(|a, b| a == b) {
                let index = strokes.iter().position(|(colour, _)| *colour == run[0]).unwrap_or_else(|| {
                    strokes.push((run[0], String::new()));
                    strokes.len() - 1
                });
                // Writing to a string cannot fail.
                let _ = write!(strokes[index].1, "M{column} {row}.5h{}", run.len());
                column += run.len();
            }
        }
        let (x, y) = (number(frame.x), number(frame.y));
        let scale = (frame.width / self.columns as f64, frame.height / rows as f64);
        for (colour, path) in strokes {
            // A little wider than a cell, so that no seam shows.
            let place = format!("transform=\"translate({x} {y}) scale({:.4} {:.4})\"", scale.0, scale.1);
            svg.path(&path, &format!("stroke=\"{colour}\" stroke-width=\"1.04\" {place}"));
        }
        svg.rectangle(frame, "none", " stroke=\"#444444\" stroke-width=\"0.6\"");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn drawn(values: Vec<f64>) -> String {
        super::super::drawn(&Raster::new(2, values, Shading::Linear { high: 1.0 }), [1.0, 2.0, 4.0, 4.0])
    }

    #[test]
    fn the_first_row_is_at_the_bottom_and_equal_neighbours_are_one_stroke() {
        let text = drawn(vec![1.0, 1.0, 0.0, 1.0]);
        let deep = Shading::Linear { high: 1.0 }.colour(1.0);
        assert!(text.contains(&format!("d=\"M1 0.5h1M0 1.5h2\" stroke=\"{deep}\"")), "{text}");
        assert!(text.contains("translate(1 2) scale(2.0000 2.0000)"), "{text}");
    }

    #[test]
    fn a_smooth_field_has_few_colours() {
        let text = drawn((0..2000).map(|n| f64::from(n) / 2000.0).collect());
        assert!(text.matches("<path").count() <= 33);
    }
}
