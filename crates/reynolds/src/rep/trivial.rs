//! The trivial representation.

use std::sync::Arc;

use faer::Mat;

use super::{Rep, Representation, SignedPermutation};
use crate::group::{Element, GroupRef};
use crate::irrep::Irrep;

#[derive(Debug)]
struct Trivial {
    group: GroupRef,
}

/// g ↦ 1, on ℝ.
pub fn trivial(group: &GroupRef) -> Rep {
    Arc::new(Irrep::of_real_type("trivial", Arc::new(Trivial { group: group.clone() })))
}

impl Representation for Trivial {
    fn group(&self) -> &GroupRef {
        &self.group
    }
    fn dim(&self) -> usize {
        1
    }
    fn label(&self) -> String {
        "trivial".into()
    }
    fn matrix(&self, _: &Element) -> Mat<f64> {
        Mat::identity(1, 1)
    }
    fn signed_permutation(&self, _: &Element) -> Option<SignedPermutation> {
        Some(SignedPermutation::identity(1))
    }
}
