//! Settings as lines: dotted keys and their values as TOML.

use toml::{Table, Value};

use super::{Settings, tree};

/// Every setting: its dotted key, and its value as TOML.
pub fn lines<S: Settings>(settings: &S) -> Vec<(String, String)> {
    fn below(tree: &Table, path: &str, found: &mut Vec<(String, String)>) {
        for (name, value) in tree {
            let key = super::merge::join(path, name);
            match value {
                Value::Table(inner) => below(inner, &key, found),
                value => found.push((key, value.to_string())),
            }
        }
    }
    let mut found = Vec::new();
    below(&tree(settings), "", &mut found);
    found
}

/// The settings that are not those of `usual`.
pub fn changed<S: Settings>(settings: &S, usual: &S) -> Vec<(String, String)> {
    let usual = lines(usual);
    lines(settings).into_iter().filter(|line| !usual.contains(line)).collect()
}
