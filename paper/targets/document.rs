//! The config.toml of a reproduction: target, budget and settings.

use serde::de::{DeserializeOwned, IgnoredAny};
use serde::{Deserialize, Serialize};
use std::path::{Path, PathBuf};

use super::{Budget, Target};
use reynolds_train::config::Settings;
use reynolds_train::error::{Error, Result};
use reynolds_train::run_folder::{self, RunFolder};

#[derive(Serialize, Deserialize)]
struct Document<S> {
    target: String,
    budget: Budget,
    version: String,
    settings: S,
}

pub(super) fn write<T: Target>(folder: &RunFolder, target: &T, budget: Budget, settings: &T::Settings) -> Result<()> {
    let (name, version) = (target.name().into(), env!("CARGO_PKG_VERSION").into());
    let document = Document { target: name, budget, version, settings };
    let text = toml::to_string(&document).expect("settings are tables of plain values");
    folder.write("config.toml", text.as_bytes())
}

/// The name of the target of a folder.
pub(super) fn name(folder: &Path) -> Result<String> {
    let (file, text) = text(folder)?;
    Ok(parsed::<Document<IgnoredAny>>(&file, &text)?.target)
}

fn text(folder: &Path) -> Result<(PathBuf, String)> {
    let file = folder.join("config.toml");
    let text = run_folder::read_if_there(&file)?.unwrap_or_default();
    Ok((file, text))
}

fn parsed<D: DeserializeOwned>(file: &Path, text: &str) -> Result<D> {
    toml::from_str(text).map_err(|error| Error::file(file, "TOML", error.message()))
}

/// Budget and settings of a folder of this target.
pub(super) fn read<T: Target>(folder: &Path, target: &T) -> Result<(Budget, T::Settings)> {
    let (file, text) = text(folder)?;
    // Before the settings, which another target or version may not have.
    let head: Document<IgnoredAny> = parsed(&file, &text)?;
    for (key, found, expected) in
        [("target", head.target, target.name()), ("version", head.version, env!("CARGO_PKG_VERSION"))]
    {
        if found != expected {
            return Err(Error::file(&file, format!("{key} = \"{expected}\""), found));
        }
    }
    let document: Document<T::Settings> = parsed(&file, &text)?;
    document.settings.validate()?;
    Ok((document.budget, document.settings))
}
