//! Tables, charts, figures and pages for audits, training runs and experiments; no libtorch.
//!
//! ```text
//! Table   rows of cells, aligned on a terminal or as HTML       Report   a page: one file, everything inline
//! Csv     the same for programs                                 Chart    small curves on a page
//! figure  SVG figures: panels, charts, heat maps, level sets    audit    what an audit of a checkpoint found
//! terminal, bar, exit_code    output, progress and errors of a program
//! ```
//!
//! ```
//! use reynolds_report::{Check, Csv, Report, Table};
//! let mut table = Table::new(["λ_⊥", "accuracy"]);
//! table.row(["0.1", "0.98 ± 0.01"]);
//! assert_eq!(table.to_string(), "λ_⊥     accuracy\n0.1  0.98 ± 0.01\n");
//!
//! let mut csv = Csv::new(["lambda_perp", "accuracy_mean", "accuracy_sd"]);
//! csv.row([0.1, 0.98, 0.01]);
//! assert_eq!(csv.to_string().lines().last(), Some("0.1,0.98,0.01"));
//!
//! let mut report = Report::new("The λ path");
//! report
//!     .fact("command", "reynolds reproduce fig-so2")
//!     .check(Check::new("the relative defect falls along the path", true, "0.41 0.20 0.02"))
//!     .section("Accuracy and defect")
//!     .table(table)
//!     .figure("<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 1 1\"></svg>", "Decision boundaries");
//! assert!(report.html().contains("held"));
//! ```
//!
//! Text is escaped on pages and spelt out on terminals; a figure is an image, in which nothing runs. Pages are readable in the dark and
//! on paper, load nothing, and have a script only where a table sorts.

pub mod audit;
mod axis;
mod cell;
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

pub use cell::Cell;
pub use chart::{Chart, Series};
pub use check::{Check, Reason, Verdict};
pub use csv::Csv;
pub use last_resort::exit_code;
pub use page::Report;
pub use png::png;
pub use table::Table;
pub use terminal::bar;
