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
mod cost_claims;
mod ct_model;
mod figures;
mod measured;
mod norms;
mod notes;
mod paper;
mod pictures;
mod row;
mod settings;
#[cfg(test)]
mod synthetic;
mod tables;
mod target;
#[cfg(test)]
mod tests;
mod written;

use budget::Of;
pub(crate) use target::CtTarget;

/// Paper: `tab:ct_mar`.
pub(crate) const TABLE: CtTarget = CtTarget {
    name: "table-ct",
    about: "metal artefact reduction of three networks in five modes, quality and cost (tab:ct_mar)",
    of: Of::Modes,
};

/// Paper: `tab:norm_comparison`.
pub(crate) const NORMS: CtTarget = CtTarget {
    name: "table-norms",
    about: "the projection penalty of metal artefact reduction under twelve norms, quality and cost (tab:norm_comparison)",
    of: Of::Norms,
};

/// Paper: `fig:ct_mar`.
pub(crate) const FIGURE: CtTarget = CtTarget {
    name: "fig-ct",
    about: "a pelvic slice with two implants as three networks leave it in three modes (fig:ct_mar)",
    of: Of::Pictures,
};
