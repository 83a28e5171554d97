//! Costs: measured in a process of their own, since libtorch gives no memory back and a peak is that of the whole process.
//!
//! ```text
//! <folder>/cost.toml   what is measured   ──reynolds-paper cost FOLDER──►   <folder>/cost.json   what came of it
//! ```

use std::fs;
use std::path::Path;

use reynolds_torch::tch::Device;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use super::point::Trained;
use crate::ct::CtBench;
use reynolds_checkpoint::whole_file;
use reynolds_train::environment::Environment;
use reynolds_train::error::{Error, Result};
use reynolds_train::interrupt::Interrupt;
use reynolds_train::sweep::Launcher;

/// Something whose time and memory are measured.
pub trait Cost: Serialize + DeserializeOwned {
    /// Tells its file from those of others.
    const KIND: &'static str;

    /// Measures it in this process.
    ///
    /// # Errors
    /// [`Error::Config`] if a size is out of range; what libtorch fails with.
    fn measure(&self, device: Device) -> Result<Trained>;
}

#[derive(Serialize, Deserialize)]
struct Document<C> {
    kind: String,
    cost: C,
}

/// Measures it in a child of this process; `None` if a stop was asked for.
///
/// # Errors
/// What the child failed with.
pub fn in_a_child<C: Cost>(
    cost: &C,
    launcher: &Launcher,
    device: Device,
    interrupt: &Interrupt,
) -> Result<Option<Trained>> {
    let folder = tempfile::tempdir().map_err(Error::io(Path::new("a temporary folder"), "create"))?;
    let text = toml::to_string(&Document { kind: C::KIND.into(), cost }).expect("sizes and names");
    whole_file::write(&folder.path().join("cost.toml"), text.as_bytes())?;
    let device = Environment::now(device).device;
    if !launcher.on_folder("cost", folder.path(), &device, interrupt)? {
        return Ok(None);
    }
    let file = folder.path().join("cost.json");
    let text = fs::read_to_string(&file).map_err(Error::io(&file, "read"))?;
    serde_json::from_str(&text).map(Some).map_err(|error| Error::file(&file, "a measurement", error))
}

/// Measures what the folder asks for: the command of the child.
///
/// # Errors
/// [`Error::File`] if its cost.toml is none; as [`Cost::measure`].
pub fn carry_out(folder: &Path, device: Device) -> Result<()> {
    #[derive(Deserialize)]
    struct Kind {
        kind: String,
    }
    let file = folder.join("cost.toml");
    let text = fs::read_to_string(&file).map_err(Error::io(&file, "read"))?;
    let kind: Kind = read(&file, &text)?;
    let trained = match kind.kind.as_str() {
        CtBench::KIND => measured::<CtBench>(&file, &text, device)?,
        other => return Err(Error::file(&file, "a kind of cost", other)),
    };
    write(folder, &trained)
}

fn measured<C: Cost>(file: &Path, text: &str, device: Device) -> Result<Trained> {
    read::<Document<C>>(file, text)?.cost.measure(device)
}

fn read<T: DeserializeOwned>(file: &Path, text: &str) -> Result<T> {
    toml::from_str(text).map_err(|error| Error::file(file, "what is to be measured", error.message()))
}

fn write(folder: &Path, trained: &Trained) -> Result<()> {
    let text = serde_json::to_string(trained).expect("plain numbers and names");
    Ok(whole_file::write(&folder.join("cost.json"), text.as_bytes())?)
}
