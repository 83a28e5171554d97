//! A strict walk that lays given values over a tree of defaults.

use toml::{Table, Value};

use crate::error::{Error, Result};

/// Lays `given` over `tree`, which holds every valid key with a value of the right type.
pub(super) fn merge(tree: &mut Table, given: &Table, origin: &str) -> Result<()> {
    let known = keys(tree);
    merge_below(tree, given, "", &Context { origin, known: &known })
}

/// What messages name beside the key.
pub(super) struct Context<'a> {
    /// Where the values came from.
    pub(super) origin: &'a str,
    /// Every key of the whole tree.
    pub(super) known: &'a [String],
}

/// As [`merge`], of the table that stands at `path` in a tree.
pub(super) fn merge_below(tree: &mut Table, given: &Table, path: &str, context: &Context<'_>) -> Result<()> {
    for (name, value) in given {
        let key = join(path, name);
        match (tree.get_mut(name), value) {
            (None, _) => return Err(unknown(context.origin, &key, context.known)),
            (Some(Value::Table(inner)), Value::Table(value)) => merge_below(inner, value, &key, context)?,
            (Some(place), value) => {
                *place = fit(place, value).ok_or_else(|| mistyped(context.origin, &key, place, value))?
            }
        }
    }
    Ok(())
}

/// The value in the type of `place`; whole numbers do for floating ones.
pub(super) fn fit(place: &Value, value: &Value) -> Option<Value> {
    match (place, value) {
        (Value::Float(_), Value::Integer(number)) => Some(Value::Float(*number as f64)),
        (Value::Array(places), Value::Array(values)) => match places.first() {
            Some(first) => values.iter().map(|value| fit(first, value)).collect::<Option<Vec<_>>>().map(Value::Array),
            None => Some(value.clone()),
        },
        _ if place.same_type(value) => Some(value.clone()),
        _ => None,
    }
}

/// The error of a key that the tree does not have.
pub(super) fn unknown(origin: &str, key: &str, known: &[String]) -> Error {
    let hint = match nearest(key, known) {
        Some(near) => format!("did you mean \"{near}\"?"),
        None => format!("valid keys are {}", known.join(", ")),
    };
    Error::UnknownKey { origin: origin.into(), key: key.into(), hint }
}

/// The error of a value of another type.
pub(super) fn mistyped(origin: &str, key: &str, place: &Value, value: &Value) -> Error {
    let expected = describe(place).to_string();
    let found = match value {
        Value::Table(_) => "a table".into(),
        value => format!("{} {value}", describe(value)),
    };
    Error::Config { origin: origin.into(), key: key.into(), expected, found }
}

fn describe(value: &Value) -> &'static str {
    match value {
        Value::String(_) => "a text",
        Value::Integer(_) => "a whole number",
        Value::Float(_) => "a number",
        Value::Boolean(_) => "true or false",
        Value::Datetime(_) => "a date",
        Value::Array(_) => "a list",
        Value::Table(_) => "a table",
    }
}

/// Every dotted key of a tree, tables included.
pub(super) fn keys(tree: &Table) -> Vec<String> {
    let mut found = Vec::new();
    collect(tree, "", &mut found);
    found
}

fn collect(tree: &Table, path: &str, found: &mut Vec<String>) {
    for (name, value) in tree {
        let key = join(path, name);
        found.push(key.clone());
        if let Value::Table(inner) = value {
            collect(inner, &key, found);
        }
    }
}

pub(super) fn join(path: &str, name: &str) -> String {
    if path.is_empty() { name.into() } else { format!("{path}.{name}") }
}

/// The known key most like `key`, whole or in its last part, if any is like it at all.
fn nearest<'a>(key: &str, known: &'a [String]) -> Option<&'a String> {
    let last = |key: &str| key.rsplit('.').next().unwrap_or_default().to_string();
    let likeness = |other: &String| {
        let whole = strsim::normalized_damerau_levenshtein(key, other);
        // A key given under the wrong table is as like as one misspelt by a letter or so.
        let part = 0.9 * strsim::normalized_damerau_levenshtein(&last(key), &last(other));
        whole.max(part)
    };
    let best = known.iter().max_by(|a, b| likeness(a).total_cmp(&likeness(b)))?;
    (likeness(best) >= 0.5).then_some(best)
}
