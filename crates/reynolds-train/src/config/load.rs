//! Defaults, then a file, then assignments, then the checks.
//!
//! Files and assignments are laid over a tree of the defaults, which holds every valid key with a value of the right type.

use std::collections::BTreeMap;
use std::path::Path;

use toml::{Table, Value};

use super::{Assignment, NONE, Settings, nearest};
use crate::error::{Error, Result};

/// Most keys that an error lists.
const MOST_KEYS: usize = 30;

/// The defaults, overridden by a file, overridden by assignments; checked. Errors say whether a value came from the file or from `--set`.
pub fn load<S: Settings>(defaults: &S, file: Option<&Path>, assignments: &[Assignment]) -> Result<S> {
    let Some(file) = file else { return resolve(defaults, None, assignments) };
    let text = std::fs::read_to_string(file).map_err(Error::io(file, "read"))?;
    resolve(defaults, Some((&file.display().to_string(), &text)), assignments)
}

/// [`load`] from the text of a file, called `origin` in messages.
pub fn parse<S: Settings>(defaults: &S, text: &str, origin: &str) -> Result<S> {
    resolve(defaults, Some((origin, text)), &[])
}

/// The complete settings as TOML, defaults included; [`parse`] reads them back.
pub fn text<S: Settings>(config: &S) -> String {
    toml::to_string(config).expect("settings are tables of plain values")
}

fn tree<S: Settings>(config: &S) -> Table {
    Table::try_from(config).expect("settings are tables of plain values")
}

/// Every setting: dotted key and value as TOML.
pub fn lines<S: Settings>(settings: &S) -> Vec<(String, String)> {
    leaves(&tree(settings))
}

/// The settings that differ from `usual`.
pub fn changed<S: Settings>(settings: &S, usual: &S) -> Vec<(String, String)> {
    let usual = lines(usual);
    lines(settings).into_iter().filter(|line| !usual.contains(line)).collect()
}

/// The first key in which two trees differ, with both values as TOML; "nothing" for a missing one.
pub fn first_difference(ours: &Table, theirs: &Table) -> Option<(String, String, String)> {
    let [a, b] = [ours, theirs].map(|tree| BTreeMap::from_iter(leaves(tree)));
    let show = |value: Option<&String>| value.cloned().unwrap_or_else(|| "nothing".into());
    let key = a.keys().chain(b.keys()).find(|&key| a.get(key) != b.get(key))?;
    Some((key.clone(), show(a.get(key)), show(b.get(key))))
}

/// Every dotted key of a tree and its value, a table before its entries.
fn entries(tree: &Table) -> Vec<(String, &Value)> {
    fn below<'a>(tree: &'a Table, path: &str, found: &mut Vec<(String, &'a Value)>) {
        for (name, value) in tree {
            let key = join(path, name);
            found.push((key.clone(), value));
            if let Value::Table(inner) = value {
                below(inner, &key, found);
            }
        }
    }
    let mut found = Vec::new();
    below(tree, "", &mut found);
    found
}

fn leaves(tree: &Table) -> Vec<(String, String)> {
    let leaves = entries(tree).into_iter().filter(|(_, value)| !value.is_table());
    leaves.map(|(key, value)| (key, value.to_string())).collect()
}

fn join(path: &str, name: &str) -> String {
    if path.is_empty() { name.into() } else { format!("{path}.{name}") }
}

fn resolve<S: Settings>(defaults: &S, file: Option<(&str, &str)>, assignments: &[Assignment]) -> Result<S> {
    let usual = tree(defaults);
    let mut laid = Laid { tree: usual.clone().into(), origins: BTreeMap::new() };
    if let Some((origin, text)) = file {
        let given = text.parse::<Table>().map_err(|error| not_toml(origin, text, &error))?;
        laid.lay("", &given.into(), origin).map_err(renamed::<S>)?;
    }
    for assignment in assignments {
        laid.assign(assignment).map_err(renamed::<S>)?;
    }
    let config = laid.typed::<S>(&usual).and_then(|config| {
        laid.check_experiment(&usual)?;
        config.validate()?;
        Ok(config)
    });
    config.map_err(|error| laid.blame(error))
}

/// Settings under construction.
struct Laid {
    tree: Value,
    /// The file or option that each given setting came from.
    origins: BTreeMap<String, String>,
}

impl Laid {
    /// A key whose default is a text takes any value as text, but for [`NONE`]; others take TOML.
    fn assign(&mut self, assignment: &Assignment) -> Result<()> {
        let value = match (self.find(&assignment.key), assignment.parsed()) {
            (None, _) => return Err(self.unknown(&assignment.key, assignment.origin())),
            (Some(Value::String(text)), value) if text != NONE && !value.is_str() => {
                Value::String(assignment.value.clone())
            }
            (Some(_), value) => value,
        };
        self.lay(&assignment.key, &value, assignment.origin())
    }

    /// Overrides the value of a key; of a table, only the given entries.
    fn lay(&mut self, key: &str, given: &Value, origin: &str) -> Result<()> {
        let Some(place) = self.find(key) else { return Err(self.unknown(key, origin)) };
        if let (Value::Table(_), Value::Table(given)) = (&*place, given) {
            return given.iter().try_for_each(|(name, value)| self.lay(&join(key, name), value, origin));
        }
        *place = fit(place, given).ok_or_else(|| mistyped(origin, key, place, given))?;
        self.origins.insert(key.into(), origin.into());
        Ok(())
    }

