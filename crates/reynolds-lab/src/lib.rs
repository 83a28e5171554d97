//! One training loop, run folders, and one module for each table and figure of the paper.
//!
//! ```text
//! experiment ──settings──► task ──► train ──► run folder ──► figures, report
//!               TOML, --set          Adam on the flat parameters, penalty in closed form, checkpoints, resume
//! ```
//!
//! ```
//! use reynolds_lab::{experiments, interrupt::Interrupt, progress::Silent, run::{Place, Session}};
//! use reynolds_torch::tch::Device;
//! let experiments = experiments::all();
//! let so2 = experiments.find("so2")?;
//! let config = so2.load(None, &["penalty.lambda_perp=0.1".parse()?, "train.epochs=2".parse()?])?;
//! let root = tempfile::tempdir().expect("there is a place for temporary files");
//! let session = Session { device: Device::Cpu, interrupt: Interrupt::new(), observer: &mut Silent };
//! let outcome = so2.run(&config, &Place::Under(root.path().into()), session)?;
//! assert_eq!(outcome.summary().map(|summary| summary.epochs), Some(2));
//! assert!(outcome.folder().join("checkpoints/last.safetensors").is_file());
//! # Ok::<(), reynolds_lab::Error>(())
//! ```

pub mod bench;
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
pub mod reproduce;
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
