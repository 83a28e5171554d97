//! The journal of a run folder.

use std::fs::{self, File};
use std::io::{ErrorKind, Read, Write};
use std::path::{Path, PathBuf};
use std::time::Instant;

use reynolds_torch::Parameters;
use toml::Table;

use crate::checkpoint::{self, Label, Lengths};
use crate::config;
use crate::error::{Error, Result};
use crate::journal::{Journal, Snapshot};
use crate::metrics::Record;
use crate::progress::say;
use crate::run_folder::RunFolder;
use crate::{events, utc};
use reynolds_checkpoint::whole_file;

/// The checkpoints that a run goes on from.
pub(crate) const LAST: &str = "checkpoints/last.safetensors";
pub(crate) const PREVIOUS: &str = "checkpoints/previous.safetensors";

/// Writes records, events and checkpoints; restores the last checkpoint.
#[derive(Debug)]
pub(crate) struct FolderJournal {
    config: String,
    last: PathBuf,
    /// The checkpoint before the last, in case that one is damaged.
    previous: PathBuf,
    best: PathBuf,
    metrics: Appended,
    metrics_crc32c: u32,
    timing: Appended,
    events: Appended,
    /// Start of the epoch, for timing.jsonl.
    since: Instant,
    /// Epoch of the best weights on disk.
    best_epoch: Option<usize>,
    saved: Option<String>,
}

impl FolderJournal {
    pub(crate) fn open(folder: &RunFolder, config: String) -> Result<Self> {
        Ok(Self {
            config,
            last: folder.file(LAST),
            previous: folder.file(PREVIOUS),
            best: folder.file("checkpoints/best.safetensors"),
            metrics: Appended::open(folder.file("metrics.jsonl"))?,
            metrics_crc32c: 0,
            timing: Appended::open(folder.file("timing.jsonl"))?,
            events: Appended::open(folder.file("events.out.tfevents.reynolds"))?,
            since: Instant::now(),
            best_epoch: None,
            saved: None,
        })
    }

    /// The errors of [`Journal::restore`], without changing the folder.
    pub(crate) fn check(&self, parameters: &Parameters) -> Result<()> {
        self.read(parameters).map(drop)
    }

    /// The last checkpoint; where it is missing or damaged the one before it, with the reason. `None` if there is neither.
    fn read(&self, parameters: &Parameters) -> Result<Option<(Snapshot, Label, Option<Error>)>> {
        let last = self.read_from(&self.last, parameters);
        if let Ok(Some((snapshot, label))) = last {
            return Ok(Some((snapshot, label, None)));
        }
        let previous = self.read_from(&self.previous, parameters);
        match (last, previous) {
            (Ok(_), previous) => {
                let missing = Error::file(&self.last, "the last checkpoint", "none");
                Ok(previous?.map(|(snapshot, label)| (snapshot, label, Some(missing))))
            }
            (Err(why), Ok(Some((snapshot, label)))) => Ok(Some((snapshot, label, Some(why)))),
            (Err(Error::File { file, expected, found }), _) if file == self.last => {
                let found = format!("{found}; without this file the run starts from the beginning");
                Err(Error::File { file, expected, found })
            }
            (Err(why), _) => Err(why),
        }
    }

    fn read_from(&self, file: &Path, parameters: &Parameters) -> Result<Option<(Snapshot, Label)>> {
        let bytes = match fs::read(file) {
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
            read => read.map_err(Error::io(file, "read"))?,
        };
        let (snapshot, label) = checkpoint::decode(file, &bytes, parameters)?;
        self.check_config(file, &label.config)?;
        if self.metrics.length < label.lengths.metrics {
            let expected = format!("at least {} bytes, as when the checkpoint was made", label.lengths.metrics);
            return Err(Error::file(&self.metrics.path, expected, self.metrics.length));
        }
        let sum = self.metrics.checksum(label.lengths.metrics)?;
        if sum != label.lengths.metrics_crc32c {
            let expected = "the records that the checkpoint was made after";
            let found = format!("checksum {sum:08x} instead of {:08x}", label.lengths.metrics_crc32c);
            return Err(Error::file(&self.metrics.path, expected, found));
        }
        Ok(Some((snapshot, label)))
    }

    /// The settings of the checkpoint must be those of the folder.
    fn check_config(&self, file: &Path, theirs: &str) -> Result<()> {
        let table = |text: &str| text.parse::<Table>().map_err(|error| Error::file(file, "TOML", error.message()));
        let Some((key, ours, theirs)) = config::first_difference(&table(&self.config)?, &table(theirs)?) else {
            return Ok(());
        };
        let expected = format!("a checkpoint made with {key} = {ours}, as in config.toml");
        Err(Error::file(file, expected, theirs))
    }

    /// Keeps the last checkpoint as the one before the next. It has both names until the next is in place, so that a whole one is there at any
    /// moment.
    fn keep_last(&self) -> Result<()> {
        self.forget_previous()?;
        match fs::hard_link(&self.last, &self.previous) {
            Err(_) if !self.last.exists() => Ok(()),
            // Some file systems know no second names.
            Err(_) => fs::rename(&self.last, &self.previous).map_err(Error::io(&self.last, "rename")),
            Ok(()) => Ok(()),
        }
    }

    /// Removes the checkpoint before the last: nothing reads it in a finished run.
    pub(crate) fn forget_previous(&self) -> Result<()> {
        match fs::remove_file(&self.previous) {
            Err(error) if error.kind() != ErrorKind::NotFound => Err(Error::io(&self.previous, "remove")(error)),
            _ => Ok(()),
        }
    }

