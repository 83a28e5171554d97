//! `table-ct`, `table-norms` and `fig-ct`: taking metal artefacts out of CT slices with three networks in five modes, the same under
//! twelve norms, and what the slices look like.
//!
//! ```text
//! models      networks × modes × seeds; test-time projection is a test of the plain models
//! measured    a process for each network and mode, alone, after all training
//! ```
//!
//! Paper: section "CT-Scan Metal Artifact Reduction", `tab:ct_mar`, `fig:ct_mar`, `tab:norm_comparison`.

mod budget;
mod cells;
mod claims;
mod cost;
mod cost_claims;
mod figures;
mod norms;
mod notes;
mod paper;
mod pictures;
mod row;
mod run;
mod settings;
#[cfg(test)]
mod synthetic;
mod tables;
mod target;
#[cfg(test)]
mod tests;
mod training;
mod written;

pub(crate) use target::{FigCt, TableCt, TableNorms};
