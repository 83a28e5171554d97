//! Tensor products V ⊗ W, in row-major order (W fastest).

use std::sync::Arc;

use faer::Mat;

use super::sum::MAX_DIM;
use super::{Rep, Representation, SignedPermutation};
use crate::error::{Error, Result};
use crate::group::{self, Element, GroupRef};
use crate::scalar::Scalar;

#[derive(Debug)]
struct Tensor<F: Scalar> {
    first: Rep<F>,
    second: Rep<F>,
    dim: usize,
}

/// π ⊗ σ.
///
/// # Errors
/// [`Error::GroupMismatch`] if the two belong to different groups; [`Error::OutOfRange`] if the dimension is over 2²⁴.
pub fn tensor<F: Scalar>(first: &Rep<F>, second: &Rep<F>) -> Result<Rep<F>> {
    if !group::same(first.group(), second.group()) {
        return Err(Error::GroupMismatch { expected: first.group().name(), got: second.group().name() });
    }
    let dim = first.dim().checked_mul(second.dim()).filter(|&dim| dim <= MAX_DIM);
    let dim = dim.ok_or_else(|| {
        let got = format!("{} times {}", first.dim(), second.dim());
        Error::range("dimension of a tensor product", format!("at most {MAX_DIM}"), got)
    })?;
    Ok(Arc::new(Tensor { first: first.clone(), second: second.clone(), dim }))
}

impl<F: Scalar> Representation<F> for Tensor<F> {
    fn group(&self) -> &GroupRef {
        self.first.group()
    }
    fn dim(&self) -> usize {
        self.dim
    }
    fn label(&self) -> String {
        format!("({} * {})", self.first.label(), self.second.label())
    }
    fn degree(&self) -> usize {
        self.first.degree() + self.second.degree()
    }
    fn matrix(&self, g: &Element) -> Mat<F> {
        let (a, b) = (self.first.matrix(g), self.second.matrix(g));
        let n = b.nrows();
        Mat::from_fn(self.dim(), self.dim(), |i, j| a[(i / n, j / n)] * b[(i % n, j % n)])
    }
    fn character(&self, g: &Element) -> F {
        self.first.character(g) * self.second.character(g)
    }
    fn signed_permutation(&self, g: &Element) -> Option<SignedPermutation> {
        let (a, b) = (self.first.signed_permutation(g)?, self.second.signed_permutation(g)?);
        let n = b.len() as u32;
        let pairs = || (0..a.len()).flat_map(|i| (0..b.len()).map(move |j| (i, j)));
        Some(SignedPermutation {
            image: pairs().map(|(i, j)| a.image[i] * n + b.image[j]).collect(),
            negative: pairs().map(|(i, j)| a.negative[i] != b.negative[j]).collect(),
        })
    }
}
