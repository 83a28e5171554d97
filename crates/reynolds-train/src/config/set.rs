//! `--set key=value`.

use std::fmt;
use std::str::FromStr;

use toml::{Table, Value};

use crate::error::{Error, Result};

/// A dotted key and the text of its value.
///
/// The value is read as TOML, or else as bare text; for a key that holds a text always as text. A table overrides only the entries it has.
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
    /// Text of the value, as given.
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

    /// The same, given with another option than `--set`.
    pub fn given_with(self, origin: &'static str) -> Self {
        Self { origin, ..self }
    }

    pub(super) fn origin(&self) -> &'static str {
        self.origin
    }

    pub(super) fn parsed(&self) -> Value {
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
            _ => Err(Error::given(SET, text, "key=value", format!("\"{text}\""))),
        }
    }
}

impl fmt::Display for Assignment {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}={}", self.key, self.value)
    }
}
