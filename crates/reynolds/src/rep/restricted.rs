//! Representations pulled back along a homomorphism: restriction to a subgroup.

use std::sync::Arc;

use faer::Mat;

use super::{Rep, Representation, SignedPermutation};
use crate::group::{Element, GroupRef, Homomorphism};
use crate::scalar::Scalar;

#[derive(Debug)]
struct Restricted<F: Scalar> {
    inner: Rep<F>,
    along: Homomorphism,
    signed: bool,
}

/// h ↦ π(φ(h)), for π a representation of φ's target: [`Homomorphism::pull_back`] checks that.
pub(crate) fn restricted<F: Scalar>(representation: &Rep<F>, along: &Homomorphism) -> Rep<F> {
    let inner = representation.clone();
    let signed = inner.signed_permutation(&along.target().identity()).is_some() || {
        // A representation that only rotates may permute when restricted: SO(3) vectors under the cube's rotations.
        let permutes = |h: &Element| SignedPermutation::from_matrix(&inner.matrix(&along.apply(h))).is_some();
        along.source().order().is_some() && along.source().generators().iter().all(permutes)
    };
    Arc::new(Restricted { inner, along: along.clone(), signed })
}

impl<F: Scalar> Representation<F> for Restricted<F> {
    fn group(&self) -> &GroupRef {
        self.along.source()
    }
    fn dim(&self) -> usize {
        self.inner.dim()
    }
    fn label(&self) -> String {
        format!("{} of {}", self.inner.label(), self.along.target().name())
    }
    fn degree(&self) -> usize {
        if self.group().order().is_some() { 0 } else { self.inner.degree() }
    }
    fn matrix(&self, g: &Element) -> Mat<F> {
        self.inner.matrix(&self.along.apply(g))
    }
    fn character(&self, g: &Element) -> F {
        self.inner.character(&self.along.apply(g))
    }
    fn signed_permutation(&self, g: &Element) -> Option<SignedPermutation> {
        if !self.signed {
            return None;
        }
        // The dense matrix only where there is no other way: that of the regular representation of S₈ has 13 GB.
        let image = self.along.apply(g);
        self.inner.signed_permutation(&image).or_else(|| SignedPermutation::from_matrix(&self.inner.matrix(&image)))
    }
}
