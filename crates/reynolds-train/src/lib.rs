//! One training loop for any experiment on libtorch: settings, run folders, resume, sweeps and reports.
//!
//! ```text
//! experiment ──settings──► task ──► train ──► run folder ──► figures, report
//!               TOML, --set          Adam on the flat parameters, penalty in closed form, checkpoints, resume
//! ```

mod checkpoint;
pub mod command_line;
pub mod config;
mod curves;
pub mod environment;
pub mod error;
pub mod events;
pub mod experiment;
pub mod folder_journal;
pub mod interrupt;
pub mod journal;
mod lock;
pub mod metrics;
pub mod page;
pub mod progress;
pub mod regulariser;
pub mod run;
pub mod run_folder;
pub mod schedule;
pub mod sweep;
pub mod task;
pub mod threads;
pub mod train;
mod utc;

pub use command_line::main;
pub use error::{Error, Result};
pub use {reynolds, reynolds_torch};
