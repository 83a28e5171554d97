//! A data set of pairs: its settings, and its files, memory-mapped.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use serde::{Deserialize, Serialize};

use super::case::{Case, MAKER, Part};
use super::file::CtFile;
use super::scanner::Scanner;
use crate::data::error::{Error, Result};

/// The list of cases in the folder of a set.
pub(super) const LIST: &str = "set.json";

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Source {
    /// Built-in random anatomies, each a patient of its own.
    #[default]
    Phantom,
    /// Real slices in files.
    Slices,
}

impl std::str::FromStr for Source {
    type Err = Error;

    fn from_str(text: &str) -> Result<Source> {
        match text {
            "phantom" => Ok(Source::Phantom),
            "slices" => Ok(Source::Slices),
            _ => Err(Error::setting("source", "phantom or slices", text)),
        }
    }
}

impl std::fmt::Display for Source {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Source::Phantom => "phantom",
            Source::Slices => "slices",
        })
    }
}

/// What a data set follows from, besides the files of its [`Library`](super::Library).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct SetConfig {
    pub source: Source,
    pub side: usize,
    pub train: usize,
    pub validation: usize,
    pub test: usize,
    /// Of everything drawn at random.
    pub seed: u64,
    /// The series that is tested on, and nothing else; "" = the one of median length, so that training keeps the longest.
    pub test_series: String,
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
    /// Whether the settings make sense.
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

    pub fn count(&self, part: Part) -> usize {
        match part {
            Part::Train => self.train,
            Part::Validation => self.validation,
            Part::Test => self.test,
            Part::Figure => 1,
        }
    }

    /// The settings that another set has otherwise, numbers of pairs aside: as they are here, and as they are there.
    pub(super) fn differences(&self, other: &SetConfig) -> Option<(String, String)> {
        let (here, there) = (self.named(), other.named());
        let names: Vec<&String> = here.keys().chain(there.keys().filter(|name| !here.contains_key(*name))).collect();
        let differing: Vec<&String> = names.into_iter().filter(|name| here.get(*name) != there.get(*name)).collect();
        let text = |values: &BTreeMap<String, String>| {
            let value = |name: &&String| format!("{name} {}", values.get(*name).map_or("none", String::as_str));
            differing.iter().map(value).collect::<Vec<_>>().join(", ")
        };
        (!differing.is_empty()).then(|| (text(&here), text(&there)))
    }

    /// The settings but the numbers of pairs, by names such as "scanner.views".
    fn named(&self) -> BTreeMap<String, String> {
        fn add(name: String, value: serde_json::Value, all: &mut BTreeMap<String, String>) {
            match value {
                serde_json::Value::Object(inner) => {
                    inner.into_iter().for_each(|(key, value)| add(format!("{name}.{key}"), value, all));
                }
                serde_json::Value::String(text) if !text.is_empty() => drop(all.insert(name, text)),
                other => drop(all.insert(name, other.to_string())),
            }
        }
        let mut all = BTreeMap::new();
        if let Ok(serde_json::Value::Object(settings)) = serde_json::to_value(self) {
            settings.into_iter().for_each(|(key, value)| add(key, value, &mut all));
        }
        for count in ["train", "validation", "test"] {
            all.remove(count);
        }
        all
    }
}

/// What is in the folder of a set.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct List {
    pub(super) config: SetConfig,
    pub(super) cases: Vec<Case>,
}

/// A data set on disk, opened and checked.
///
/// Images are handed out from memory maps: they cost address space and page cache, and no memory of their own.
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
        let list: List = serde_json::from_slice(&text)
            .map_err(|error| Error::malformed(&path, "the settings and cases of a set of CT pairs", error))?;
        let parts: Vec<Part> = Part::ALL
            .into_iter()
            .flat_map(|part| vec![part; list.config.count(part).min(list.cases.len() + 1)])
            .collect();
        if !list.cases.iter().map(|case| case.part).eq(parts.iter().copied()) {
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

    /// The settings that it was made with.
    pub fn config(&self) -> &SetConfig {
        &self.list.config
    }

    pub fn cases(&self, part: Part) -> &[Case] {
        &self.list.cases[self.first(part)..][..self.config().count(part)]
    }

    /// Cases before a part.
    fn first(&self, part: Part) -> usize {
        Part::ALL.iter().take_while(|other| **other != part).map(|other| self.config().count(*other)).sum()
    }

    /// The images of a case, by its number in the part.
    ///
    /// # Panics
    /// If the part has no case of that number.
    pub fn file(&self, part: Part, number: usize) -> &CtFile {
        let cases = self.cases(part);
        assert!(number < cases.len(), "{} has {} cases, not {number}", part.name(), cases.len());
        &self.files[self.first(part) + number]
    }

    pub fn bytes(&self) -> usize {
        self.list.cases.iter().map(Case::bytes).sum()
    }
}
