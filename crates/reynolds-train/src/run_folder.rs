//! The folder of a run.
//!
//! ```text
//! runs/<experiment>/<UTC time>-<id>/
//!   config.toml                   complete settings
//!   environment.json              versions, device, commit
//!   metrics.jsonl                 a record an epoch; no wall-clock times
//!   timing.jsonl                  seconds an epoch
//!   events.out.tfevents.reynolds  the metrics for TensorBoard
//!   checkpoints/last.safetensors  parameters, optimiser, progress: what --resume starts from
//!   checkpoints/previous.safetensors   the one before it, in case it is damaged; until the run is finished
//!   checkpoints/best.safetensors  the parameters of the best validation metric
//!   figures/                      drawn by the experiment
//!   report.html                   all of it on one page
//!   summary.json                  final metrics, written last: its presence says that the run is finished
//!   lock                          held by the process that writes the folder
//! ```

use std::fs::{self, File, TryLockError};
use std::path::{Path, PathBuf};

use serde::de::DeserializeOwned;

use crate::error::{Error, Result};
use crate::utc;
use reynolds_checkpoint::whole_file;

/// A run folder, locked until it is dropped.
#[derive(Debug)]
pub struct RunFolder {
    path: PathBuf,
    _lock: Lock,
}

impl RunFolder {
    /// A new folder `root/<experiment>/<UTC time>-<id>`.
    pub fn create(root: &Path, experiment: &str) -> Result<Self> {
        let parent = root.join(experiment);
        fs::create_dir_all(&parent).map_err(Error::io(&parent, "create"))?;
        for attempt in 0.. {
            let path = parent.join(format!("{}-{}", utc::stamp(), identifier(attempt)));
            match fs::create_dir(&path) {
                Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists && attempt < 1000 => continue,
                made => made.map_err(Error::io(&path, "create"))?,
            }
            return Self::at(&path);
        }
        unreachable!("the loop returns or fails")
    }

    /// The folder at a path, created if missing; an error if another process has locked it.
    pub fn at(path: &Path) -> Result<Self> {
        let lock = Lock::take(path)?;
        let checkpoints = path.join("checkpoints");
        for part in [&checkpoints, &path.join("figures")] {
            if part.is_symlink() {
                return Err(Error::file(part, "a folder of the run", "a symbolic link"));
            }
        }
        fs::create_dir_all(&checkpoints).map_err(Error::io(&checkpoints, "create"))?;
        Ok(Self { path: path.into(), _lock: lock })
    }

    /// The folder of an earlier run: as [`RunFolder::at`], with a config.toml.
    pub fn open(path: &Path) -> Result<Self> {
        if !path.join("config.toml").is_file() {
            let found = if path.is_dir() { "a folder without one" } else { "no such folder" };
            return Err(Error::file(path, "a run folder with a config.toml", found));
        }
        Self::at(path)
    }

    /// Path of the folder.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// A file or folder in it.
    pub fn file(&self, name: &str) -> PathBuf {
        self.path.join(name)
    }

    /// The text of config.toml, if there is one.
    pub fn config_text(&self) -> Result<Option<String>> {
        read_if_there(&self.file("config.toml"))
    }

    /// Writes a file of the folder, whole or not at all.
    pub fn write(&self, name: &str, bytes: &[u8]) -> Result<()> {
        Ok(whole_file::write(&self.file(name), bytes)?)
    }
}

/// The lock of a folder, released when it is dropped or its process ends, however it ends.
#[derive(Debug)]
pub(crate) struct Lock(File);

impl Drop for Lock {
    fn drop(&mut self) {
        // Closing is not enough: a child that is being started may hold a copy of the file.
        let _ = self.0.unlock();
    }
}

impl Lock {
    /// Locks the folder, created if missing.
    pub(crate) fn take(folder: &Path) -> Result<Self> {
        fs::create_dir_all(folder).map_err(Error::io(folder, "create"))?;
        let file = folder.join("lock");
        let lock = whole_file::open_to_append(&file)?;
        match lock.try_lock() {
            Ok(()) => Ok(Self(lock)),
            Err(TryLockError::WouldBlock) => {
                Err(Error::file(folder, "an unlocked run folder", "one locked by another process"))
            }
            Err(TryLockError::Error(source)) => Err(Error::io(&file, "lock")(source)),
        }
    }
}

/// The last key of summary.json: CRC-32C of the text before it.
const CHECKSUM: &str = ",\n\"crc32c\": ";

