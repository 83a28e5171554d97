//! Settings of a target in their types, each refused by its own key.

use toml::{Table, Value};

use reynolds_train::error::{Error, Result};

/// A whole number as TOML has it.
pub(crate) fn integer(value: usize) -> Value {
    Value::Integer(value as i64)
}

/// What lies under a dotted key.
pub(crate) fn at<'a>(settings: &'a Table, key: &str) -> Option<&'a Value> {
    let mut parts = key.split('.');
    let first = settings.get(parts.next()?)?;
    parts.try_fold(first, |value, part| value.get(part))
}

/// A text; empty if there is none.
pub(crate) fn text<'a>(settings: &'a Table, key: &str) -> &'a str {
    at(settings, key).and_then(Value::as_str).unwrap_or_default()
}

/// A whole number from `least` on, under a dotted key.
pub(crate) fn whole(settings: &Table, key: &str, least: usize) -> Result<usize> {
    let value = at(settings, key).and_then(Value::as_integer).and_then(|found| usize::try_from(found).ok());
    let value = value.filter(|value| (least..=1_000_000).contains(value));
    value.ok_or_else(|| Error::config(key, format!("a whole number, at least {least}"), found(settings, key)))
}

/// A finite number, at least 0, under a dotted key.
pub(crate) fn strength(settings: &Table, key: &str) -> Result<f64> {
    let value = at(settings, key).and_then(Value::as_float).filter(|value| value.is_finite() && *value >= 0.0);
    value.ok_or_else(|| Error::config(key, "a finite number, at least 0", found(settings, key)))
}

fn found(settings: &Table, key: &str) -> String {
    at(settings, key).map_or("nothing".into(), Value::to_string)
}

/// The words of a list, given as "a,b" or as TOML.
pub(crate) fn words<'a>(settings: &'a Table, key: &str) -> Vec<&'a str> {
    let inside = text(settings, key).trim().trim_start_matches('[').trim_end_matches(']');
    inside.split(',').map(|word| word.trim().trim_matches(['"', '\''])).filter(|word| !word.is_empty()).collect()
}

/// Those of `all` whose names are listed, in their own order; "all" is all.
pub(crate) fn chosen<T: Copy>(settings: &Table, key: &str, all: &[T], name: impl Fn(T) -> String) -> Result<Vec<T>> {
    let listed = words(settings, key);
    let names: Vec<String> = all.iter().map(|&one| name(one)).collect();
    let expected = || format!("some of {}, or all", names.join(", "));
    if let Some(other) = listed.iter().find(|word| **word != "all" && !names.iter().any(|name| name == *word)) {
        return Err(Error::config(key, expected(), format!("\"{other}\"")));
    }
    if listed.is_empty() {
        return Err(Error::config(key, expected(), "nothing"));
    }
    let wanted = |name: &String| listed.contains(&"all") || listed.contains(&name.as_str());
    Ok(all.iter().zip(&names).filter(|(_, name)| wanted(name)).map(|(&one, _)| one).collect())
}

/// The value of the name that is given.
pub(crate) fn word<T, const N: usize>(settings: &Table, key: &str, all: [(&str, T); N]) -> Result<T> {
    let found = text(settings, key);
    let expected = all.iter().map(|(name, _)| format!("\"{name}\"")).collect::<Vec<_>>().join(" or ");
    let value = all.into_iter().find(|(name, _)| *name == found).map(|(_, value)| value);
    value.ok_or_else(|| Error::config(key, expected, format!("\"{found}\"")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dotted_keys_are_found_and_named() {
        let settings: Table =
            "batch = { first = 4, second = -1 }\nrate = { first = 0.5, second = -0.5 }".parse().unwrap();
        assert_eq!(whole(&settings, "batch.first", 1).unwrap(), 4);
        assert_eq!(strength(&settings, "rate.first").unwrap(), 0.5);
        let message = |error: Error| error.to_string();
        let expected = "config: batch.second: expected a whole number, at least 1, found -1";
        assert_eq!(message(whole(&settings, "batch.second", 1).unwrap_err()), expected);
        assert!(message(strength(&settings, "rate.second").unwrap_err()).starts_with("config: rate.second: expected"));
        assert!(message(whole(&settings, "batch.third", 1).unwrap_err()).ends_with("found nothing"));
        assert!(message(whole(&settings, "batch", 1).unwrap_err()).ends_with("found { first = 4, second = -1 }"));
        assert!(at(&settings, "none.at.all").is_none());
    }

    #[test]
    fn lists_are_words_or_toml_in_the_order_of_all() {
        for list in ["b,a", "[\"b\", 'a']", "all"] {
            let settings = Table::from_iter([("list".to_string(), Value::String(list.into()))]);
            assert_eq!(chosen(&settings, "list", &["a", "b"], String::from).unwrap(), ["a", "b"]);
        }
    }
}
