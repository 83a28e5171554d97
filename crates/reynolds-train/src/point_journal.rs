//! The journal of a model that a table trains among many: records in memory, and a checkpoint only where one is worth its time.
//!
//! A model of a few seconds leaves nothing behind. One that has trained for 20 s, or is asked to stop, becomes a run folder
//! (metrics.jsonl, checkpoints/), from which it goes on to the same bytes.

use std::path::PathBuf;
use std::time::{Duration, Instant};

use reynolds_torch::Parameters;

use crate::error::Result;
use crate::folder_journal::FolderJournal;
use crate::interrupt::Interrupt;
use crate::journal::{Journal, Snapshot};
use crate::metrics::Record;
use crate::run_folder::RunFolder;

/// Training time after which a checkpoint is written.
const WORTH_SAVING: Duration = Duration::from_secs(20);

/// Records in memory; a run folder once a checkpoint is worth its time.
#[derive(Debug)]
pub struct PointJournal {
    /// One an epoch.
    pub records: Vec<Record>,
    folder: PathBuf,
    config: String,
    interrupt: Interrupt,
    saved: Instant,
    /// The lock of the folder is held as long as its files are open.
    open: Option<(RunFolder, FolderJournal)>,
}

impl PointJournal {
    /// The journal of a model with these complete settings (TOML), which may leave a checkpoint in `folder`.
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
        if !self.folder.join("checkpoints/last.safetensors").is_file() {
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
            // What an earlier attempt left here has no checkpoint.
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
