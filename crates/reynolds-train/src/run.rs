//! A run from beginning to end: settings, folder, task, loop, figures.

use std::path::{Path, PathBuf};

use reynolds_torch::tch::Device;

use crate::config::{self, RunConfig, Settings as _};
use crate::environment::Environment;
use crate::error::{Error, Result};
use crate::experiment::Experiment;
use crate::folder_journal::FolderJournal;
use crate::interrupt::Interrupt;
use crate::metrics::Summary;
use crate::page;
use crate::point_folder::PointFolder;
use crate::progress::Observer;
use crate::run_folder::{self, RunFolder};
use crate::task::Task as _;
use crate::threads;
use crate::train::{self, Ending, Trainer};

/// Where the folder of a run goes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum OutputFolder {
    /// A new folder under this root, usually "runs".
    Under(PathBuf),
    /// This folder. A run with the same settings that is already there is resumed.
    Exactly(PathBuf),
}

/// What a run needs beside its settings.
pub struct Session<'a> {
    /// Where tensors live.
    pub device: Device,
    /// Cancellation flag.
    pub interrupt: Interrupt,
    /// Progress callbacks.
    pub observer: &'a mut dyn Observer,
}

/// How a run ended.
#[derive(Debug, Clone, PartialEq)]
pub enum Outcome {
    /// It finished.
    Finished {
        /// Run folder.
        folder: PathBuf,
        /// Final metrics.
        summary: Summary,
    },
    /// It had finished before; nothing was changed.
    AlreadyFinished {
        /// Run folder.
        folder: PathBuf,
        /// Final metrics.
        summary: Summary,
    },
    /// It was cancelled and can be resumed.
    Interrupted {
        /// Run folder.
        folder: PathBuf,
        /// Epochs done.
        epoch: usize,
    },
}

impl Outcome {
    /// The folder of the run.
    pub fn folder(&self) -> &Path {
        match self {
            Self::Finished { folder, .. } | Self::AlreadyFinished { folder, .. } | Self::Interrupted { folder, .. } => {
                folder
            }
        }
    }

    /// The result, if it finished.
    pub fn summary(&self) -> Option<&Summary> {
        match self {
            Self::Finished { summary, .. } | Self::AlreadyFinished { summary, .. } => Some(summary),
            Self::Interrupted { .. } => None,
        }
    }
}

/// Trains an experiment and leaves a folder, which is created only once the task is built and can be trained as the settings ask, or when
/// the generation of its data is interrupted.
pub fn run<E: Experiment + ?Sized>(
    experiment: &E,
    config: &RunConfig<E::Settings>,
    folder: &OutputFolder,
    session: Session<'_>,
) -> Result<Outcome> {
    config.validate()?;
    if let OutputFolder::Exactly(path) = folder
        && path.join("config.toml").is_file()
    {
        PointFolder::new(path.clone(), config::text(config)).check()?;
        return resume(experiment, path, session);
    }
    let work = Work { experiment, config, session };
    let open = || match folder {
        OutputFolder::Under(root) => RunFolder::create(root, experiment.name()),
        OutputFolder::Exactly(path) => RunFolder::at(path),
    };
    let Some(mut task) = work.task()? else { return work.stopped(&open()?) };
    let trainer = Trainer::new(&mut task, &config.train, &config.penalty)?;
    match trainer.check_metric(&task) {
        Err(Error::Interrupted) => return work.stopped(&open()?),
        checked => checked?,
    }
    work.carry_out(task, trainer, &open()?)
}

/// Resumes the run of a folder from its last checkpoint, or from the beginning if there is none. A damaged checkpoint, or one of another
/// version, is refused.
pub fn resume<E: Experiment + ?Sized>(experiment: &E, path: &Path, session: Session<'_>) -> Result<Outcome> {
    let (folder, config) = open(experiment, path)?;
    Work { experiment, config: &config, session }.go_on(folder)
}

fn open<E: Experiment + ?Sized>(experiment: &E, path: &Path) -> Result<(RunFolder, RunConfig<E::Settings>)> {
    let folder = RunFolder::open(path)?;
    Environment::check_version(&folder)?;
    let text = folder.config_text()?.unwrap_or_default();
    let config = config::parse(&experiment.defaults(), &text, &folder.file("config.toml").display().to_string())?;
    Ok((folder, config))
}

/// A run whose folder is yet to be chosen.
struct Work<'a, 's, E: Experiment + ?Sized> {
    experiment: &'a E,
    config: &'a RunConfig<E::Settings>,
    session: Session<'s>,
}

impl<E: Experiment + ?Sized> Work<'_, '_, E> {
    fn go_on(self, folder: RunFolder) -> Result<Outcome> {
        if let Some(summary) = run_folder::summary(folder.path())? {
            return Ok(Outcome::AlreadyFinished { folder: folder.path().into(), summary });
        }
        let Some(mut task) = self.task()? else { return self.stopped(&folder) };
        let trainer = Trainer::new(&mut task, &self.config.train, &self.config.penalty)?;
        self.carry_out(task, trainer, &folder)
    }

    /// The task; `None` if it was cancelled while its data were generated.
    fn task(&self) -> Result<Option<E::Task>> {
        let (precision, precisions) = (self.config.train.precision, self.experiment.precisions());
        if !precisions.contains(&precision) {
            let names: Vec<_> = precisions.iter().map(|precision| precision.name()).collect();
            return Err(Error::config("train.precision", names.join(" or "), precision.name()));
        }
        self.config.train.check_device(self.session.device)?;
        threads::set(self.config.train.threads);
        if !self.experiment.prepare(self.config, &self.session.interrupt)? {
            return Ok(None);
        }
        let mut task = self.experiment.task(self.config, self.session.device)?;
        task.cancel_by(&self.session.interrupt);
        Ok(Some(task))
    }

    /// Cancelled before the first step: the folder holds the settings to resume with.
    fn stopped(&self, folder: &RunFolder) -> Result<Outcome> {
        self.keep_settings(folder)?;
        Ok(Outcome::Interrupted { folder: folder.path().into(), epoch: 0 })
    }

    fn keep_settings(&self, folder: &RunFolder) -> Result<()> {
        match folder.config_text()? {
            None => folder.write("config.toml", config::text(self.config).as_bytes()),
            Some(_) => Ok(()),
        }
    }

    fn carry_out(self, mut task: E::Task, trainer: Trainer<'_>, folder: &RunFolder) -> Result<Outcome> {
        self.keep_settings(folder)?;
        let mut journal = FolderJournal::open(folder, config::text(self.config))?;
        // Before anything in the folder changes.
        journal.check(task.parameters())?;
        Environment::now(self.session.device).add_to(folder)?;
        let path = folder.path().to_path_buf();
        match train::go_on(&mut task, trainer, &mut journal, self.session.observer, &self.session.interrupt)? {
            Ending::Interrupted { epoch, .. } => Ok(Outcome::Interrupted { folder: path, epoch }),
            Ending::Finished(summary) => {
                match self.experiment.finish(self.config, &task, &summary, &path) {
                    Err(Error::Interrupted) => return Ok(Outcome::Interrupted { folder: path, epoch: summary.epochs }),
                    finished => finished?,
                }
                page::write(&path, &summary)?;
                let text = serde_json::to_string_pretty(&summary).expect("a summary is plain numbers and names");
                journal.forget_previous()?;
                run_folder::write_summary(&path, &text)?;
                Ok(Outcome::Finished { folder: path, summary })
            }
        }
    }
}