    fn remember(&mut self, snapshot: &Snapshot) {
        self.saved = Some(format!("{}, after epoch {}", self.last.display(), snapshot.progress.epoch));
    }

    /// The records that the folder holds.
    pub(crate) fn records(&self) -> Result<Vec<Record>> {
        let file = &self.metrics.path;
        let text = fs::read_to_string(file).map_err(Error::io(file, "read"))?;
        let record = |line| serde_json::from_str(line).map_err(|error| Error::file(file, "a record a line", error));
        text.lines().map(record).collect()
    }

    fn start_events(&mut self) -> Result<()> {
        self.events.cut(0)?;
        self.events.append(&events::header(utc::since_epoch().as_secs_f64()))
    }

    fn append_events(&mut self, record: &Record) -> Result<()> {
        self.events.append(&events::scalars(utc::since_epoch().as_secs_f64(), record.epoch, &record.values))
    }

    /// Cuts the event file to its length at the checkpoint; a shorter one is written again from the metrics.
    fn restore_events(&mut self, length: u64) -> Result<()> {
        if self.events.length >= length && length > 0 {
            return self.events.cut(length);
        }
        self.start_events()?;
        self.records()?.iter().try_for_each(|record| self.append_events(record))
    }
}

impl Journal for FolderJournal {
    fn restore(&mut self, parameters: &Parameters) -> Result<Option<Snapshot>> {
        let Some((snapshot, label, passed_over)) = self.read(parameters)? else {
            self.metrics.cut(0)?;
            self.metrics_crc32c = 0;
            self.timing.cut(0)?;
            self.start_events()?;
            return Ok(None);
        };
        if let Some(why) = passed_over {
            say(&format!("warning: {why}; going on from {}", self.previous.display()));
            fs::rename(&self.previous, &self.last).map_err(Error::io(&self.previous, "rename"))?;
        }
        self.metrics.cut(label.lengths.metrics)?;
        self.metrics_crc32c = label.lengths.metrics_crc32c;
        // It only informs: a shorter one is filled with empty lines, so that later lengths are those of an undisturbed run.
        let missing = label.lengths.timing.saturating_sub(self.timing.length);
        self.timing.append(&vec![b'\n'; missing as usize])?;
        self.timing.cut(label.lengths.timing)?;
        self.restore_events(label.lengths.events)?;
        self.remember(&snapshot);
        Ok(Some(snapshot))
    }

    fn record(&mut self, record: &Record) -> Result<()> {
        let mut line = serde_json::to_string(record).expect("a record is plain numbers");
        line.push('\n');
        self.metrics.append(line.as_bytes())?;
        self.metrics_crc32c = crc32c::crc32c_append(self.metrics_crc32c, line.as_bytes());
        let seconds = self.since.elapsed().as_secs_f64();
        self.since = Instant::now();
        self.timing.append(format!("{{\"epoch\":{},\"seconds\":{seconds:.6}}}\n", record.epoch).as_bytes())?;
        self.append_events(record)
    }

    fn save(&mut self, snapshot: &Snapshot, parameters: &Parameters) -> Result<()> {
        let best_epoch = snapshot.progress.best.map(|best| best.epoch);
        if best_epoch != self.best_epoch {
            if let Some(bytes) = checkpoint::encode_best(snapshot, parameters, &self.config)? {
                whole_file::write(&self.best, &bytes)?;
            }
            self.best_epoch = best_epoch;
        }
        // The metrics must be on disk before the checkpoint that refers to them.
        self.metrics.synchronise()?;
        let lengths = Lengths {
            metrics: self.metrics.length,
            timing: self.timing.length,
            events: self.events.length,
            metrics_crc32c: self.metrics_crc32c,
        };
        self.keep_last()?;
        whole_file::write(&self.last, &checkpoint::encode_last(snapshot, parameters, &self.config, lengths)?)?;
        self.remember(snapshot);
        Ok(())
    }

    fn last_saved(&self) -> Option<String> {
        self.saved.clone()
    }
}

/// A file that is only appended to, or cut when a run is resumed.
#[derive(Debug)]
struct Appended {
    path: PathBuf,
    file: File,
    length: u64,
}

impl Appended {
    fn open(path: PathBuf) -> Result<Self> {
        let file = whole_file::open_to_append(&path)?;
        let length = file.metadata().map_err(Error::io(&path, "inspect"))?.len();
        Ok(Self { path, file, length })
    }

    fn append(&mut self, bytes: &[u8]) -> Result<()> {
        self.file.write_all(bytes).map_err(Error::io(&self.path, "write"))?;
        self.length += bytes.len() as u64;
        Ok(())
    }

    fn cut(&mut self, length: u64) -> Result<()> {
        self.file.set_len(length).map_err(Error::io(&self.path, "cut"))?;
        self.length = length;
        Ok(())
    }

    /// CRC-32C of the first `length` bytes.
    fn checksum(&self, length: u64) -> Result<u32> {
        let mut start = Vec::new();
        let file = File::open(&self.path).map_err(Error::io(&self.path, "open"))?;
        file.take(length).read_to_end(&mut start).map_err(Error::io(&self.path, "read"))?;
        Ok(crc32c::crc32c(&start))
    }

    fn synchronise(&mut self) -> Result<()> {
        self.file.sync_data().map_err(Error::io(&self.path, "synchronise"))
    }
}
