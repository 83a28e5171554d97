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
pub use field::Field;
pub use heat_map::{HeatMap, Shading};
pub use line_chart::LineChart;
pub use log_chart::LogChart;
pub use picture::Picture;
pub use plane::Plane;
pub use raster::Raster;
pub use sheet::{Key, Panel, Scale, Sheet};
pub use svg::{Anchor, Frame, Svg};

/// The size of numbers at axes.
const TICK_SIZE: f64 = 8.0;

/// The width of a letter, in its size, in the widest of the usual fonts.
const LETTER: f64 = 0.58;

/// What a panel can hold.
pub trait Drawing {
    /// Draws into the frame; numbers at the axes only where they are asked for: at the left, at the bottom.
    fn draw(&self, svg: &mut Svg, frame: Frame, left: bool, bottom: bool);
}
