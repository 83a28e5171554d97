//! `--grid key=v1,v2,…`.

use std::collections::HashSet;
use std::str::FromStr;

use crate::error::{Error, Result};

/// A key and its values, separated by commas outside brackets, parentheses and quotes.
///
/// ```
/// use reynolds_train::sweep::Axis;
/// let axis: Axis = "penalty.norm = frobenius, (2,1)".parse()?;
/// assert_eq!(axis.values, ["frobenius", "(2,1)"]);
/// assert!("penalty.norm=".parse::<Axis>().is_err());
/// # Ok::<(), reynolds_train::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Axis {
    /// Dotted.
    pub key: String,
    /// As written, each once.
    pub values: Vec<String>,
}

impl FromStr for Axis {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        let refused = |found: &str| Err(Error::given("--grid", text, "key=value,value,… with different values", found));
        let Some((key, values)) = text.split_once('=') else { return refused("no \"=\"") };
        let (key, values) = (key.trim().to_string(), split(values));
        let mut seen = HashSet::new();
        let twice = values.iter().position(|value| !seen.insert(value));
        match twice {
            _ if key.is_empty() => refused("no key"),
            _ if values.iter().any(String::is_empty) => refused("an empty value"),
            Some(twice) => refused(&format!("{} twice", values[twice])),
            None => Ok(Self { key, values }),
        }
    }
}

/// The parts between the commas of the outermost level.
fn split(text: &str) -> Vec<String> {
    let (mut parts, mut depth, mut quoted) = (vec![String::new()], 0_usize, None);
    for letter in text.chars() {
        match (quoted, letter) {
            (None, ',') if depth == 0 => {
                parts.push(String::new());
                continue;
            }
            (None, '(' | '[' | '{') => depth += 1,
            (None, ')' | ']' | '}') => depth = depth.saturating_sub(1),
            (None, '"' | '\'') => quoted = Some(letter),
            (Some(quote), letter) if quote == letter => quoted = None,
            _ => {}
        }
        if let Some(last) = parts.last_mut() {
            last.push(letter);
        }
    }
    parts.iter().map(|part| part.trim().to_string()).collect()
}

#[cfg(test)]
mod tests {
    use super::Axis;

    #[test]
    fn commas_inside_brackets_and_quotes_separate_nothing() {
        let axis: Axis = r#"data.centre=[1, 2],[3,4],"a,b",'c,"d'"#.parse().unwrap();
        assert_eq!(axis.values, ["[1, 2]", "[3,4]", "\"a,b\"", "'c,\"d'"]);
    }

    #[test]
    fn a_malformed_axis_is_refused_with_the_reason() {
        for (text, found) in [("a", "no \"=\""), ("=1", "no key"), ("a=1,,2", "an empty value"), ("a=1,2,1", "1 twice")]
        {
            let message = text.parse::<Axis>().unwrap_err().to_string();
            assert!(message.starts_with("--grid: ") && message.ends_with(found), "{message}");
        }
    }
}
