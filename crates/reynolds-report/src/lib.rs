//! The page that a run or a reproduction leaves behind: one file with everything inline, no script, readable in the dark and on paper.
//!
//! ```
//! use reynolds_report::{Check, Report, Table};
//! let mut table = Table::new(["λ_⊥", "accuracy"]);
//! table.row(["0.1", "0.98 ± 0.01"]);
//! let mut report = Report::new("The λ path");
//! report
//!     .fact("command", "reynolds reproduce fig-so2")
//!     .check(Check::new("the relative defect falls along the path", true, "0.41 0.20 0.02"))
//!     .section("Accuracy and defect")
//!     .table(table)
//!     .figure("<svg viewBox=\"0 0 1 1\"></svg>", "Decision boundaries");
//! assert!(report.html().contains("held"));
//! ```
//!
//! Text is escaped; a figure is SVG of our own and goes in as it is.

mod axis;
mod bar;
mod chart;
mod check;
pub mod csv;
mod escape;
pub mod figure;
mod last_resort;
mod page;
mod png;
mod table;
pub mod terminal;

pub use bar::bar;
pub use chart::{Chart, Series};
pub use check::Check;
pub use csv::Csv;
pub(crate) use escape::escape;
pub use last_resort::catch;
pub use page::Report;
pub use png::png;
pub use table::Table;
