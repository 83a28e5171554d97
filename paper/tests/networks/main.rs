//! Networks beside numbers that other programs computed, and weights that are kept equivariant while they train.

#![allow(clippy::unwrap_used, reason = "tests unwrap")]

mod ct_forward;
mod parametrisation;
mod smoke_forward;
mod support;
mod volume_forward;
