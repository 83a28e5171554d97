//! A plan as TOML.

use serde::{Deserialize, Serialize};

use super::group_of;
use crate::error::{Error, Result};
use crate::group::{self, GroupRef};

/// One `[[layer]]`: the fields of every tensor whose name matches.
#[derive(Debug, Clone, PartialEq, Deserialize, Serialize, Default)]
#[serde(deny_unknown_fields)]
pub struct Rule {
    /// A glob over tensor names: `*` any characters, `?` one, `[a-c]` or `[!a-c]` one of a set, `{a,b}` either, `\*` a star.
    pub name: String,
    /// Fields of the input channels; not for biases and norm parameters.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub domain: Option<String>,
    /// Fields of the output channels.
    pub codomain: String,
    /// "weight", "bias" (a vector: biases, running means) or "scale" (a diagonal: norm scales, running variances); read off the name
    /// and the rank where it is not given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kind: Option<String>,
    /// Whether the bias of the same module is typed with the weight: `true` where it is not given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bias: Option<bool>,
    /// Stride of the convolution.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stride: Option<usize>,
    /// Padding on every side of its input.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub padding: Option<usize>,
    /// Side of its input.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub input: Option<usize>,
}

impl Rule {
    /// What is wrong with one of its keys.
    pub(super) fn error(&self, key: &str, expected: impl ToString, got: impl ToString) -> Error {
        Error::plan(format!("layer \"{}\", {key}", self.name), expected, got)
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Text {
    group: Option<String>,
    generators: Option<Vec<Vec<Entry>>>,
    #[serde(default)]
    layer: Vec<Rule>,
}

/// A number, or a row of numbers.
#[derive(Debug, Clone, Deserialize)]
#[serde(untagged)]
pub(super) enum Entry {
    Number(f64),
    Row(Vec<f64>),
}

pub(super) fn read(text: &str) -> Result<(GroupRef, Vec<Rule>)> {
    let parsed: Text = toml::from_str(text).map_err(|error| {
        let line = error.span().map_or(1, |span| text[..span.start].matches('\n').count() + 1);
        Error::plan(
            format!("line {line}"),
            "group or generators, and [[layer]] with name, domain, codomain",
            error.message(),
        )
    })?;
    let group = match (parsed.group, parsed.generators) {
        (Some(name), None) => group::parse(&name)?,
        (None, Some(generators)) => group_of(&generators)?,
        (Some(_), Some(_)) => return Err(Error::plan("group", "either group or generators", "both")),
        (None, None) => return Err(Error::plan("group", "group = \"C4\" or generators = [[…]]", "neither")),
    };
    if parsed.layer.is_empty() {
        return Err(Error::plan("layers", "at least one [[layer]]", "none"));
    }
    Ok((group, parsed.layer))
}

#[cfg(test)]
mod tests {
    use super::*;

    const LAYER: &str = "[[layer]]\nname = \"*\"\ndomain = \"1 trivial\"\ncodomain = \"1 trivial\"\n";

    #[test]
    fn generators_may_be_permutations_or_matrices() {
        for (generators, order) in
            [("[[1, 2, 3, 0]]", 4), ("[[0, -1, 1, 0]]", 4), ("[[[0, -1], [1, 0]], [[-1, 0], [0, 1]]]", 8), ("[[0]]", 1)]
        {
            let (group, _) = read(&format!("generators = {generators}\n{LAYER}")).unwrap();
            assert_eq!(group.order(), Some(order), "{generators}");
        }
    }

    #[test]
    fn bad_plans_say_what_is_wrong() {
        for (text, needle) in [
            ("", "neither"),
            ("group = \"C4\"", "none"),
            ("group = \"C4\"\ngenerators = [[1, 0]]\n[[layer]]\nname = \"a\"\ncodomain = \"\"", "both"),
            ("group = \"X9\"\n[[layer]]\nname = \"a\"\ncodomain = \"\"", "unknown group"),
            ("group = \"C4\"\n[[layer]]\nname = \"a\"\ncodomian = \"\"", "line 4"),
            ("generators = [[1, 2, 3]]\n[[layer]]\nname = \"a\"\ncodomain = \"\"", "3 numbers"),
            ("generators = [[[1, 2], [3]]]\n[[layer]]\nname = \"a\"\ncodomain = \"\"", "uneven"),
        ] {
            let error = read(text).unwrap_err().to_string();
            assert!(error.contains(needle), "{text}: {error}");
        }
    }
}
