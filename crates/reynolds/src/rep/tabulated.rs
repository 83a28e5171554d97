//! A representation of a finite group by a list of its matrices.

use std::sync::Arc;

use faer::Mat;

use super::{Rep, Representation, SignedPermutation};
use crate::group::{Element, GroupRef};
use crate::scalar::Scalar;

#[derive(Debug)]
struct Tabulated<F: Scalar> {
    group: GroupRef,
    label: String,
    matrices: Vec<Mat<F>>,
    signed: bool,
}

/// π(g) = `matrices[number of g]`. That this is a representation is the caller's promise.
///
/// # Panics
/// If there is no matrix.
pub fn tabulated<F: Scalar>(group: &GroupRef, label: &str, matrices: Vec<Mat<F>>) -> Rep<F> {
    assert!(!matrices.is_empty(), "a group has at least one element");
    let signed = matrices.iter().all(|m| SignedPermutation::from_matrix(m).is_some());
    Arc::new(Tabulated { group: group.clone(), label: label.into(), matrices, signed })
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
