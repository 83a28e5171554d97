//! Checkpoints: golden files, damaged ones, and what is written.

#![allow(clippy::unwrap_used, reason = "a failed set-up should fail the test")]

mod bad_input;
mod python;
mod write;

use reynolds_checkpoint::Checkpoint;
use std::path::{Path, PathBuf};

/// A file that golden/checkpoints.py wrote.
fn golden(name: &str) -> PathBuf {
    Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../../golden/checkpoints")).join(name)
}

fn open(name: &str) -> Checkpoint {
    Checkpoint::open(golden(name)).unwrap()
}
