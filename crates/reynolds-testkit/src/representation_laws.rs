//! The laws of unitary representations, as assertions that every kind of representation runs.
//!
//! ```text
//! π(gh) = π(g) π(h),   π(g)* π(g) = 1,   π(e) = 1,   χ(g) = tr π(g)
//! ```
//!
//! ```
//! use reynolds::{group, rep};
//! reynolds_testkit::representation_laws::assert_representation_laws(&rep::regular(&group::parse("C4")?)?);
//! # Ok::<(), reynolds::Error>(())
//! ```

use faer::Mat;
use reynolds::random::Random;
use reynolds::rep::{Rep, SignedPermutation};
use reynolds::scalar::Scalar;

use crate::laws::{TOLERANCE, sample, size};

/// All laws of a representation, on all elements of a small group and a fixed sample of any other.
pub fn assert_representation_laws<F: Scalar>(representation: &Rep<F>) {
    let group = representation.group();
    let n = representation.dim();
    let what = format!("{} of {}", representation.label(), group.name());
    let tolerance = TOLERANCE * (n as f64).sqrt().max(1.0);
    let unit = Mat::<F>::identity(n, n);
    let close = |a: &Mat<F>, b: &Mat<F>| size(&(a - b)) < tolerance;

    assert!(close(&representation.matrix(&group.identity()), &unit), "{what}: the identity");
    let sample = sample(group);
    let signed = representation.signed_permutation(&group.identity()).is_some();
    let mut random = Random::new(37);
    for g in &sample {
        let matrix = representation.matrix(g);
        assert_eq!((matrix.nrows(), matrix.ncols()), (n, n), "{what}: shape at {g:?}");
        assert!(close(&(matrix.adjoint() * &matrix), &unit), "{what}: unitarity at {g:?}");
        let inverse = representation.matrix(&group.inverse(g));
        assert!(close(&inverse, &matrix.adjoint().to_owned()), "{what}: inverse of {g:?}");

        let h = &sample[random.below(sample.len())];
        let product = representation.matrix(&group.multiply(g, h));
        assert!(close(&product, &(&matrix * representation.matrix(h))), "{what}: product of {g:?} and {h:?}");

        let trace = (0..n).fold(F::ZERO, |sum, i| sum + matrix[(i, i)]);
        let error = (trace - representation.character(g)).abs_sq().sqrt();
        assert!(error < tolerance * (n as f64).max(1.0), "{what}: character at {g:?}");

        let moves = representation.signed_permutation(g);
        assert_eq!(moves.is_some(), signed, "{what}: signed for every element or for none, at {g:?}");
        if let Some(SignedPermutation { image, negative }) = moves {
            assert_eq!((image.len(), negative.len()), (n, n), "{what}: length at {g:?}");
            let moved = SignedPermutation { image, negative }.to_matrix::<F>();
            assert!(close(&moved, &matrix), "{what}: signed permutation at {g:?}");
        }
        assert_summands(representation, g, &matrix, &what);
        for unit in representation.as_irrep().into_iter().flat_map(|irrep| irrep.commutant()) {
            assert!(close(&(unit * &matrix), &(&matrix * unit)), "{what}: commutant at {g:?}");
        }
    }
    assert_degree(representation, &what);
}

/// A direct sum is block diagonal, copies outermost.
fn assert_summands<F: Scalar>(representation: &Rep<F>, g: &reynolds::group::Element, matrix: &Mat<F>, what: &str) {
    let Some(summands) = representation.summands() else { return };
    let n = representation.dim();
    let mut blocks = Mat::<F>::zeros(n, n);
    let mut at = 0;
    for (copies, part) in summands {
        let block = part.matrix(g);
        for _ in 0..*copies {
            blocks.submatrix_mut(at, at, part.dim(), part.dim()).copy_from(&block);
            at += part.dim();
        }
    }
    assert_eq!(at, n, "{what}: dimensions of the summands");
    assert!(size(&(blocks - matrix)) < TOLERANCE, "{what}: blocks at {g:?}");
}

/// No matrix element has a larger degree than stated: a finer quadrature gives the same average of π(g) X π(g)*.
fn assert_degree<F: Scalar>(representation: &Rep<F>, what: &str) {
    let group = representation.group();
    if group.order().is_some() {
        assert_eq!(representation.degree(), 0, "{what}: a finite group has no degree");
        return;
    }
    let n = representation.dim();
    let x: Mat<F> = Random::new(41).matrix(n, n);
    let average = |degree: usize| {
        let rule = group.quadrature(degree).expect("a compact group has a quadrature");
        rule.integrate_matrix((n, n), |g| representation.matrix(g) * &x * representation.matrix(g).adjoint())
    };
    let degree = 2 * representation.degree();
    let error = size(&(average(degree) - average(degree + 3)));
    assert!(error < TOLERANCE * (n as f64), "{what}: degree {} is too low ({error:e})", representation.degree());
}
