//! Golden values: what independent programs computed (golden/README.md).

#![allow(clippy::unwrap_used, reason = "a failed set-up should fail the test")]

mod basis_golden;
mod basis_golden_volume;
mod golden_norms;
mod golden_octahedral;
mod golden_projections;
