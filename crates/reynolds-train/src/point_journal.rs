//! The journal of one of many models of a table: records in memory, and a run folder with checkpoints for a model that has trained for
//! 20 s or is cancelled.

use std::path::PathBuf;
use std::time::{Duration, Instant};

use reynolds_torch::Parameters;

use crate::error::Result;
use crate::folder_journal::{FolderJournal, LAST, PREVIOUS};
use crate::interrupt::Interrupt;
use crate::journal::{Journal, Snapshot};
use crate::metrics::Record;
use crate::run_folder::RunFolder;

/// Training time after which a checkpoint is written.
const WORTH_SAVING: Duration = Duration::from_secs(20);

/// Records in memory, and a run folder from the first checkpoint on.
#[derive(Debug)]
pub struct PointJournal {
    /// One an epoch.
    pub records: Vec<Record>,
    folder: PathBuf,
    config: String,
    interrupt: Interrupt,
    saved: Instant,
    /// Holds the lock of the folder.
    open: Option<(RunFolder, FolderJournal)>,
}

impl PointJournal {
    /// For a model with these complete settings (TOML); checkpoints go to `folder`.
    pub fn new(folder: PathBuf, config: String, interrupt: Interrupt) -> Self {
        Self { records: Vec::new(), folder, config, interrupt, saved: Instant::now(), open: None }
    }

    fn open(&mut self) -> Result<&mut FolderJournal> {
        if self.open.is_none() {
            let folder = RunFolder::at(&self.folder)?;
            let journal = FolderJournal::open(&folder, self.config.clone())?;
            self.open = Some((folder, journal));
        }
        Ok(&mut self.open.as_mut().expect("just opened").1)
    }
}

impl Journal for PointJournal {
    fn restore(&mut self, parameters: &Parameters) -> Result<Option<Snapshot>> {
        if ![LAST, PREVIOUS].iter().any(|name| self.folder.join(name).is_file()) {
            return Ok(None);
        }
        let journal = self.open()?;
        let snapshot = journal.restore(parameters)?;
        self.records = journal.records()?;
        Ok(snapshot)
    }

    fn record(&mut self, record: &Record) -> Result<()> {
        self.records.push(record.clone());
        self.open.as_mut().map_or(Ok(()), |(_, journal)| journal.record(record))
    }

    fn save(&mut self, snapshot: &Snapshot, parameters: &Parameters) -> Result<()> {
        if self.saved.elapsed() < WORTH_SAVING && !self.interrupt.requested() {
            return Ok(());
        }
        if self.open.is_none() {
            let records = self.records.clone();
            let journal = self.open()?;
            // Clears what an earlier attempt without a checkpoint left.
            journal.restore(parameters)?;
            records.iter().try_for_each(|record| journal.record(record))?;
        }
        self.open()?.save(snapshot, parameters)?;
        self.saved = Instant::now();
        Ok(())
    }

    fn last_saved(&self) -> Option<String> {
        self.open.as_ref().and_then(|(_, journal)| journal.last_saved())
    }
}
