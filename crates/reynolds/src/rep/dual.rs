//! The dual representation π*(g) = π(g⁻¹)ᵀ, the complex conjugate of a unitary π.

use std::sync::Arc;

use faer::Mat;

use super::{Rep, Representation, SignedPermutation};
use crate::group::{Element, GroupRef};
use crate::scalar::Scalar;

#[derive(Debug)]
struct Dual<F: Scalar> {
    inner: Rep<F>,
}

/// π*; over the reals it equals π.
pub fn dual<F: Scalar>(representation: &Rep<F>) -> Rep<F> {
    Arc::new(Dual { inner: representation.clone() })
}

impl<F: Scalar> Representation<F> for Dual<F> {
    fn group(&self) -> &GroupRef {
        self.inner.group()
    }
    fn dim(&self) -> usize {
        self.inner.dim()
    }
    fn label(&self) -> String {
        format!("dual({})", self.inner.label())
    }
    fn degree(&self) -> usize {
        self.inner.degree()
    }
    fn matrix(&self, g: &Element) -> Mat<F> {
        let matrix = self.inner.matrix(g);
        Mat::from_fn(matrix.nrows(), matrix.ncols(), |i, j| matrix[(i, j)].conjugate())
    }
    fn character(&self, g: &Element) -> F {
        self.inner.character(g).conjugate()
    }
    fn signed_permutation(&self, g: &Element) -> Option<SignedPermutation> {
        self.inner.signed_permutation(g)
    }
}
