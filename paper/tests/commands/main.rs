//! Training as a user meets it: folders, resume after every kind of end, sweeps, reproductions, and bad input.

#![allow(clippy::unwrap_used, reason = "a failed set-up should fail the test")]

mod bad_input;
mod bench;
mod bench_metrics;
mod bench_penalty;
mod bench_projection;
mod bench_scaling;
mod data;
mod data_medmnist;
mod help;
mod reproduce;
mod resume;
mod run;
mod support;
mod sweep;
