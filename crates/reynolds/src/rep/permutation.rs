//! Permutation representations of groups that are given as permutations.

use std::sync::Arc;

use faer::Mat;

use super::{Rep, Representation, SignedPermutation};
use crate::error::{Error, Result};
use crate::group::{Element, GroupRef};

#[derive(Debug)]
struct Permutation {
    group: GroupRef,
    degree: usize,
}

/// e_j ↦ e_{g·j} on the points of S_n, Z_n, a permutation group or a product of such.
///
/// # Errors
/// [`Error::NoAction`] if the group is not given as permutations.
pub fn permutation(group: &GroupRef) -> Result<Rep> {
    let points = group.point_permutation(&group.identity()).ok_or_else(|| Error::NoAction {
        group: group.name(),
        target: "points".into(),
        reason: "it is not given as permutations (regular and quotient fields are)".into(),
    })?;
    Ok(Arc::new(Permutation { group: group.clone(), degree: points.len() }))
}

impl Representation for Permutation {
    fn group(&self) -> &GroupRef {
        &self.group
    }
    fn dim(&self) -> usize {
        self.degree
    }
    fn label(&self) -> String {
        "permutation".into()
    }
    fn matrix(&self, g: &Element) -> Mat<f64> {
        self.signed_permutation(g).expect("always one").to_matrix()
    }
    fn signed_permutation(&self, g: &Element) -> Option<SignedPermutation> {
        self.group.point_permutation(g).map(SignedPermutation::unsigned)
    }
}
