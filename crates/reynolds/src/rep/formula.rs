//! A representation given by formulas: what most constructors of this module make.

use std::fmt;
use std::sync::Arc;

use faer::Mat;

use super::{Rep, Representation, SignedPermutation, character};
use crate::group::{Element, GroupRef};
use crate::scalar::Scalar;

type At<T> = Arc<dyn Fn(&Element) -> T + Send + Sync>;

pub(crate) struct Formula<F: Scalar> {
    group: GroupRef,
    label: String,
    dim: usize,
    degree: usize,
    matrix: At<Mat<F>>,
    character: Option<At<F>>,
    signed: Option<At<Option<SignedPermutation>>>,
}

impl<F: Scalar> Formula<F> {
    /// g ↦ `matrix(g)`, `[dim, dim]`.
    pub(crate) fn new(
        group: &GroupRef,
        label: impl Into<String>,
        dim: usize,
        matrix: impl Fn(&Element) -> Mat<F> + Send + Sync + 'static,
    ) -> Self {
        let (group, label, matrix) = (group.clone(), label.into(), Arc::new(matrix));
        Self { group, label, dim, degree: 0, matrix, character: None, signed: None }
    }

    /// e_j ↦ e_i with i = `image(g)[j]`.
    pub(crate) fn permuting(
        group: &GroupRef,
        label: impl Into<String>,
        dim: usize,
        image: impl Fn(&Element) -> Vec<u32> + Send + Sync + 'static,
    ) -> Self {
        let image = Arc::new(image);
        let moved = image.clone();
        Self::new(group, label, dim, move |g| SignedPermutation::unsigned(image(g)).to_matrix())
            .signed(move |g| Some(SignedPermutation::unsigned(moved(g))))
    }

    pub(crate) fn degree(self, degree: usize) -> Self {
        Self { degree, ..self }
    }

    /// The character, where it can be computed faster than as a trace.
    pub(crate) fn character(self, character: impl Fn(&Element) -> F + Send + Sync + 'static) -> Self {
        Self { character: Some(Arc::new(character)), ..self }
    }

    pub(crate) fn signed(self, signed: impl Fn(&Element) -> Option<SignedPermutation> + Send + Sync + 'static) -> Self {
        Self { signed: Some(Arc::new(signed)), ..self }
    }

    /// If `always`, every matrix is a signed permutation and is read as one.
    pub(crate) fn signed_if(self, always: bool) -> Self {
        let matrix = self.matrix.clone();
        if always { self.signed(move |g| SignedPermutation::from_matrix(&matrix(g))) } else { self }
    }

    pub(crate) fn shared(self) -> Rep<F> {
        Arc::new(self)
    }
}

impl<F: Scalar> fmt::Debug for Formula<F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} of {}", self.label, self.group.name())
    }
}

impl<F: Scalar> Representation<F> for Formula<F> {
    fn group(&self) -> &GroupRef {
        &self.group
    }
    fn dim(&self) -> usize {
        self.dim
    }
    fn label(&self) -> String {
        self.label.clone()
    }
    fn degree(&self) -> usize {
        self.degree
    }
    fn matrix(&self, g: &Element) -> Mat<F> {
        (self.matrix)(g)
    }
    fn character(&self, g: &Element) -> F {
        self.character.as_ref().map_or_else(|| character(self, g), |character| character(g))
    }
    fn signed_permutation(&self, g: &Element) -> Option<SignedPermutation> {
        self.signed.as_ref().and_then(|signed| signed(g))
    }
}
