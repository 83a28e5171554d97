//! `--set key=value`.

use std::fmt;
use std::str::FromStr;

use toml::{Table, Value};

use super::merge::{Context, fit, join, keys, merge_below, mistyped, unknown};
use crate::error::{Error, Result};

/// A dotted key and the text of its value.
///
/// The value is read as TOML; what is none is a bare text, and so is anything given for a key that holds a text. A table is laid over the
/// one that is there, as a table of a file is.
///
/// ```
/// use reynolds_train::config::Assignment;
/// let assignment: Assignment = "penalty.lambda_perp = 0.1".parse()?;
/// assert_eq!(assignment.to_string(), "penalty.lambda_perp=0.1");
/// assert!("lambda".parse::<Assignment>().is_err());
/// # Ok::<(), reynolds_train::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Assignment {
    /// Dotted, as in "penalty.lambda_perp".
    pub key: String,
    /// As written.
    pub value: String,
    /// The option it was given with, for messages.
    origin: &'static str,
}

const SET: &str = "--set";

impl Assignment {
    /// A key and a value that prints as TOML.
    pub fn new(key: &str, value: impl ToString) -> Self {
        Self { key: key.into(), value: value.to_string(), origin: SET }
    }

    /// The same, given with another option.
    pub fn given_with(self, origin: &'static str) -> Self {
        Self { origin, ..self }
    }

    /// The option it was given with.
    pub fn origin(&self) -> &'static str {
        self.origin
    }

    /// Lays the value over a tree of defaults; the keys that it sets.
    pub fn apply(&self, tree: &mut Table) -> Result<Vec<String>> {
        let known = keys(tree);
        let missing = || unknown(self.origin, &self.key, &known);
        let mut parts = self.key.split('.');
        let last = parts.next_back().unwrap_or_default();
        let mut table = tree;
        for part in parts {
            let Some(Value::Table(inner)) = table.get_mut(part) else { return Err(missing()) };
            table = inner;
        }
        let Some(place) = table.get_mut(last) else { return Err(missing()) };
        match (place, self.parsed()) {
            (Value::Table(inner), Value::Table(given)) => {
                merge_below(inner, &given, &self.key, &Context { origin: self.origin, known: &known })?;
                return Ok(keys(&given).iter().map(|key| join(&self.key, key)).collect());
            }
            (place @ Value::String(_), value) if !value.is_str() => *place = Value::String(self.value.clone()),
            (place, value) => {
                *place = fit(place, &value).ok_or_else(|| mistyped(self.origin, &self.key, place, &value))?;
            }
        }
        Ok(vec![self.key.clone()])
    }

    fn parsed(&self) -> Value {
        match format!("value = {}", self.value).parse::<Table>() {
            Ok(mut table) if table.len() == 1 => table.remove("value"),
            _ => None,
        }
        .unwrap_or_else(|| Value::String(self.value.clone()))
    }
}

impl FromStr for Assignment {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        match text.split_once('=') {
            Some((key, value)) if !key.trim().is_empty() => Ok(Self::new(key.trim(), value.trim())),
            _ => Err(Error::Config {
                origin: SET.into(),
                key: text.into(),
                expected: "key=value".into(),
                found: format!("\"{text}\""),
            }),
        }
    }
}

impl fmt::Display for Assignment {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}={}", self.key, self.value)
    }
}
