//! Figures as SVG: panels in rows, level sets and decision boundaries, points, heat maps with numbers.
//!
//! Text stays text, the same input gives the same bytes, and the background is white whatever the page around it.
//!
//! ```
//! use reynolds_report::figure::{Colour, Field, Plane, Sheet};
//! let values = Field::square_points(3.0, 41).iter().map(|[x, y]| 1.5 - x.hypot(*y)).collect();
//! let field = Field::square(3.0, 41, values);
//! let mut plane = Plane::new(3.0);
//! plane.level_sets(&field, 1.5).boundary(&field, Colour::NAVY, false).points(&[[0.0, 0.0]], &[true]);
//! let mut sheet = Sheet::new(1, 160.0);
//! sheet.add("λ_⊥ = 0.1", plane, vec!["relative defect 0.002".into()]);
//! assert!(sheet.svg().starts_with("<svg"));
//! ```

mod colour;
mod field;
mod heat_map;
mod line_chart;
mod log_chart;
mod path;
mod picture;
mod plane;
mod raster;
mod sheet;
mod svg;

pub use colour::Colour;
pub(crate) use colour::diverging;
pub use field::Field;
pub use heat_map::{HeatMap, Shading};
pub use line_chart::LineChart;
pub use log_chart::{Curve, LogChart};
pub use picture::Picture;
pub use plane::Plane;
pub use raster::Raster;
pub use sheet::{Key, Panel, Scale, Sheet};
pub use svg::{Frame, Svg};

/// Font size of the numbers at axes.
const TICK_SIZE: f64 = 8.0;

/// Width of a letter as a share of the font size, in the widest of the usual fonts.
const LETTER: f64 = 0.58;

/// What a panel can hold.
pub trait Drawing {
    /// Draws into the frame, with numbers at the left and bottom axes if `left` and `bottom` say so.
    fn draw(&self, svg: &mut Svg, frame: Frame, left: bool, bottom: bool);
}

/// A drawing alone in a frame: x, y, width, height.
#[cfg(test)]
fn drawn(drawing: &impl Drawing, [x, y, width, height]: [f64; 4]) -> String {
    let mut svg = Svg::new(300.0, 400.0);
    drawing.draw(&mut svg, Frame { x, y, width, height }, true, true);
    svg.finish()
}
