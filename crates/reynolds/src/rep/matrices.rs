//! Representations by given matrices: those that move the points of a point group, or a table.

use faer::Mat;

use super::formula::Formula;
use super::{Rep, SignedPermutation};
use crate::error::{Error, Result};
use crate::group::{Element, GroupRef};
use crate::scalar::Scalar;

/// The matrices of a point group on (x, y) or (x, y, z): vectors, ρ₁.
pub fn point(group: &GroupRef) -> Result<Rep> {
    let identity = group
        .point_matrix(&group.identity())
        .ok_or_else(|| Error::no_action(group.name(), "space", "it is not given by matrices"))?;
    let acting = group.clone();
    let matrix = move |g: &Element| acting.point_matrix(g).expect("all elements have a matrix or none");
    let signed = group.generators().iter().all(|g| SignedPermutation::from_matrix(&matrix(g)).is_some());
    let degree = usize::from(group.order().is_none());
    Ok(Formula::new(group, "vector", identity.nrows(), matrix).degree(degree).signed_if(signed).shared())
}

/// π(g) = `matrices[number of g]` of a finite group, `[n, n]` each. That this is a representation is not checked.
pub fn tabulated<F: Scalar>(group: &GroupRef, label: &str, matrices: Vec<Mat<F>>) -> Result<Rep<F>> {
    let bad =
        |expected: String, got: String| Error::shape(format!("table of {label} of {}", group.name()), expected, got);
    if group.order() != Some(matrices.len() as u128) {
        let expected = group.order().map_or("a finite group".into(), |order| format!("{order} matrices"));
        return Err(bad(expected, format!("{} matrices", matrices.len())));
    }
    let n = matrices[0].nrows();
    if let Some(other) = matrices.iter().find(|m| m.shape() != (n, n)) {
        return Err(bad(format!("[{n}, {n}]"), format!("[{}, {}]", other.nrows(), other.ncols())));
    }
    let signed = matrices.iter().all(|m| SignedPermutation::from_matrix(m).is_some());
    let matrix = move |g: &Element| matrices[g.index() as usize].clone();
    Ok(Formula::new(group, label, n, matrix).signed_if(signed).shared())
}
