//! A representation of a finite group by a list of its matrices.

use std::sync::Arc;

use faer::Mat;

use super::{Rep, Representation, SignedPermutation};
use crate::error::{Error, Result};
use crate::group::{Element, GroupRef};
use crate::scalar::Scalar;

#[derive(Debug)]
struct Tabulated<F: Scalar> {
    group: GroupRef,
    label: String,
    matrices: Vec<Mat<F>>,
    signed: bool,
}

/// π(g) = `matrices[number of g]`, `[n, n]` each. That this is a representation is the caller's promise.
///
/// # Errors
/// [`Error::Shape`] unless the group is finite and there is one square matrix for each element, all of one size.
pub fn tabulated<F: Scalar>(group: &GroupRef, label: &str, matrices: Vec<Mat<F>>) -> Result<Rep<F>> {
    let bad =
        |expected: String, got: String| Error::shape(format!("table of {label} of {}", group.name()), expected, got);
    if group.order() != Some(matrices.len() as u128) {
        let expected = group.order().map_or("a finite group".into(), |order| format!("{order} matrices"));
        return Err(bad(expected, format!("{} matrices", matrices.len())));
    }
    let n = matrices[0].nrows();
    if let Some(other) = matrices.iter().find(|m| (m.nrows(), m.ncols()) != (n, n)) {
        return Err(bad(format!("[{n}, {n}]"), format!("[{}, {}]", other.nrows(), other.ncols())));
    }
    let signed = matrices.iter().all(|m| SignedPermutation::from_matrix(m).is_some());
    Ok(Arc::new(Tabulated { group: group.clone(), label: label.into(), matrices, signed }))
}

impl<F: Scalar> Representation<F> for Tabulated<F> {
    fn group(&self) -> &GroupRef {
        &self.group
    }
    fn dim(&self) -> usize {
        self.matrices[0].nrows()
    }
    fn label(&self) -> String {
        self.label.clone()
    }
    fn matrix(&self, g: &Element) -> Mat<F> {
        self.matrices[g.index() as usize].clone()
    }
    fn signed_permutation(&self, g: &Element) -> Option<SignedPermutation> {
        if self.signed { SignedPermutation::from_matrix(&self.matrices[g.index() as usize]) } else { None }
    }
}
