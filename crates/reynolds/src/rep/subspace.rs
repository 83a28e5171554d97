//! A representation on an invariant subspace.

use std::sync::Arc;

use faer::Mat;

use super::{Rep, Representation};
use crate::group::{Element, GroupRef};
use crate::scalar::Scalar;

#[derive(Debug)]
struct Subspace<F: Scalar> {
    inner: Rep<F>,
    basis: Mat<F>,
}

/// B* π(g) B for an orthonormal basis B `[n, d]` of an invariant subspace. That it is one is the caller's promise.
pub fn subspace<F: Scalar>(representation: &Rep<F>, basis: Mat<F>) -> Rep<F> {
    Arc::new(Subspace { inner: representation.clone(), basis })
}

impl<F: Scalar> Representation<F> for Subspace<F> {
    fn group(&self) -> &GroupRef {
        self.inner.group()
    }
    fn dim(&self) -> usize {
        self.basis.ncols()
    }
    fn label(&self) -> String {
        format!("subspace({})", self.inner.label())
    }
    fn degree(&self) -> usize {
        self.inner.degree()
    }
    fn matrix(&self, g: &Element) -> Mat<F> {
        self.basis.adjoint() * self.inner.matrix(g) * &self.basis
    }
}
