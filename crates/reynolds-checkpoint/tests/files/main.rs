//! Checkpoints: golden files, damaged ones, and what is written.

#![allow(clippy::unwrap_used, reason = "a failed set-up should fail the test")]

mod bad_input;
mod golden;
mod support;
mod write;
