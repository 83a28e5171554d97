//! The representation of a point group by its own matrices.

use std::sync::Arc;

use faer::Mat;

use super::{Rep, Representation, SignedPermutation};
use crate::error::{Error, Result};
use crate::group::{Element, GroupRef};

#[derive(Debug)]
struct Point {
    group: GroupRef,
    dim: usize,
    signed: bool,
}

/// The matrices of a point group on (x, y) or (x, y, z): vectors, ρ₁.
///
/// # Errors
/// [`Error::NoAction`] for an abstract group.
pub fn point(group: &GroupRef) -> Result<Rep> {
    let identity = group.point_matrix(&group.identity()).ok_or_else(|| Error::NoAction {
        group: group.name(),
        target: "space".into(),
        reason: "it is not given by matrices".into(),
    })?;
    let is_signed = |g: &Element| group.point_matrix(g).is_some_and(|m| SignedPermutation::from_matrix(&m).is_some());
    let signed = group.generators().iter().all(is_signed);
    Ok(Arc::new(Point { group: group.clone(), dim: identity.nrows(), signed }))
}

impl Representation for Point {
    fn group(&self) -> &GroupRef {
        &self.group
    }
    fn dim(&self) -> usize {
        self.dim
    }
    fn label(&self) -> String {
        "vector".into()
    }
    fn degree(&self) -> usize {
        usize::from(self.group.order().is_none())
    }
    fn matrix(&self, g: &Element) -> Mat<f64> {
        self.group.point_matrix(g).expect("checked when it was made")
    }
    fn signed_permutation(&self, g: &Element) -> Option<SignedPermutation> {
        if self.signed { SignedPermutation::from_matrix(&self.matrix(g)) } else { None }
    }
}
