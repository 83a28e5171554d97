//! Arrays that measurements share with other programs, as .npz.

use std::path::Path;

use reynolds_checkpoint::{Checkpoint, Numbers, Values, write_npz};
use serde::{Deserialize, Serialize};

use reynolds_train::error::{Error, Result};

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Float {
    F32,
    F64,
}

/// Row-major numbers of a shape.
#[derive(Debug, Clone, PartialEq)]
pub struct Array {
    pub shape: Vec<usize>,
    pub values: Values<'static>,
}

impl Array {
    /// The array `name` of a .npz, or of any other file of tensors.
    pub fn read(file: &Path, name: &str) -> Result<Self> {
        Self::read_if_there(file, name)?.ok_or_else(|| Error::file(file, format!("an array \"{name}\""), "none"))
    }

    /// As [`Array::read`]; `None` if the file has no array of this name.
    pub fn read_if_there(file: &Path, name: &str) -> Result<Option<Self>> {
        let archive = Checkpoint::open(file)?;
        let Some(entry) = archive.entry(name) else { return Ok(None) };
        Ok(Some(Self { shape: entry.shape.clone(), values: archive.read(entry)?.into_owned() }))
    }

    /// Writes it alone to a .npz, under `name`, whole or not at all.
    pub fn write(&self, file: &Path, name: &str) -> Result<()> {
        let numbers = match &self.values {
            Values::F32(values) => Numbers::F32(values),
            Values::F64(values) => Numbers::F64(values),
        };
        Ok(write_npz(file, &[(name, &self.shape, numbers)])?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_array_comes_back_as_it_was_written() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("a.npz");
        for values in [Values::F32(vec![1.5, -2.0, 0.1].into()), Values::F64(vec![1.5, -2.0, 0.1].into())] {
            let array = Array { shape: vec![3, 1], values };
            array.write(&file, "projected").unwrap();
            assert_eq!(Array::read(&file, "projected").unwrap(), array);
        }
        let message = Array::read(&file, "weights").unwrap_err().to_string();
        assert!(message.contains("a.npz") && message.contains("an array \"weights\""), "{message}");
    }
}
