//! Errors in the input.

use crate::scalar::Weight;

/// An error of this crate: bad input, with what was expected and what was found.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
#[allow(missing_docs, reason = "the message above a variant says what its fields are")]
pub enum Error {
    /// A group name that cannot be read.
    #[error("unknown group \"{name}\": expected {expected}")]
    UnknownGroup { name: String, expected: String },
    /// Generators that do not generate a finite orthogonal or permutation group.
    #[error("bad generators: expected {expected}, found {got}")]
    Generators { expected: String, got: String },
    /// A group that is too large, or infinite, for what was asked.
    #[error("group {group} is too large for {operation}: expected order at most {limit}, found {got}")]
    TooLarge { group: String, operation: &'static str, limit: u128, got: String },
    /// A group that does not act on the target.
    #[error("{group} does not act on {target}: {reason}")]
    NoAction { group: String, target: String, reason: String },
    /// A group that is not a subgroup.
    #[error("{subgroup} is not a subgroup of {group}: {reason}")]
    NotASubgroup { subgroup: String, group: String, reason: String },
    /// Two objects that belong to different groups.
    #[error("different groups: expected {expected}, found {got}")]
    GroupMismatch { expected: String, got: String },
    /// A size, degree, frequency or index outside its range.
    #[error("{what} out of range: expected {expected}, found {got}")]
    OutOfRange { what: String, expected: String, got: String },
    /// A text that cannot be read (irreps, fields).
    #[error("cannot read {what} \"{text}\": expected {expected}")]
    Parse { what: &'static str, text: String, expected: String },
    /// A tensor of the wrong shape.
    #[error("wrong shape of {what}: expected {expected}, found {got}")]
    Shape { what: String, expected: String, got: String },
    /// A weight that is NaN or infinite.
    #[error("weight {index} is {value}: expected finite weights")]
    NotFinite { index: usize, value: String },
    /// A layer whose defect cannot be bounded.
    #[error("no certificate for layer {layer}: {reason}")]
    NotCertifiable { layer: String, reason: String },
    /// A plan that cannot be read, or that does not fit the tensors it is for.
    #[error("plan: {what}: expected {expected}, found {got}")]
    Plan { what: String, expected: String, got: String },
    /// An error in the fields of one rule of a plan.
    #[error("plan: layer \"{name}\", fields: {source}")]
    Rule { name: String, source: Box<Error> },
    /// An error in one tensor of many.
    #[error("tensor {name}: {source}")]
    Tensor { name: String, source: Box<Error> },
    /// A numerical procedure that did not reach its tolerance.
    #[error("{procedure} did not converge: {reason}")]
    Numerical { procedure: &'static str, reason: String },
}

/// The result of this crate's fallible functions.
pub type Result<T, E = Error> = std::result::Result<T, E>;

impl Error {
    pub(crate) fn range(what: impl Into<String>, expected: impl ToString, got: impl ToString) -> Self {
        Self::OutOfRange { what: what.into(), expected: expected.to_string(), got: got.to_string() }
    }

    pub(crate) fn plan(what: impl Into<String>, expected: impl ToString, got: impl ToString) -> Self {
        Self::Plan { what: what.into(), expected: expected.to_string(), got: got.to_string() }
    }

    /// This error, of the named tensor.
    pub fn of_tensor(self, name: &str) -> Self {
        Self::Tensor { name: name.into(), source: Box::new(self) }
    }

    pub(crate) fn too_large(group: String, operation: &'static str, limit: u128, got: impl ToString) -> Self {
        Self::TooLarge { group, operation, limit, got: got.to_string() }
    }

    pub(crate) fn no_action(group: String, target: impl Into<String>, reason: impl Into<String>) -> Self {
        Self::NoAction { group, target: target.into(), reason: reason.into() }
    }

    pub(crate) fn numerical(procedure: &'static str, reason: impl Into<String>) -> Self {
        Self::Numerical { procedure, reason: reason.into() }
    }

    pub(crate) fn shape(what: impl Into<String>, expected: impl ToString, got: impl ToString) -> Self {
        Self::Shape { what: what.into(), expected: expected.to_string(), got: got.to_string() }
    }
}

/// " (did you mean `regular`?)" where one of the names is much like this one, else nothing.
pub(crate) fn did_you_mean<'a>(name: &str, names: impl Iterator<Item = &'a str>) -> String {
    const SIMILAR: f64 = 0.5;
    let likeness = |other: &str| strsim::normalized_damerau_levenshtein(name, other);
    let nearest = names.max_by(|a, b| likeness(a).total_cmp(&likeness(b))).filter(|other| likeness(other) >= SIMILAR);
    nearest.map_or_else(String::new, |other| format!(" (did you mean `{other}`?)"))
}

/// Refuses a result that is NaN or overflowed.
pub(crate) fn finite(what: &str, value: f64) -> Result<f64> {
    if value.is_finite() { Ok(value) } else { Err(Error::range(what, "a finite number", value)) }
}

/// Refuses weights that are NaN or infinite.
pub(crate) fn all_finite<T: Weight>(weights: &[T]) -> Result<()> {
    match weights.iter().position(|w| !w.is_finite_weight()) {
        Some(index) => Err(Error::NotFinite { index, value: format!("{:?}", weights[index]) }),
        None => Ok(()),
    }
}
