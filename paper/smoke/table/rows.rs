//! Settings of several values: one for each row, and the λ_⊥ of a sweep.

use serde::{Deserialize, Deserializer, Serialize, Serializer, de};

use crate::smoke::data::Kind;
use reynolds_train::error::Result;

/// A number for each row of the table.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Rows<T> {
    pub(super) translation: T,
    pub(super) rotation: T,
    pub(super) scaling: T,
}

impl<T> Rows<T> {
    pub(super) fn new(rows: [T; 3]) -> Self {
        let [translation, rotation, scaling] = rows;
        Self { translation, rotation, scaling }
    }

    pub(super) fn of(&self, kind: Kind) -> &T {
        match kind {
            Kind::Translation => &self.translation,
            Kind::Rotation => &self.rotation,
            Kind::Scaling => &self.scaling,
        }
    }

    pub(super) fn check(&self, key: &str, check: impl Fn(&str, &T) -> Result<()>) -> Result<()> {
        Kind::ALL.into_iter().try_for_each(|kind| check(&format!("{key}.{kind}"), self.of(kind)))
    }
}

/// Some λ_⊥, strongest first, as a text: "1e-2,1e-4" or "[1e-2, 1e-4]".
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Strengths(Vec<f64>);

impl Strengths {
    pub(super) fn new(mut strengths: Vec<f64>) -> Self {
        strengths.sort_by(|a, b| b.total_cmp(a));
        strengths.dedup();
        Self(strengths)
    }

    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Strongest first.
    pub(super) fn iter(&self) -> impl DoubleEndedIterator<Item = f64> + '_ {
        self.0.iter().copied()
    }
}

impl Serialize for Strengths {
    fn serialize<S: Serializer>(&self, serializer: S) -> std::result::Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.iter().map(strength).collect::<Vec<_>>().join(","))
    }
}

impl<'de> Deserialize<'de> for Strengths {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> std::result::Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        let words = text.split([',', ' ', '[', ']', '"', '\'']).filter(|word| !word.is_empty());
        let number = |word: &str| word.parse::<f64>().ok().filter(|value| value.is_finite() && *value >= 0.0);
        let all = words.map(number).collect::<Option<Vec<_>>>();
        all.map(Self::new).ok_or_else(|| de::Error::custom("expected finite numbers, at least 0"))
    }
}

/// "1e-4", "0".
pub(super) fn strength(lambda: f64) -> String {
    if lambda == 0.0 { "0".into() } else { format!("{lambda:e}") }
}
