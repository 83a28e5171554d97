//! `--set key=value`.

use std::fmt;
use std::str::FromStr;

use toml::{Table, Value};

use super::merge::{fit, keys, mistyped, unknown};
use crate::error::{Error, Result};

/// A dotted key and the text of its value.
///
/// The value is read as TOML; what is none is a bare text, and so is anything given for a key that holds a text.
///
/// ```
/// use reynolds_lab::config::Assignment;
/// let assignment: Assignment = "penalty.lambda_perp = 0.1".parse()?;
/// assert_eq!(assignment.to_string(), "penalty.lambda_perp=0.1");
/// assert!("lambda".parse::<Assignment>().is_err());
/// # Ok::<(), reynolds_lab::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Assignment {
    /// Dotted, as in "penalty.lambda_perp".
    pub key: String,
    /// As written.
    pub value: String,
}

impl Assignment {
    /// A key and a value that prints as TOML.
    pub fn new(key: &str, value: impl ToString) -> Self {
        Self { key: key.into(), value: value.to_string() }
    }

    /// Lays the value over a tree of defaults.
    pub(crate) fn apply(&self, tree: &mut Table) -> Result<()> {
        const ORIGIN: &str = "--set";
        let missing = |tree: &Table| unknown(ORIGIN, &self.key, &keys(tree));
        let whole = tree.clone();
        let mut parts = self.key.split('.');
        let last = parts.next_back().unwrap_or_default();
        let mut table = tree;
        for part in parts {
            let Some(Value::Table(inner)) = table.get_mut(part) else { return Err(missing(&whole)) };
            table = inner;
        }
        let Some(place) = table.get_mut(last) else { return Err(missing(&whole)) };
        let value = self.parsed();
        *place = match (&*place, value) {
            (Value::String(_), value) if !value.is_str() => Value::String(self.value.clone()),
            (place, value) => fit(place, &value).ok_or_else(|| mistyped(ORIGIN, &self.key, place, &value))?,
        };
        Ok(())
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
            Some((key, value)) if !key.trim().is_empty() => {
                Ok(Self { key: key.trim().into(), value: value.trim().into() })
            }
            _ => Err(Error::Config {
                origin: "--set".into(),
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
