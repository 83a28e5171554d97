//! Laws: of groups, representations, projectors, norms and defects, on random input and against the Haar average.

#![allow(clippy::unwrap_used, reason = "a failed set-up should fail the test")]

mod audit_laws;
mod basis_laws;
mod certificate;
mod characters;
mod decomposition;
mod defect_laws;
mod documentation;
mod fourier;
mod group_laws;
mod norm_gradients;
mod projector_laws;
mod ranking;
mod rep_laws;
