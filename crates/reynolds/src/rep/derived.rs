//! Representations made of others: over ℂ, dual, on a subspace, pulled back along a homomorphism, and tensor products.

use faer::{Mat, c64};

use super::formula::Formula;
use super::sum::MAX_DIM;
use super::{Rep, SignedPermutation};
use crate::error::{Error, Result};
use crate::group::{self, Element, Homomorphism};
use crate::scalar::Scalar;

/// π on V ⊗ ℂ.
pub fn complexified(representation: &Rep) -> Rep<c64> {
    entrywise(representation, representation.label(), c64::from_real)
}

/// The dual π*(g) = π(g⁻¹)ᵀ, the complex conjugate of a unitary π; over the reals it equals π.
pub fn dual<F: Scalar>(representation: &Rep<F>) -> Rep<F> {
    entrywise(representation, format!("dual({})", representation.label()), F::conjugate)
}

/// The matrices of π with each entry mapped by a homomorphism of fields.
fn entrywise<F: Scalar, G: Scalar>(representation: &Rep<F>, label: String, of: fn(F) -> G) -> Rep<G> {
    let [inner, traced, moved] = std::array::from_fn(|_| representation.clone());
    let matrix = move |g: &Element| {
        let matrix = inner.matrix(g);
        Mat::from_fn(matrix.nrows(), matrix.ncols(), |i, j| of(matrix[(i, j)]))
    };
    Formula::new(representation.group(), label, representation.dim(), matrix)
        .degree(representation.degree())
        .character(move |g| of(traced.character(g)))
        .signed(move |g| moved.signed_permutation(g))
        .shared()
}

/// B* π(g) B for an orthonormal basis B `[n, d]` of an invariant subspace; invariance is not checked.
pub fn subspace<F: Scalar>(representation: &Rep<F>, basis: Mat<F>) -> Rep<F> {
    let (inner, dim) = (representation.clone(), basis.ncols());
    let label = format!("subspace({})", representation.label());
    let matrix = move |g: &Element| basis.adjoint() * inner.matrix(g) * &basis;
    Formula::new(representation.group(), label, dim, matrix).degree(representation.degree()).shared()
}

/// h ↦ π(φ(h)), for π a representation of φ's target: [`Homomorphism::pull_back`] checks that.
pub(crate) fn restricted<F: Scalar>(representation: &Rep<F>, along: &Homomorphism) -> Rep<F> {
    let source = along.source();
    let signed = representation.signed_permutation(&along.target().identity()).is_some() || {
        // A representation that only rotates may permute when restricted: SO(3) vectors under the cube's rotations.
        let permutes = |h: &Element| SignedPermutation::from_matrix(&representation.matrix(&along.apply(h))).is_some();
        source.order().is_some() && source.generators().iter().all(permutes)
    };
    let label = format!("{} of {}", representation.label(), along.target().name());
    let [inner, traced, moved] = std::array::from_fn(|_| (representation.clone(), along.clone()));
    Formula::new(source, label, representation.dim(), move |h| inner.0.matrix(&inner.1.apply(h)))
        .degree(if source.order().is_some() { 0 } else { representation.degree() })
        .character(move |h| traced.0.character(&traced.1.apply(h)))
        .signed(move |h| {
            let ((inner, along), true) = (&moved, signed) else { return None };
            // Avoid dense matrices where possible: that of the regular representation of S₈ takes 13 GB.
            let g = along.apply(h);
            inner.signed_permutation(&g).or_else(|| SignedPermutation::from_matrix(&inner.matrix(&g)))
        })
        .shared()
}

/// π ⊗ σ on V ⊗ W, in row-major order (W fastest), of dimension at most 2²⁴.
pub fn tensor<F: Scalar>(first: &Rep<F>, second: &Rep<F>) -> Result<Rep<F>> {
    group::expect_same(first.group(), second.group())?;
    let dim = first.dim().checked_mul(second.dim()).filter(|&dim| dim <= MAX_DIM);
    let dim = dim.ok_or_else(|| {
        let got = format!("{} times {}", first.dim(), second.dim());
        Error::range("dimension of a tensor product", format!("at most {MAX_DIM}"), got)
    })?;
    let label = format!("({} * {})", first.label(), second.label());
    let [factors, traced, moved] = std::array::from_fn(|_| (first.clone(), second.clone()));
    let matrix = move |g: &Element| {
        let (a, b) = (factors.0.matrix(g), factors.1.matrix(g));
        let n = b.nrows();
        Mat::from_fn(dim, dim, |i, j| a[(i / n, j / n)] * b[(i % n, j % n)])
    };
    let signed = move |g: &Element| {
        let (a, b) = (moved.0.signed_permutation(g)?, moved.1.signed_permutation(g)?);
        let n = b.image.len();
        let pairs = || (0..a.image.len()).flat_map(|i| (0..n).map(move |j| (i, j)));
        Some(SignedPermutation {
            image: pairs().map(|(i, j)| a.image[i] * n as u32 + b.image[j]).collect(),
            negative: pairs().map(|(i, j)| a.negative[i] != b.negative[j]).collect(),
        })
    };
    let product = Formula::new(first.group(), label, dim, matrix)
        .degree(first.degree() + second.degree())
        .character(move |g| traced.0.character(g) * traced.1.character(g))
        .signed(signed);
    Ok(product.shared())
}
