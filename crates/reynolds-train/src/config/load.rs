//! Defaults, then a file, then assignments, then the checks.

use std::collections::BTreeMap;
use std::path::Path;

use toml::{Table, Value};

use super::merge::{join, keys, merge};
use super::{Assignment, RunConfig, Settings};
use crate::error::{Error, Result};

/// The settings of a run: the defaults, over them a file, over that the assignments.
///
/// # Errors
/// [`Error::Io`] if the file cannot be read; [`Error::UnknownKey`] or [`Error::Config`], with the file or "--set", if a key is unknown, a
/// value of the wrong type or out of range, or the file is of another experiment.
pub fn load<S: Settings>(
    defaults: &RunConfig<S>,
    file: Option<&Path>,
    assignments: &[Assignment],
) -> Result<RunConfig<S>> {
    let given = match file {
        Some(file) => {
            let text = std::fs::read_to_string(file).map_err(Error::io(file, "read"))?;
            Some((file.display().to_string(), text))
        }
        None => None,
    };
    resolve(defaults, given.as_ref().map(|(origin, text)| (origin.as_str(), text.as_str())), assignments)
}

/// As [`load`], from the text of a file; `origin` stands for it in messages.
///
/// # Errors
/// As [`load`].
pub fn parse<S: Settings>(defaults: &RunConfig<S>, text: &str, origin: &str) -> Result<RunConfig<S>> {
    resolve(defaults, Some((origin, text)), &[])
}

/// The complete settings as TOML, every default spelt out; [`parse`] gives the same settings back.
pub fn text<S: Settings>(config: &RunConfig<S>) -> String {
    toml::to_string(config).expect("settings are tables of plain values")
}

/// The complete settings as a tree.
pub fn tree<S: Settings>(config: &RunConfig<S>) -> Table {
    Table::try_from(config).expect("settings are tables of plain values")
}

/// The first key in which two trees differ, with both values as TOML; "nothing" where there is none.
pub fn first_difference(ours: &Table, theirs: &Table) -> Option<(String, String, String)> {
    let (a, b) = (leaves(ours), leaves(theirs));
    let show = |value: Option<&String>| value.cloned().unwrap_or_else(|| "nothing".into());
    let key = a.keys().chain(b.keys()).find(|&key| a.get(key) != b.get(key))?;
    Some((key.clone(), show(a.get(key)), show(b.get(key))))
}

fn leaves(tree: &Table) -> BTreeMap<String, String> {
    fn visit(tree: &Table, path: &str, found: &mut BTreeMap<String, String>) {
        for (name, value) in tree {
            let key = join(path, name);
            match value {
                Value::Table(inner) => visit(inner, &key, found),
                value => drop(found.insert(key, value.to_string())),
            }
        }
    }
    let mut found = BTreeMap::new();
    visit(tree, "", &mut found);
    found
}

fn resolve<S: Settings>(
    defaults: &RunConfig<S>,
    file: Option<(&str, &str)>,
    assignments: &[Assignment],
) -> Result<RunConfig<S>> {
    let mut tree = tree(defaults);
    let mut origins = BTreeMap::new();
    if let Some((origin, text)) = file {
        let given = text.parse::<Table>().map_err(|error| not_toml(origin, text, &error))?;
        merge(&mut tree, &given, origin)?;
        origins.extend(keys(&given).into_iter().map(|key| (key, origin.to_string())));
    }
    for assignment in assignments {
        let set = assignment.apply(&mut tree)?;
        origins.extend(set.into_iter().map(|key| (key, assignment.origin().to_string())));
    }
    let config = typed(tree).and_then(|config: RunConfig<S>| {
        if config.experiment != defaults.experiment {
            let expected = format!("\"{}\"", defaults.experiment);
            return Err(Error::config("experiment", expected, format!("\"{}\"", config.experiment)));
        }
        config.validate()?;
        Ok(config)
    });
    config.map_err(|error| blame(error, &origins))
}

/// The tree in its Rust types; what the strict walk let pass can still be a name that no variant has or a negative count.
fn typed<S: Settings>(tree: Table) -> Result<RunConfig<S>> {
    // The experiment's own tables first and alone: inside the whole, where they are flattened, serde forgets which key was wrong.
    let mut own = tree.clone();
    for key in ["experiment", "seed", "penalty", "train"] {
        own.remove(key);
    }
    deserialised::<S>(own)?;
    deserialised(tree)
}

fn deserialised<T: serde::de::DeserializeOwned>(tree: Table) -> Result<T> {
    serde_path_to_error::deserialize(tree.clone()).map_err(|error: serde_path_to_error::Error<toml::de::Error>| {
        let key = error.path().to_string();
        let found = key.split('.').try_fold(&Value::Table(tree), |value, part| value.get(part)).map(Value::to_string);
        Error::config(key, expected(error.inner().message()), found.unwrap_or_else(|| "nothing".into()))
    })
}

/// "`a` or `b`" out of "unknown variant `c`, expected `a` or `b`"; types of Rust in words.
fn expected(message: &str) -> &str {
    let expected = message.split_once("expected ").map_or(message, |(_, expected)| expected);
    match expected.split(", found ").next().unwrap_or(expected) {
        // TOML has no whole number that is too large for them.
        "usize" | "u64" => "a whole number from 0",
        "u32" => "a whole number from 0 to 4294967295",
        "u8" => "a whole number from 0 to 255",
        other => other,
    }
}

fn not_toml(origin: &str, text: &str, error: &toml::de::Error) -> Error {
    let line = error.span().map_or(1, |span| text[..span.start.min(text.len())].matches('\n').count() + 1);
    Error::Config {
        origin: origin.into(),
        key: format!("line {line}"),
        expected: "TOML".into(),
        found: error.message().to_string(),
    }
}

/// Says of a setting where it came from.
fn blame(error: Error, origins: &BTreeMap<String, String>) -> Error {
    match error {
        Error::Config { origin, key, expected, found } => {
            let origin = origins.get(&key).cloned().unwrap_or(origin);
            Error::Config { origin, key, expected, found }
        }
        other => other,
    }
}
