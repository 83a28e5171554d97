//! The folder of one point of a sweep or a table: a run folder with given settings.
//!
//! ```text
//! <folder>/config.toml     the settings, written first
//!          checkpoints/    while training
//!          summary.json    the result, written last: its presence says that the point is finished
//! ```

use std::fs;
use std::path::{Path, PathBuf};

use serde::Serialize;
use serde::de::DeserializeOwned;
use toml::{Table, Value};

use crate::config;
use crate::error::{Error, Result};
use crate::folder_journal::{LAST, PREVIOUS};
use crate::run_folder::{self, read_if_there};
use reynolds_checkpoint::whole_file;

/// A folder and the settings (TOML) of its point.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PointFolder {
    path: PathBuf,
    config: String,
}

impl PointFolder {
    /// Reads and writes nothing.
    pub fn new(path: PathBuf, config: String) -> Self {
        Self { path, config }
    }

    /// Path of the folder.
    pub fn path(&self) -> &Path {
        &self.path
    }

    fn file(&self, name: &str) -> PathBuf {
        self.path.join(name)
    }

    /// Whether it has a config.toml, with these settings or others.
    pub fn is_there(&self) -> bool {
        self.file("config.toml").is_file()
    }

    /// The first key in which its config.toml differs: (key, value asked for, value there). The number of threads is ignored.
    pub fn difference(&self) -> Result<Option<(String, String, String)>> {
        let file = self.file("config.toml");
        let Some(text) = read_if_there(&file)? else { return Ok(None) };
        let without_threads = |text: &str| -> Result<Table> {
            let mut tree = text.parse::<Table>().map_err(|error| Error::file(&file, "TOML", error.message()))?;
            tree.get_mut("train").and_then(Value::as_table_mut).and_then(|train| train.remove("threads"));
            Ok(tree)
        };
        Ok(config::first_difference(&without_threads(&self.config)?, &without_threads(&text)?))
    }

    /// An error if the folder has other settings.
    pub fn check(&self) -> Result<()> {
        match self.difference()? {
            None => Ok(()),
            Some((key, ours, theirs)) => {
                let origin = self.file("config.toml");
                Err(Error::given(origin.display(), key, format!("{ours}, as asked for"), theirs))
            }
        }
    }

    /// Writes config.toml if it is not there.
    pub fn begin(&self) -> Result<()> {
        if self.is_there() {
            return Ok(());
        }
        fs::create_dir_all(&self.path).map_err(Error::io(&self.path, "create"))?;
        Ok(whole_file::write(&self.file("config.toml"), self.config.as_bytes())?)
    }

    /// [`PointFolder::begin`], after clearing a folder with other settings.
    pub fn begin_anew(&self) -> Result<()> {
        if self.difference()?.is_some() {
            // In this order, so that a summary is never beside other settings than its own.
            for name in ["summary.json", PREVIOUS, LAST, "checkpoints/best.safetensors", "config.toml"] {
                let file = self.file(name);
                match fs::remove_file(&file) {
                    Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
                        return Err(Error::io(&file, "remove")(error));
                    }
                    _ => {}
                }
            }
        }
        self.begin()
    }

    /// The result; `None` if the point is not finished.
    pub fn summary<T: DeserializeOwned>(&self) -> Result<Option<T>> {
        run_folder::summary(&self.path)
    }

    /// Stores the result and removes the checkpoints.
    pub fn finish<T: Serialize>(&self, summary: &T) -> Result<()> {
        let text = serde_json::to_string(summary).expect("a summary is plain numbers and names");
        run_folder::write_summary(&self.path, &text)?;
        let checkpoints = self.file("checkpoints");
        if checkpoints.is_dir() {
            fs::remove_dir_all(&checkpoints).map_err(Error::io(&checkpoints, "remove"))?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    fn folder(root: &Path, rate: f64, threads: usize) -> PointFolder {
        PointFolder::new(root.join("point"), format!("seed = 0\n[train]\nrate = {rate}\nthreads = {threads}\n"))
    }

    #[test]
    fn a_point_is_finished_once_and_other_settings_begin_anew() {
        let root = tempfile::tempdir().unwrap();
        let (first, threads, other) =
            (folder(root.path(), 0.1, 1), folder(root.path(), 0.1, 2), folder(root.path(), 0.2, 1));
        first.begin().unwrap();
        let result = |folder: &PointFolder| folder.summary::<BTreeMap<String, f64>>().unwrap();
        assert_eq!(result(&first), None);
        first.finish(&BTreeMap::from([("loss".to_string(), 3.5)])).unwrap();
        threads.check().unwrap();
        threads.begin_anew().unwrap();
        assert_eq!(result(&threads).unwrap()["loss"], 3.5);
        let message = other.check().unwrap_err().to_string();
        assert!(
            message.contains("train.rate") && message.contains("expected 0.2, as asked for, found 0.1"),
            "{message}"
        );
        other.begin_anew().unwrap();
        assert_eq!((result(&other), other.difference().unwrap()), (None, None));
    }
}
