//! A representation given by formulas: what most constructors of this module make.

use std::fmt;
use std::sync::Arc;

use faer::Mat;

use super::{Rep, Representation, SignedPermutation};
use crate::group::{Element, GroupRef};
use crate::scalar::Scalar;

type At<T> = Box<dyn Fn(&Element) -> T + Send + Sync>;

pub(crate) struct Formula<F: Scalar> {
    group: GroupRef,
    label: String,
    dim: usize,
    degree: usize,
    matrix: Matrix<F>,
    character: Option<At<F>>,
    signed: Signed,
}

enum Matrix<F: Scalar> {
    Dense(At<Mat<F>>),
    /// That of the signed permutation.
    Permuting,
}

enum Signed {
    Never,
    /// Read off the matrix.
    Read,
    By(At<Option<SignedPermutation>>),
}

impl<F: Scalar> Formula<F> {
    /// g ↦ `matrix(g)`, `[dim, dim]`.
    pub(crate) fn new(
        group: &GroupRef,
        label: impl Into<String>,
        dim: usize,
        matrix: impl Fn(&Element) -> Mat<F> + Send + Sync + 'static,
    ) -> Self {
        Self::with(group, label, dim, Matrix::Dense(Box::new(matrix)))
    }

    /// e_j ↦ e_i with i = `image(g)[j]`.
    pub(crate) fn permuting(
        group: &GroupRef,
        label: impl Into<String>,
        dim: usize,
        image: impl Fn(&Element) -> Vec<u32> + Send + Sync + 'static,
    ) -> Self {
        Self::with(group, label, dim, Matrix::Permuting).signed(move |g| Some(SignedPermutation::unsigned(image(g))))
    }

    fn with(group: &GroupRef, label: impl Into<String>, dim: usize, matrix: Matrix<F>) -> Self {
        let label = label.into();
        Self { group: group.clone(), label, dim, degree: 0, matrix, character: None, signed: Signed::Never }
    }

    pub(crate) fn degree(self, degree: usize) -> Self {
        Self { degree, ..self }
    }

    /// The character, where there is a shorter way to it than the trace.
    pub(crate) fn character(self, character: impl Fn(&Element) -> F + Send + Sync + 'static) -> Self {
        Self { character: Some(Box::new(character)), ..self }
    }

    pub(crate) fn signed(self, signed: impl Fn(&Element) -> Option<SignedPermutation> + Send + Sync + 'static) -> Self {
        Self { signed: Signed::By(Box::new(signed)), ..self }
    }

    /// If `always`, every matrix is a signed permutation and is read as one.
    pub(crate) fn signed_if(self, always: bool) -> Self {
        Self { signed: if always { Signed::Read } else { Signed::Never }, ..self }
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
        match &self.matrix {
            Matrix::Dense(matrix) => matrix(g),
            Matrix::Permuting => self.signed_permutation(g).expect("it permutes for every element").to_matrix(),
        }
    }
    fn character(&self, g: &Element) -> F {
        match (&self.character, &self.matrix) {
            (Some(character), _) => character(g),
            (None, Matrix::Dense(matrix)) => super::trace(&matrix(g)),
            (None, Matrix::Permuting) => self.signed_permutation(g).expect("it permutes for every element").trace(),
        }
    }
    fn signed_permutation(&self, g: &Element) -> Option<SignedPermutation> {
        match &self.signed {
            Signed::Never => None,
            Signed::Read => SignedPermutation::from_matrix(&self.matrix(g)),
            Signed::By(signed) => signed(g),
        }
    }
}
