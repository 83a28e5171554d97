//! Settings, loop, folders and resume, on an experiment small enough to stop at every step.

#![allow(clippy::unwrap_used, reason = "a helper of a test fails as the test does")]

mod config;
mod cuda;
mod decoupled;
mod folder;
mod interrupt;
mod logistic;
mod resume;
mod sweep;
mod train;
