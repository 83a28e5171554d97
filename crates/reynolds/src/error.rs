//! What can be wrong with the input, said so that a user can mend it.

use crate::scalar::Weight;

/// An error of this crate: bad input, with what was expected and what was found.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A group name that cannot be read.
    #[error("unknown group \"{name}\": expected {expected}")]
    UnknownGroup {
        /// The text as given.
        name: String,
        /// What would have been understood.
        expected: String,
    },
    /// Generators that are no generators of a finite orthogonal or permutation group.
    #[error("bad generators: expected {expected}, got {got}")]
    Generators {
        /// The property that was missing.
        expected: String,
        /// What was found, with the number of the generator.
        got: String,
    },
    /// A group that is too large, or infinite, for what was asked.
    #[error("group {group} is too large for {operation}: expected order at most {limit}, got {got}")]
    TooLarge {
        /// Name of the group.
        group: String,
        /// What was asked.
        operation: &'static str,
        /// The largest order served.
        limit: u128,
        /// The order found.
        got: String,
    },
    /// A group that does not act on what it was asked to act on.
    #[error("{group} does not act on {target}: {reason}")]
    NoAction {
        /// Name of the group.
        group: String,
        /// The grid, space or group it should act on.
        target: String,
        /// Why there is no action.
        reason: String,
    },
    /// A subgroup that is none.
    #[error("{subgroup} is not a subgroup of {group}: {reason}")]
    NotASubgroup {
        /// Name of the supposed subgroup.
        subgroup: String,
        /// Name of the group.
        group: String,
        /// Why.
        reason: String,
    },
    /// Two objects that belong to different groups.
    #[error("different groups: expected {expected}, got {got}")]
    GroupMismatch {
        /// Name of the group expected.
        expected: String,
        /// Name of the group found.
        got: String,
    },
    /// A size, degree, frequency or index outside its range.
    #[error("{what} out of range: expected {expected}, got {got}")]
    OutOfRange {
        /// The quantity.
        what: String,
        /// The range.
        expected: String,
        /// The value.
        got: String,
    },
    /// A text that cannot be read (irreps, fields).
    #[error("cannot read {what} \"{text}\": expected {expected}")]
    Parse {
        /// What the text should have been.
        what: &'static str,
        /// The text as given.
        text: String,
        /// The grammar.
        expected: String,
    },
    /// A tensor of the wrong shape.
    #[error("wrong shape of {what}: expected {expected}, got {got}")]
    Shape {
        /// The tensor.
        what: String,
        /// The shape expected.
        expected: String,
        /// The shape found.
        got: String,
    },
    /// A weight that is NaN or infinite.
    #[error("weight {index} is {value}: expected finite weights")]
    NotFinite {
        /// Flat index of the first such weight.
        index: usize,
        /// Its value, as text.
        value: String,
    },
    /// A layer whose defect cannot be bounded.
    #[error("no certificate for layer {layer}: {reason}")]
    NotCertifiable {
        /// Name of the layer.
        layer: String,
        /// Why no bound is known.
        reason: String,
    },
    /// A plan that cannot be read, or that does not fit the tensors it is for.
    #[error("plan: {what}: expected {expected}, got {got}")]
    Plan {
        /// The rule, key or tensor.
        what: String,
        /// What would have been right.
        expected: String,
        /// What was found.
        got: String,
    },
    /// What is wrong with one tensor of many.
    #[error("tensor {name}: {source}")]
    Tensor {
        /// Its name.
        name: String,
        /// What is wrong.
        #[source]
        source: Box<Error>,
    },
    /// A numerical procedure that did not reach its tolerance.
    #[error("{procedure} did not converge: {reason}")]
    Numerical {
        /// The procedure.
        procedure: &'static str,
        /// What was seen.
        reason: String,
    },
}

/// The result of this crate's fallible functions.
pub type Result<T, E = Error> = std::result::Result<T, E>;

impl Error {
    /// A quantity outside its range.
    pub(crate) fn range(what: impl Into<String>, expected: impl ToString, got: impl ToString) -> Self {
        Self::OutOfRange { what: what.into(), expected: expected.to_string(), got: got.to_string() }
    }

    /// A plan that does not fit.
    pub(crate) fn plan(what: impl Into<String>, expected: impl ToString, got: impl ToString) -> Self {
        Self::Plan { what: what.into(), expected: expected.to_string(), got: got.to_string() }
    }

    /// This error, of the named tensor.
    pub(crate) fn of_tensor(self, name: &str) -> Self {
        Self::Tensor { name: name.into(), source: Box::new(self) }
    }

    /// A tensor of the wrong shape.
    pub(crate) fn shape(what: impl Into<String>, expected: impl ToString, got: impl ToString) -> Self {
        Self::Shape { what: what.into(), expected: expected.to_string(), got: got.to_string() }
    }
}

/// A result that has to be a number; it may have overflowed.
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
