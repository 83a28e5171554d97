//! Tiny runs of every experiment, from data to figures.

#![allow(clippy::unwrap_used, reason = "a helper of a test fails as the test does")]

mod ct;
mod ct_task;
mod medmnist;
mod medmnist_task;
mod smoke;
mod support;
