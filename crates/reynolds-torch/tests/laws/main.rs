//! The method on libtorch: laws, and agreement with the host.

#![allow(clippy::unwrap_used, reason = "a failed set-up should fail the test")]

mod binding;
mod equivariance;
mod optimiser;
mod penalty;
mod projector_laws;
mod proximal;
#[path = "../support/mod.rs"]
mod support;
mod variables;
