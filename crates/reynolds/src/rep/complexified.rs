//! A real representation read over the complex numbers.

use std::sync::Arc;

use faer::{Mat, c64};

use super::{Rep, Representation, SignedPermutation};
use crate::group::{Element, GroupRef};

#[derive(Debug)]
struct Complexified {
    inner: Rep,
}

/// π on V ⊗ ℂ.
pub fn complexified(representation: &Rep) -> Rep<c64> {
    Arc::new(Complexified { inner: representation.clone() })
}

impl Representation<c64> for Complexified {
    fn group(&self) -> &GroupRef {
        self.inner.group()
    }
    fn dim(&self) -> usize {
        self.inner.dim()
    }
    fn label(&self) -> String {
        self.inner.label()
    }
    fn degree(&self) -> usize {
        self.inner.degree()
    }
    fn matrix(&self, g: &Element) -> Mat<c64> {
        let matrix = self.inner.matrix(g);
        Mat::from_fn(matrix.nrows(), matrix.ncols(), |i, j| c64::new(matrix[(i, j)], 0.0))
    }
    fn character(&self, g: &Element) -> c64 {
        c64::new(self.inner.character(g), 0.0)
    }
    fn signed_permutation(&self, g: &Element) -> Option<SignedPermutation> {
        self.inner.signed_permutation(g)
    }
}
