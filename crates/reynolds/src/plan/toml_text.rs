//! A plan as TOML.

use std::sync::Arc;

use faer::Mat;
use serde::{Deserialize, Serialize};

use super::Role;
use crate::error::{Error, Result, did_you_mean};
use crate::group::{self, GroupRef, MatrixGroup, PermutationGroup};

/// What a rule says a tensor is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum RuleKind {
    /// [`Role::Weight`].
    Weight,
    /// The weight `[in, out, k…]` of a transposed convolution.
    Transposed,
    /// [`Role::Bias`].
    Bias,
    /// [`Role::Scale`].
    Scale,
}

impl RuleKind {
    pub(super) fn role(self) -> Role {
        match self {
            Self::Weight | Self::Transposed => Role::Weight,
            Self::Bias => Role::Bias,
            Self::Scale => Role::Scale,
        }
    }
}

/// One `[[layer]]`: the fields of every tensor whose name matches.
#[derive(Debug, Clone, PartialEq, Deserialize, Serialize, Default)]
#[serde(deny_unknown_fields)]
pub struct Rule {
    /// A glob over tensor names: `*` any characters, `?` one, `[a-c]` or `[!a-c]` one of a set, `{a,b}` either, `\*` a star.
    pub name: String,
    /// Fields of the input channels; not for biases and norm parameters.
    pub domain: Option<String>,
    /// Fields of the output channels.
    pub codomain: String,
    /// Derived from name and rank if not given.
    pub kind: Option<RuleKind>,
    /// Whether the bias of the same module gets fields too; default `true`.
    pub bias: Option<bool>,
    /// Stride of the convolution.
    pub stride: Option<usize>,
    /// Padding on every side of its input.
    pub padding: Option<usize>,
    /// Side of its input.
    pub input: Option<usize>,
    /// Points that a transposed convolution adds on one side of its output.
    pub output_padding: Option<usize>,
    /// Groups of a convolution: each sees as many of the input channels as its weight has.
    pub groups: Option<usize>,
}

impl Rule {
    /// An error in one of its keys.
    pub(super) fn error(&self, key: &str, expected: impl ToString, got: impl ToString) -> Error {
        Error::plan(format!("layer \"{}\", {key}", self.name), expected, got)
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Text {
    group: Option<String>,
    generators: Option<Vec<Generator>>,
    #[serde(default)]
    layer: Vec<Rule>,
}

/// A permutation as its list of images, or an orthogonal matrix, row-major or as rows.
#[derive(Deserialize)]
#[serde(untagged)]
enum Generator {
    Flat(Vec<f64>),
    Rows(Vec<Vec<f64>>),
}

pub(super) fn read(text: &str) -> Result<(GroupRef, Vec<Rule>)> {
    let parsed: Text = toml::from_str(text).map_err(|error| {
        let line = error.span().map_or(1, |span| text[..span.start].matches('\n').count() + 1);
        // serde: "unknown field `codomian`, expected one of `name`, `domain`, …"
        let (found, expected) = error
            .message()
            .split_once(", expected ")
            .unwrap_or((error.message(), "group or generators, and [[layer]] with name, domain, codomain"));
        let quoted = |text: &'_ str| text.split('`').skip(1).step_by(2).map(str::to_string).collect::<Vec<_>>();
        let hint = match (found.starts_with("unknown field"), &quoted(found)[..]) {
            (true, [name]) => did_you_mean(name, quoted(expected).iter().map(String::as_str)),
            _ => String::new(),
        };
        let source: String = text.lines().nth(line - 1).unwrap_or_default().trim().chars().take(60).collect();
        let found = found.trim_start_matches("invalid type: ");
        Error::plan(format!("line {line}"), expected, format!("{found}{hint} in {source:?}"))
    })?;
    let group = match (parsed.group, parsed.generators) {
        (Some(name), None) => group::parse(&name)?,
        (None, Some(generators)) => group_of(generators)?,
        (Some(_), Some(_)) => return Err(Error::plan("group", "either group or generators", "both")),
        (None, None) => return Err(Error::plan("group", "group = \"C4\" or generators = [[…]]", "neither")),
    };
    Ok((group, parsed.layer))
}

fn group_of(generators: Vec<Generator>) -> Result<GroupRef> {
    let bad = |got: String| Error::plan("generators", "permutations of 0, 1, …, or square matrices", got);
    let (mut permutations, mut matrices) = (Vec::new(), Vec::new());
    for (number, generator) in generators.into_iter().enumerate() {
        let flat = match generator {
            Generator::Flat(images) if is_permutation(&images) => {
                permutations.push(images.iter().map(|&image| image as u32).collect::<Vec<_>>());
                continue;
            }
            Generator::Flat(entries) => entries,
            Generator::Rows(rows) if rows.iter().all(|row| row.len() == rows.len()) => rows.concat(),
            Generator::Rows(_) => return Err(bad(format!("generator {number} with uneven rows"))),
        };
        let side = flat.len().isqrt();
        if side * side != flat.len() {
            return Err(bad(format!("generator {number} with {} numbers", flat.len())));
        }
        matrices.push(Mat::from_fn(side, side, |i, j| flat[i * side + j]));
    }
    match (permutations.is_empty(), matrices.is_empty()) {
        (false, true) => Ok(Arc::new(PermutationGroup::new(&permutations)?)),
        (true, _) => Ok(Arc::new(MatrixGroup::new(&matrices)?)),
        (false, false) => Err(bad("both kinds".into())),
    }
}

fn is_permutation(images: &[f64]) -> bool {
    let mut sorted = images.to_vec();
    sorted.sort_by(f64::total_cmp);
    sorted.iter().enumerate().all(|(index, image)| *image == index as f64)
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
}
