//! Kernels beside their projection.

use std::fmt::Write;

use crate::escape::escape;
use crate::figure::diverging;

/// One channel pair of a kernel before and after P, drawn in one scale.
#[derive(Debug, Clone)]
pub struct KernelPicture {
    /// Group and fields of the typing that P is of.
    pub typing: [String; 2],
    /// The layer.
    pub name: String,
    /// Output and input channel.
    pub channels: [usize; 2],
    /// Rows and columns.
    pub sides: [usize; 2],
    /// W, row by row.
    pub before: Vec<f64>,
    /// P(W), row by row.
    pub after: Vec<f64>,
}

/// Side of a drawing.
const SIDE: f64 = 72.0;

impl KernelPicture {
    /// W, P(W) and W − P(W) side by side.
    pub(super) fn html(&self) -> String {
        let rest: Vec<f64> = self.before.iter().zip(&self.after).map(|(w, p)| w - p).collect();
        let scale = self.before.iter().chain(&self.after).map(|w| w.abs()).fold(0.0, f64::max);
        let [o, i] = self.channels;
        let drawn = [("W", &self.before), ("P(W)", &self.after), ("W−P(W)", &rest)]
            .map(|(title, values)| format!("<div>{}<span>{title}</span></div>", self.drawing(title, values, scale)));
        let caption = escape(&format!("{} [{o}, {i}]", self.name));
        format!("<figure class=\"kernel\">{}<figcaption>{caption}</figcaption></figure>\n", drawn.concat())
    }

    fn drawing(&self, title: &str, values: &[f64], scale: f64) -> String {
        let [rows, columns] = self.sides;
        let cell = SIDE / rows.max(columns) as f64;
        let (width, height) = (cell * columns as f64, cell * rows as f64);
        let mut svg = format!("<svg viewBox=\"0 0 {width:.1} {height:.1}\" role=\"img\" aria-label=\"{title}\">");
        for (at, value) in values.iter().enumerate() {
            let colour = diverging(if scale > 0.0 { value / scale } else { 0.0 });
            let (x, y) = ((at % columns) as f64 * cell, (at / columns) as f64 * cell);
            // A little wider than a cell, so that no seam shows. Writing to a string cannot fail.
            let _ = write!(
                svg,
                "<rect x=\"{x:.1}\" y=\"{y:.1}\" width=\"{0:.1}\" height=\"{0:.1}\" fill=\"{colour}\"/>",
                cell + 0.4
            );
        }
        svg + "</svg>"
    }
}
