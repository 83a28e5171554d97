//! Arrays in an uncompressed .npz, with the settings that they were made with as JSON in the array `setting`. NumPy reads them:
//!
//! ```text
//! archive = numpy.load("rotation_k05_j0.npz");  archive["velocity"];  json.loads(archive["setting"].tobytes())
//! ```

use std::borrow::Cow;
use std::path::Path;

use serde::Serialize;

use crate::data::error::{Error, Result};
use reynolds_checkpoint::{Checkpoint, Entry, Numbers, Values, write_npz};

/// The settings as they are stored.
fn json(setting: &impl Serialize) -> String {
    serde_json::to_string(setting).expect("numbers and texts are always valid JSON")
}

/// The first setting that differs, as expected and as found.
fn difference(expected: &str, found: &[u8]) -> Option<(String, String)> {
    if found == expected.as_bytes() {
        return None;
    }
    type Map = serde_json::Map<String, serde_json::Value>;
    let whole = || (expected.to_owned(), String::from_utf8_lossy(found).into_owned());
    let (Ok(one), Ok(other)) = (serde_json::from_str::<Map>(expected), serde_json::from_slice::<Map>(found)) else {
        return Some(whole());
    };
    let differs = one.iter().find(|(key, value)| other.get(*key) != Some(value));
    Some(differs.map_or_else(whole, |(key, value)| {
        let found = other.get(key).map_or_else(|| "nothing".into(), ToString::to_string);
        (format!("{key} {value}"), format!("{key} {found}"))
    }))
}

/// An open file with the expected settings.
#[derive(Debug)]
pub(crate) struct StoredNpz {
    checkpoint: Checkpoint,
}

impl StoredNpz {
    /// Opens a file and compares its settings.
    pub(crate) fn open(path: &Path, setting: &impl Serialize) -> Result<StoredNpz> {
        let file = StoredNpz { checkpoint: Checkpoint::open(path)? };
        let text = file.member("setting")?;
        let (found, expected) = (file.checkpoint.read_plain(&text, "|u1", 1)?, json(setting));
        match difference(&expected, &found) {
            Some((expected, found)) => Err(file.wrong("setting", expected, found)),
            None => {
                drop(found);
                Ok(file)
            }
        }
    }

    /// The array of that name, of that shape.
    pub(crate) fn array(&self, name: &str, shape: &[usize]) -> Result<Entry> {
        let entry = self.member(name)?;
        if entry.shape != shape || entry.dtype.to_string() != "f32" {
            let found = format!("{} {:?}", entry.dtype, entry.shape);
            return Err(self.wrong(name, format!("f32 {shape:?}"), found));
        }
        Ok(entry)
    }

    /// The values of an array, borrowed from the memory map after their checksum was verified.
    pub(crate) fn values(&self, array: &Entry) -> Result<Cow<'_, [f32]>> {
        match self.checkpoint.read(array)? {
            Values::F32(values) => Ok(values),
            Values::F64(_) => unreachable!("the type was checked when the array was found"),
        }
    }

    /// Lets the system drop the values from memory until they are read again.
    pub(crate) fn release(&self, array: &Entry) {
        self.checkpoint.release(array);
    }

    fn member(&self, name: &str) -> Result<Entry> {
        let missing = || self.wrong(name, "an array of this name".into(), "none".into());
        self.checkpoint.entry(name).cloned().ok_or_else(missing)
    }

    fn wrong(&self, tensor: &str, expected: String, found: String) -> Error {
        Error::tensor(self.checkpoint.path(), tensor, expected, found)
    }
}

/// Writes arrays and their settings, whole or not at all.
pub(crate) fn write(path: &Path, setting: &impl Serialize, arrays: &[(&str, &[usize], Numbers<'_>)]) -> Result<()> {
    let text = json(setting);
    let length = [text.len()];
    let setting = ("setting", &length[..], Numbers::U8(text.as_bytes()));
    let members: Vec<_> = std::iter::once(setting).chain(arrays.iter().copied()).collect();
    Ok(write_npz(path, &members)?)
}
