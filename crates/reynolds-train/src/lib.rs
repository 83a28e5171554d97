//! One training loop for any experiment on libtorch: settings, run folders, resume, sweeps and reports.
//!
//! ```text
//! experiment ──settings──► task ──► train ──► run folder ──► figures, report
//!               TOML, --set          Adam on the flat parameters, penalty in closed form, checkpoints, resume
//! ```
//!
//! An [`Experiment`](experiment::Experiment) has a name and settings and makes a [`Task`](task::Task): parameters, loss, metrics, and the
//! plan of what is regularised towards a group. [`main`] turns experiments into a program:
//!
//! ```text
//! own run mine --set penalty.lambda_perp=0.1 --seeds 5 --device cuda:0       five runs, each with its folder and report
//! own run --resume runs/mine/…                                               bit-equal to a run that was never stopped
//! own sweep mine --grid penalty.lambda_perp=0,0.01,0.1 --seeds 3 --jobs 2    one CSV
//! ```
//!
//! An experiment of examples with targets is one trait, [`Supervised`](supervised::Supervised): `examples/own-experiment` is such a
//! program. Without a command line, and with both traits: a linear map is fitted to one that is invariant under permutations
//! of its three inputs, and regularised towards such maps.
//!
//! ```
//! use reynolds_train::prelude::*;
//! use reynolds_train::{interrupt::Interrupt, progress::Silent, run::{self, OutputFolder, Session}};
//! use serde::{Deserialize, Serialize};
//!
//! #[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
//! struct Fit {
//!     offset: f64,
//! }
//! impl Settings for Fit {}
//!
//! struct Mine;
//! impl Experiment for Mine {
//!     type Settings = Fit;
//!     type Task = Line;
//!     fn name(&self) -> &'static str {
//!         "mine"
//!     }
//!     fn task(&self, config: &RunConfig<Fit>, device: Device) -> Result<Line> {
//!         let (mut random, mut builder) = (Random::new(config.seed), Parameters::builder());
//!         builder.real("map", &[1, 3], &[0.5, 0.0, -0.5])?;
//!         let inputs: Vec<f64> = (0..60).map(|_| random.normal()).collect();
//!         let inputs = Tensor::from_slice(&inputs).view([20, 3]).to_device(device);
//!         let truth = inputs.mean_dim(1, false, Kind::Double) + config.settings.offset;
//!         Ok(Line { parameters: builder.build(Kind::Double, device)?, inputs, truth })
//!     }
//! }
//!
//! struct Line {
//!     parameters: Parameters,
//!     inputs: Tensor,
//!     truth: Tensor,
//! }
//! impl Task for Line {
//!     fn parameters(&self) -> &Parameters {
//!         &self.parameters
//!     }
//!     fn parameters_mut(&mut self) -> &mut Parameters {
//!         &mut self.parameters
//!     }
//!     fn loss(&self, _: Moment) -> Result<Tensor> {
//!         let found = self.inputs.linear::<Tensor>(&self.parameters.get("map")?, None).squeeze_dim(1);
//!         Ok((found - &self.truth).square().mean(Kind::Double))
//!     }
//!     fn evaluate(&self, _: Split) -> Result<Metrics> {
//!         Ok(Metrics::from([("loss".into(), self.loss(Moment { epoch: 0, step: 0 })?.double_value(&[]))]))
//!     }
//!     fn plan(&self) -> Result<Option<SymmetryPlan>> {
//!         let rule = "[[layer]]\nname = \"map\"\ndomain = \"permutation\"\ncodomain = \"trivial\"";
//!         Ok(Some(SymmetryPlan::from_toml(&format!("group = \"S3\"\n{rule}"))?))
//!     }
//! }
//!
//! let mut config = Mine.defaults();
//! (config.settings.offset, config.penalty.lambda_perp, config.train.epochs) = (0.1, 1.0, 2);
//! let root = tempfile::tempdir()?;
//! let folder = OutputFolder::Under(root.path().into());
//! let session = Session { device: Device::Cpu, interrupt: Interrupt::new(), observer: &mut Silent };
//! let outcome = run::run(&Mine, &config, &folder, session)?;
//! assert!(outcome.summary().is_some_and(|summary| summary.epochs == 2));
//! let lines = std::fs::read_to_string(outcome.folder().join("metrics.jsonl"))?;
//! assert!(lines.lines().count() == 2 && lines.contains("\"penalty\"") && outcome.folder().join("report.html").exists());
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod captures;
mod checkpoint;
pub mod command_line;
pub mod config;
mod decoupled;
pub mod environment;
pub mod error;
mod events;
pub mod experiment;
mod folder_journal;
pub mod interrupt;
pub mod journal;
pub mod metrics;
pub mod page;
pub mod passes;
pub mod point_folder;
pub mod point_journal;
pub mod prelude;
pub mod progress;
pub mod queue;
pub mod regulariser;
pub mod run;
pub mod run_folder;
pub mod schedule;
pub mod supervised;
pub mod sweep;
pub mod task;
pub mod threads;
pub mod train;
mod utc;

pub use command_line::main;
pub use error::{Error, Result};
pub use {reynolds, reynolds_torch};
