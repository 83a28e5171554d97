//! A data set of pairs: its settings, and its files, memory-mapped.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

use super::case::{Case, MAKER, Subset};
use super::file::CtFile;
use super::scanner::Scanner;
use crate::data::error::{Error, Result};
use serde::{Deserialize, Serialize};

pub(super) const LIST: &str = "set.json";

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Source {
    /// Built-in random anatomies.
    #[default]
    Phantom,
    /// Real slices in files.
    Slices,
}

impl std::str::FromStr for Source {
    type Err = Error;

    fn from_str(text: &str) -> Result<Source> {
        let found = [Source::Phantom, Source::Slices].into_iter().find(|source| source.to_string() == text);
        found.ok_or_else(|| Error::setting("source", "phantom or slices", text))
    }
}

impl std::fmt::Display for Source {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(["phantom", "slices"][*self as usize])
    }
}

/// The settings of a data set, which with the files of its [`Library`](super::Library) determine it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, clap::Args)]
#[serde(default, deny_unknown_fields)]
pub struct SetConfig {
    /// Bodies to scan: built-in phantoms, or real slices from files
    #[arg(long, value_name = "phantom|slices", default_value_t = Self::default().source)]
    pub source: Source,
    /// Pixels along a side
    #[arg(long, value_name = "n", default_value_t = Self::default().side)]
    pub side: usize,
    /// Number of training pairs
    #[arg(long, value_name = "n", default_value_t = Self::default().train)]
    pub train: usize,
    /// Number of validation pairs
    #[arg(long, value_name = "n", default_value_t = Self::default().validation)]
    pub validation: usize,
    /// Number of test pairs
    #[arg(long, value_name = "n", default_value_t = Self::default().test)]
    pub test: usize,
    /// Random seed
    #[arg(long, value_name = "n", default_value_t = Self::default().seed)]
    pub seed: u64,
    /// Series that is used for testing alone; the one of median length by default, so that training keeps the longest
    #[arg(long, value_name = "NAME", default_value_t = Self::default().test_series, hide_default_value = true)]
    pub test_series: String,
    #[arg(skip)]
    pub scanner: Scanner,
}

impl Default for SetConfig {
    fn default() -> SetConfig {
        SetConfig {
            source: Source::Phantom,
            side: 256,
            train: 480,
            validation: 48,
            test: 60,
            seed: 0,
            test_series: String::new(),
            scanner: Scanner::default(),
        }
    }
}

impl SetConfig {
    pub fn validate(&self) -> Result<()> {
        if !(16..=1024).contains(&self.side) {
            return Err(Error::setting("side", "16 to 1024", self.side));
        }
        for (what, count) in [("train", self.train), ("validation", self.validation), ("test", self.test)] {
            if count > 1_000_000 {
                return Err(Error::setting(what, "at most 1000000", count));
            }
        }
        self.scanner.validate()
    }

    pub fn count(&self, part: Subset) -> usize {
        match part {
            Subset::Train => self.train,
            Subset::Validation => self.validation,
            Subset::Test => self.test,
            Subset::Figure => 1,
        }
    }

    /// The settings in which another set differs, numbers of pairs aside: as they are here, and as they are there.
    pub fn differences(&self, other: &SetConfig) -> Option<[String; 2]> {
        let (here, there) = (self.named(), other.named());
        // In the order of their names; a beam of another kind has others.
        let names: BTreeSet<&String> = here.keys().chain(there.keys()).collect();
        let differing: Vec<&String> = names.into_iter().filter(|name| here.get(*name) != there.get(*name)).collect();
        let text = |values: &BTreeMap<String, String>| {
            let value = |name: &&String| format!("{name} {}", values.get(*name).map_or("none", String::as_str));
            differing.iter().map(value).collect::<Vec<_>>().join(", ")
        };
        (!differing.is_empty()).then(|| [text(&here), text(&there)])
    }

    /// The settings but the numbers of pairs, by names such as "scanner.views".
    fn named(&self) -> BTreeMap<String, String> {
        fn leaves(name: String, value: serde_json::Value) -> Vec<(String, String)> {
            match value {
                serde_json::Value::Object(inner) => {
                    let dot = if name.is_empty() { "" } else { "." };
                    inner.into_iter().flat_map(|(key, value)| leaves(format!("{name}{dot}{key}"), value)).collect()
                }
                serde_json::Value::String(text) if !text.is_empty() => vec![(name, text)],
                other => vec![(name, other.to_string())],
            }
        }
        let all = leaves(String::new(), serde_json::to_value(self).unwrap_or_default());
        all.into_iter().filter(|(name, _)| !["train", "validation", "test"].contains(&name.as_str())).collect()
    }
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct List {
    pub(super) config: SetConfig,
    pub(super) cases: Vec<Case>,
}

/// A data set on disk, opened and checked. Images come from memory maps.
#[derive(Debug)]
pub struct CtSet {
    list: List,
    files: Vec<CtFile>,
}

impl CtSet {
    /// Opens a data set that [`generate`](super::generate) wrote to `folder`.
    pub fn open(folder: impl AsRef<Path>) -> Result<CtSet> {
        let folder = folder.as_ref();
        let path = folder.join(LIST);
        let text = fs::read(&path).map_err(Error::io(&path, "open"))?;
        let malformed = |error| Error::malformed(&path, "the settings and cases of a set of CT pairs", error);
        let list: List = serde_json::from_slice(&text).map_err(malformed)?;
        let parts = Subset::ALL.into_iter().flat_map(|part| std::iter::repeat_n(part, list.config.count(part)));
        if !list.cases.iter().map(|case| case.part).eq(parts) {
            let expected = "as many cases of each part as its settings say, part by part";
            return Err(Error::malformed(&path, expected, format!("{} cases", list.cases.len())));
        }
        if let Some(case) = list.cases.iter().find(|case| case.maker != MAKER) {
            let found = format!("{} of \"{}\"", case.name, case.maker);
            return Err(Error::malformed(&path, format!("pairs of \"{MAKER}\""), found));
        }
        let files = list.cases.iter().map(|case| CtFile::open(folder, case)).collect::<Result<_>>()?;
        Ok(CtSet { list, files })
    }

    pub fn config(&self) -> &SetConfig {
        &self.list.config
    }

    pub fn cases(&self, part: Subset) -> &[Case] {
        &self.list.cases[self.first(part)..][..self.config().count(part)]
    }

    /// Cases before a part.
    fn first(&self, part: Subset) -> usize {
        Subset::ALL.iter().take_while(|other| **other != part).map(|other| self.config().count(*other)).sum()
    }

    /// The images of a case, by its number in the part.
    pub fn file(&self, part: Subset, number: usize) -> &CtFile {
        &self.files[self.first(part)..][..self.config().count(part)][number]
    }

    pub fn bytes(&self) -> usize {
        self.list.cases.iter().map(Case::bytes).sum()
    }
}
