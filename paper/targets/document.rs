//! The config.toml of a reproduction: target, budget and settings.

use serde::de::IgnoredAny;
use serde::{Deserialize, Serialize};

use super::{Budget, Target};
use reynolds_train::config::Settings;
use reynolds_train::error::{Error, Result};
use reynolds_train::run_folder::RunFolder;

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

/// Budget and settings of a folder of this target.
pub(super) fn read<T: Target>(folder: &RunFolder, target: &T) -> Result<(Budget, T::Settings)> {
    let file = folder.file("config.toml");
    let text = folder.config_text()?.unwrap_or_default();
    let not_toml = |error: toml::de::Error| Error::file(&file, "TOML", error.message());
    // Before the settings, which another target or version may not have.
    let head: Document<IgnoredAny> = toml::from_str(&text).map_err(not_toml)?;
    for (key, found, expected) in
        [("target", head.target, target.name()), ("version", head.version, env!("CARGO_PKG_VERSION"))]
    {
        if found != expected {
            return Err(Error::file(&file, format!("{key} = \"{expected}\""), found));
        }
    }
    let document: Document<T::Settings> = toml::from_str(&text).map_err(not_toml)?;
    document.settings.validate()?;
    Ok((document.budget, document.settings))
}
