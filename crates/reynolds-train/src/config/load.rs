//! Defaults, then a file, then assignments, then the checks.

use std::collections::BTreeMap;
use std::path::Path;

use toml::{Table, Value};

use super::merge::{join, keys, merge};
use super::{Assignment, Settings};
use crate::error::{Error, Result};

/// The settings of a run: the defaults, over them a file, over that the assignments.
///
/// # Errors
/// [`Error::Io`] if the file cannot be read; [`Error::UnknownKey`] or [`Error::Config`], with the file or "--set", if a key is unknown, a
/// value of the wrong type or out of range, or the file is of another experiment.
pub fn load<S: Settings>(defaults: &S, file: Option<&Path>, assignments: &[Assignment]) -> Result<S> {
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
pub fn parse<S: Settings>(defaults: &S, text: &str, origin: &str) -> Result<S> {
    resolve(defaults, Some((origin, text)), &[])
}

/// The complete settings as TOML, every default spelt out; [`parse`] gives the same settings back.
pub fn text<S: Settings>(config: &S) -> String {
    toml::to_string(config).expect("settings are tables of plain values")
}

/// The complete settings as a tree.
pub(crate) fn tree<S: Settings>(config: &S) -> Table {
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

fn resolve<S: Settings>(defaults: &S, file: Option<(&str, &str)>, assignments: &[Assignment]) -> Result<S> {
    let mut tree = tree(defaults);
    let mut origins = BTreeMap::new();
    if let Some((origin, text)) = file {
        let given = text.parse::<Table>().map_err(|error| not_toml(origin, text, &error))?;
        merge(&mut tree, &given, origin).map_err(renamed::<S>)?;
        origins.extend(keys(&given).into_iter().map(|key| (key, origin.to_string())));
    }
    for assignment in assignments {
        let set = assignment.apply(&mut tree).map_err(renamed::<S>)?;
        origins.extend(set.into_iter().map(|key| (key, assignment.origin().to_string())));
    }
    // The tree holds what the strict walk let pass: still a name that no variant has, or a negative count.
    let config = S::check_parts(&tree).and_then(|()| deserialised::<S>(tree)).and_then(|config| {
        config.check_kind(defaults)?;
        config.validate()?;
        Ok(config)
    });
    config.map_err(|error| blame(error, &origins))
}

/// Of a key that had another meaning once: what it is called now. Some are unknown, some are tables now.
fn renamed<S: Settings>(error: Error) -> Error {
    let (Error::UnknownKey { key, .. } | Error::Config { key, .. }) = &error else { return error };
    let now = S::renamed().iter().find(|(old, _)| old == key).map(|(_, new)| format!("now called \"{new}\""));
    match (error, now) {
        (Error::UnknownKey { origin, key, .. } | Error::Config { origin, key, .. }, Some(hint)) => {
            Error::UnknownKey { origin, key, hint }
        }
        (error, _) => error,
    }
}

/// The part of a tree whose top-level keys are `own`, read by itself.
///
/// # Errors
/// [`Error::Config`] with the dotted key.
pub fn part<T: serde::de::DeserializeOwned>(tree: &Table, own: impl Fn(&str) -> bool) -> Result<T> {
    deserialised(tree.iter().filter(|(key, _)| own(key)).map(|(key, value)| (key.clone(), value.clone())).collect())
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
