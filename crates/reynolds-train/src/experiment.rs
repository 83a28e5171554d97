//! An experiment by name: its defaults, its task, and what it draws at the end.

use std::fmt;
use std::path::Path;

use reynolds_torch::Precision;
use reynolds_torch::tch::Device;

use crate::config::{self, Assignment, RunConfig, Settings, TrainConfig};
use crate::error::{Error, Result};
use crate::interrupt::Interrupt;
use crate::metrics::Summary;
use crate::run::{self, Outcome, OutputFolder, Session};
use crate::task::Task;

/// What can be trained by name: `run NAME`. Required are settings, a name and a [`Task`]; everything else has a default.
///
/// The [crate's example](crate) implements one.
pub trait Experiment: Send + Sync {
    /// The experiment's own settings, beside `[penalty]` and `[train]`: tables `[data]` and `[model]` as a rule. Their default is that of a run.
    type Settings: Settings + Default;
    /// Data, network, loss and metrics of one run.
    type Task: Task;

    /// Name on the command line.
    fn name(&self) -> &'static str;

    /// One sentence for `run list`.
    fn about(&self) -> &'static str {
        ""
    }

    /// What metrics mean that other experiments do not have, by the last part of their names: said below the results of a run.
    fn meanings(&self) -> &'static [(&'static str, &'static str)] {
        &[]
    }

    /// All settings of a run with nothing given.
    fn defaults(&self) -> RunConfig<Self::Settings> {
        RunConfig::new(self.name(), Self::Settings::default())
    }

    /// Number types that the model can compute in.
    fn precisions(&self) -> &'static [Precision] {
        &[Precision::F32]
    }

    /// Refuses settings that no task can be built with, and generates missing data; `false` if interrupted. Called before
    /// [`Experiment::task`], and again when a run is resumed.
    fn prepare(&self, _config: &RunConfig<Self::Settings>, _interrupt: &Interrupt) -> Result<bool> {
        Ok(true)
    }

    /// Data and network of a run, on a device; random numbers from `config.seed`.
    fn task(&self, config: &RunConfig<Self::Settings>, device: Device) -> Result<Self::Task>;

    /// Writes figures and other results of a finished run to its folder. The task holds the weights that were selected. Called again if
    /// the run was killed before it was marked as finished.
    fn finish(
        &self,
        _config: &RunConfig<Self::Settings>,
        _task: &Self::Task,
        _summary: &Summary,
        _folder: &Path,
    ) -> Result<()> {
        Ok(())
    }
}

/// An experiment of any type: `Mine.into()`.
pub type AnyExperiment = Box<dyn Erased>;

/// An [`Experiment`] whose type of settings is hidden.
pub trait Erased: Send + Sync {
    /// Name on the command line.
    fn name(&self) -> &'static str;

    /// One sentence for `run list`.
    fn about(&self) -> &'static str;

    /// See [`Experiment::meanings`].
    fn meanings(&self) -> &'static [(&'static str, &'static str)];

    /// A run with complete settings, checked as [`config::load`] does.
    fn load(&self, file: Option<&Path>, assignments: &[Assignment]) -> Result<LoadedRun<'_>>;

    /// Resumes the run of a folder: see [`run::resume`].
    fn resume(&self, folder: &Path, session: Session<'_>) -> Result<Outcome>;
}

/// A run that is ready to start.
pub struct LoadedRun<'a> {
    /// Complete settings, as the text of a config.toml.
    pub text: String,
    /// Random seed.
    pub seed: u64,
    /// Settings of the loop.
    pub train: TrainConfig,
    start: Start<'a>,
}

/// Trains with a seed in a folder, as a session asks.
type Start<'a> = Box<dyn Fn(u64, &OutputFolder, Session<'_>) -> Result<Outcome> + 'a>;

impl LoadedRun<'_> {
    /// Trains it with its own seed or another one: see [`run::run`].
    pub fn run(&self, seed: u64, folder: &OutputFolder, session: Session<'_>) -> Result<Outcome> {
        (self.start)(seed, folder, session)
    }
}

impl<E: Experiment + 'static> From<E> for AnyExperiment {
    fn from(experiment: E) -> Self {
        Box::new(experiment)
    }
}

impl<E: Experiment> Erased for E {
    fn name(&self) -> &'static str {
        Experiment::name(self)
    }

    fn about(&self) -> &'static str {
        Experiment::about(self)
    }

    fn meanings(&self) -> &'static [(&'static str, &'static str)] {
        Experiment::meanings(self)
    }

    fn load(&self, file: Option<&Path>, assignments: &[Assignment]) -> Result<LoadedRun<'_>> {
        let config = config::load(&self.defaults(), file, assignments)?;
        let (text, seed, train) = (config::text(&config), config.seed, config.train.clone());
        let start = Box::new(move |seed, folder: &OutputFolder, session: Session<'_>| {
            run::run(self, &RunConfig { seed, ..config.clone() }, folder, session)
        });
        Ok(LoadedRun { text, seed, train, start })
    }

    fn resume(&self, folder: &Path, session: Session<'_>) -> Result<Outcome> {
        run::resume(self, folder, session)
    }
}

/// The experiments of a program, in the order in which `run list` shows them.
pub struct Experiments(Vec<AnyExperiment>);

impl fmt::Display for Experiments {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let width = self.0.iter().map(|experiment| experiment.name().len()).max().unwrap_or(0);
        self.0
            .iter()
            .try_for_each(|one| writeln!(f, "{}", format!("{:<width$}  {}", one.name(), one.about()).trim_end()))
    }
}

impl Experiments {
    /// In the order given.
    pub fn new(experiments: Vec<AnyExperiment>) -> Self {
        Self(experiments)
    }

    /// All of them.
    pub fn iter(&self) -> impl Iterator<Item = &AnyExperiment> {
        self.0.iter()
    }

    /// The experiment with this name; the error lists the nearest name and all of them.
    pub fn find(&self, name: &str) -> Result<&AnyExperiment> {
        self.iter().find(|experiment| experiment.name() == name).ok_or_else(|| {
            let names: Vec<_> = self.iter().map(|experiment| experiment.name()).collect();
            Error::unknown("experiment", name, &names)
        })
    }
}
