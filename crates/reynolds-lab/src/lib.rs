//! One training loop, run folders, and one module for each table and figure of the paper.

mod checkpoint;
pub mod config;
pub mod environment;
pub mod error;
pub mod events;
pub mod experiment;
pub mod experiments;
pub mod figure;
pub mod folder_journal;
pub mod interrupt;
pub mod journal;
mod lock;
pub mod metrics;
pub mod progress;
pub mod regulariser;
pub mod report;
pub mod run;
pub mod run_folder;
pub mod schedule;
pub mod sweep;
pub mod task;
pub mod threads;
pub mod train;
mod utc;
pub mod whole_file;

pub use error::{Error, Result};