    /// The value of a key; the whole tree for "".
    fn find(&mut self, key: &str) -> Option<&mut Value> {
        let mut parts = key.split('.').filter(|_| !key.is_empty());
        parts.try_fold(&mut self.tree, |value, part| value.get_mut(part))
    }

    fn unknown(&self, key: &str, origin: &str) -> Error {
        let known: Vec<String> = self.tree.as_table().into_iter().flat_map(entries).map(|(key, _)| key).collect();
        let hint = match nearest(known.iter().map(String::as_str), |other| likeness(key, other)) {
            Some(near) => format!("did you mean \"{near}\"?"),
            None if known.len() <= MOST_KEYS => format!("valid keys are {}", known.join(", ")),
            None => format!("none of {} keys is like it; --show prints them all", known.len()),
        };
        Error::UnknownKey { origin: origin.into(), key: key.into(), hint }
    }

    /// The typed settings. Values in the tree have the right TOML type, but may be an unknown variant or a negative count.
    fn typed<S: Settings>(&self, usual: &Table) -> Result<S> {
        let error = match self.tree.clone().try_into() {
            Ok(config) => return Ok(config),
            Err(error) => error,
        };
        // serde does not name the key of flattened settings: try each given value alone among the defaults.
        let mut refused = self.origins.keys().filter_map(|key| {
            let value = key.split('.').try_fold(&self.tree, |value, part| value.get(part))?;
            let mut alone = Self { tree: usual.clone().into(), origins: BTreeMap::new() };
            *alone.find(key)? = value.clone();
            let error = alone.tree.try_into::<S>().err()?;
            Some(Error::config(key, expected(error.message()), value))
        });
        Err(refused
            .next()
            .unwrap_or_else(|| Error::config("settings", expected(error.message()), "these values together")))
    }

    fn check_experiment(&self, usual: &Table) -> Result<()> {
        match (usual.get("experiment"), self.tree.get("experiment")) {
            (Some(expected), Some(found)) if expected != found => Err(Error::config("experiment", expected, found)),
            _ => Ok(()),
        }
    }

    /// Adds the origin of the setting to an error.
    fn blame(&self, mut error: Error) -> Error {
        if let Error::Config { origin, key, .. } = &mut error
            && let Some(given) = self.origins.get(key)
        {
            origin.clone_from(given);
        }
        error
    }
}

/// The value, if it has the type of `place`; a whole number is converted to a float. [`NONE`] stands for a number that is not set.
fn fit(place: &Value, value: &Value) -> Option<Value> {
    match (place, value) {
        (Value::Float(_), Value::Integer(number)) => Some(Value::Float(*number as f64)),
        (Value::Float(_), Value::String(text)) | (Value::String(text), Value::Float(_)) if text == NONE => {
            Some(value.clone())
        }
        (Value::String(text), Value::Integer(number)) if text == NONE => Some(Value::Float(*number as f64)),
        (Value::Array(places), Value::Array(values)) => match places.first() {
            Some(first) => values.iter().map(|value| fit(first, value)).collect::<Option<Vec<_>>>().map(Value::Array),
            None => Some(value.clone()),
        },
        _ if place.same_type(value) => Some(value.clone()),
        _ => None,
    }
}

fn mistyped(origin: &str, key: &str, place: &Value, value: &Value) -> Error {
    let found = match value {
        Value::Table(_) => "a table".into(),
        value => format!("{} {value}", describe(value)),
    };
    Error::given(origin, key, describe(place), found)
}

fn describe(value: &Value) -> &'static str {
    match value {
        Value::String(text) if text == NONE => "a number or \"none\"",
        Value::String(_) => "a text",
        Value::Integer(_) => "a whole number",
        Value::Float(_) => "a number",
        Value::Boolean(_) => "true or false",
        Value::Datetime(_) => "a date",
        Value::Array(_) => "a list",
        Value::Table(_) => "a table",
    }
}

/// Similarity of two keys, whole or in their last parts, so that a key under the wrong table is found, too.
fn likeness(key: &str, other: &str) -> f64 {
    let last = |key: &'_ str| key.rsplit('.').next().unwrap_or_default().to_string();
    let part = 0.9 * strsim::normalized_damerau_levenshtein(&last(key), &last(other));
    part.max(strsim::normalized_damerau_levenshtein(key, other))
}

/// Adds the new name of a renamed key to an error. The old name may be unknown, or a table now.
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

/// "`a` or `b`" from serde's "unknown variant `c`, expected `a` or `b`"; Rust types in words.
fn expected(message: &str) -> &str {
    let expected = message.split_once("expected ").map_or(message, |(_, expected)| expected);
    match expected.split(", found ").next().unwrap_or(expected) {
        // TOML has no larger whole numbers.
        "usize" | "u64" => "a whole number from 0",
        "u32" => "a whole number from 0 to 4294967295",
        "u8" => "a whole number from 0 to 255",
        "f64" => "a number",
        other => other,
    }
}

fn not_toml(origin: &str, text: &str, error: &toml::de::Error) -> Error {
    let line = error.span().map_or(1, |span| text[..span.start.min(text.len())].matches('\n').count() + 1);
    Error::given(origin, format!("line {line}"), "TOML", error.message())
}