/// Writes summary.json, a JSON object, with its checksum.
pub(crate) fn write_summary(folder: &Path, json: &str) -> Result<()> {
    let covered = json.strip_suffix('}').expect("a summary is a JSON object").trim_end();
    let text = format!("{covered}{CHECKSUM}{}\n}}\n", crc32c::crc32c(covered.as_bytes()));
    Ok(whole_file::write(&folder.join("summary.json"), text.as_bytes())?)
}

/// The summary of a finished run; `None` if it is not finished. One without a checksum is of an earlier version.
pub fn summary<T: DeserializeOwned>(folder: &Path) -> Result<Option<T>> {
    let file = folder.join("summary.json");
    let Some(text) = read_if_there(&file)? else { return Ok(None) };
    if let Some((covered, rest)) = text.rsplit_once(CHECKSUM) {
        let (kept, found) = (rest.trim_end_matches(['\n', '}']), crc32c::crc32c(covered.as_bytes()).to_string());
        if kept != found {
            let found = format!("{found}: it was changed; without this file the model is trained again");
            return Err(Error::file(&file, format!("the summary of a run with the checksum {kept}"), found));
        }
    }
    serde_json::from_str(&text).map(Some).map_err(|error| Error::file(&file, "the summary of a run", error))
}

/// The experiment of a run folder.
pub fn experiment(folder: &Path) -> Result<String> {
    let file = folder.join("config.toml");
    let Some(text) = read_if_there(&file)? else {
        return Err(Error::file(folder, "a run folder with a config.toml", "none"));
    };
    let table = text.parse::<toml::Table>().map_err(|error| Error::file(&file, "TOML", error.message()))?;
    let name = table.get("experiment").and_then(toml::Value::as_str).map(str::to_string);
    name.ok_or_else(|| Error::file(&file, "a key \"experiment\"", "none"))
}

/// The text of a file, if it exists.
pub fn read_if_there(file: &Path) -> Result<Option<String>> {
    match fs::read_to_string(file) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(None),
        read => read.map(Some).map_err(Error::io(file, "read")),
    }
}

/// Six hexadecimal digits from process, time and attempt.
fn identifier(attempt: u64) -> String {
    let nanoseconds = utc::since_epoch().subsec_nanos();
    let place = [u64::from(std::process::id()), u64::from(nanoseconds), attempt];
    format!("{:06x}", reynolds::random::Random::at(0, &place).bits() >> 40)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_has_one_writer_at_a_time() {
        let root = tempfile::tempdir().unwrap();
        let folder = RunFolder::create(root.path(), "so2").unwrap();
        let path = folder.path().to_path_buf();
        let message = RunFolder::at(&path).unwrap_err().to_string();
        assert!(message.ends_with("expected an unlocked run folder, found one locked by another process"));
        drop(folder);
        // The lock file is still there, as after a kill; nobody holds it.
        assert!(path.join("lock").is_file());
        assert!(RunFolder::at(&path).is_ok());
        assert_ne!(RunFolder::create(root.path(), "so2").unwrap().path(), path, "two folders made at once differ");
    }

    #[test]
    #[cfg(unix)]
    fn links_in_a_folder_lead_to_no_file_of_the_user() {
        use std::os::unix::fs::symlink;
        let root = tempfile::tempdir().unwrap();
        let precious = root.path().join("precious");
        fs::write(&precious, "kept").unwrap();
        let refused = |name: &str, words: &str| {
            let run = root.path().join("run");
            let link = run.join(name);
            fs::create_dir_all(&run).unwrap();
            symlink(if name == "lock" { &precious } else { root.path() }, &link).unwrap();
            let message = RunFolder::at(&run).unwrap_err().to_string();
            assert!(message.contains(name) && message.contains(words), "{message}");
            fs::remove_file(link).unwrap();
        };
        refused("lock", "expected an ordinary file, found a symbolic link");
        refused("checkpoints", "expected a folder of the run, found a symbolic link");
        refused("figures", "expected a folder of the run, found a symbolic link");
        let folder = RunFolder::at(&root.path().join("run")).unwrap();
        symlink(&precious, folder.file("report.html")).unwrap();
        folder.write("report.html", b"new").unwrap();
        assert_eq!(fs::read(folder.file("report.html")).unwrap(), b"new");
        assert_eq!(fs::read(&precious).unwrap(), b"kept");
    }

    #[test]
    fn a_folder_without_a_config_is_no_run() {
        let root = tempfile::tempdir().unwrap();
        let message = RunFolder::open(root.path()).unwrap_err().to_string();
        assert!(message.contains("expected a run folder with a config.toml, found a folder without one"), "{message}");
        assert!(RunFolder::open(&root.path().join("none")).unwrap_err().to_string().contains("no such folder"));
        assert!(!root.path().join("none").exists());
    }
}
