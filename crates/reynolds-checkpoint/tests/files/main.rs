//! Checkpoints: golden files, damaged ones, and what is written.

mod bad_input;
mod golden;
mod support;
mod write;
