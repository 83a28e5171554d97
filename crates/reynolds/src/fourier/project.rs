//! The projection, twice: the two algorithms of the paper's Figure `alg:projection`; and the invariant case.

use faer::{Mat, c64};

use super::operator_space::{OperatorSpace, check_operator};
use super::transform::FourierTransform;
use crate::error::Result;
use crate::group::elements;
use crate::projection::KernelSpace;
use crate::rep::Rep;
use crate::scalar::Scalar;

/// P(T) = (1/|G|) Σ_g π′(g)* T π(g), for a finite group; `t` is `[dim V′, dim V]`.
///
/// Paper: Figure `alg:projection`, left; `eqn:projection_operator`. It costs |G| pairs of matrix products.
///
/// ```
/// use faer::mat;
/// use reynolds::fourier::project_finite_sum;
/// use reynolds::{group, rep};
/// // An equivariant map of functions on C3 is a circulant matrix.
/// let regular = rep::regular(&group::parse("C3")?)?;
/// let t = mat![[3.0, 0.0, 0.0], [0.0, 0.0, 0.0], [6.0, 0.0, 0.0]];
/// let p = project_finite_sum(&regular, &regular, &t)?;
/// assert!((p - mat![[1.0, 2.0, 0.0], [0.0, 1.0, 2.0], [2.0, 0.0, 1.0]]).norm_max() < 1e-15);
/// # Ok::<(), reynolds::Error>(())
/// ```
pub fn project_finite_sum<F: Scalar>(domain: &Rep<F>, codomain: &Rep<F>, t: &Mat<F>) -> Result<Mat<F>> {
    let space = KernelSpace::dense(domain, codomain)?;
    let (rows, columns) = (codomain.dim(), domain.dim());
    check_operator("operator", t, (rows, columns))?;
    let group = elements(space.group().as_ref())?;
    let mut sum = Mat::<F>::zeros(rows, columns);
    for g in &group {
        sum += codomain.matrix(g).adjoint() * t * domain.matrix(g);
    }
    let share = F::from_real(1.0 / group.len() as f64);
    Ok(Mat::from_fn(rows, columns, |i, j| sum[(i, j)] * share))
}

/// P(T) of an operator between signals on a finite group, or on a continuous one up to the band limit of `space`, in Fourier
/// space; `t` is of [`OperatorSpace::shape`].
///
/// ```text
/// (i)   untwist the fibres and transform:  T̂(π, σ) of U′ T U⁻¹
/// (ii)  T̂(π, σ) ← 0 for π ≠ σ
/// (iii) T̂(π, π) ← I ⊗ B_π,  B_π = (1/d_π) Tr T̂(π, π) over the factor that G moves
/// (iv)  transform back and twist
/// ```
///
/// Paper: Figure `alg:projection`, right; `thm:equiv_fourier`; `fig:commutative_diagrams`. A departure from
/// `thm:vector_block`, whose formula is not the projection: it averages B_π over the fibre where the fibre must be untwisted
/// (see the [module](crate::fourier) and the derivation in docs/math.md). Scalar functions are untwisted already.
///
/// ```
/// use reynolds::fourier::{OperatorSpace, project_finite_sum, project_fourier};
/// use reynolds::random::Random;
/// use reynolds::{group, rep};
/// // From plane fields to scalar functions on S3.
/// let s3 = group::parse("S3")?;
/// let irreps = reynolds::irrep::unitary_dual(&s3, 0)?;
/// let (scalar, plane) = (irreps[0].clone().into(), irreps[1].clone().into());
/// let space = OperatorSpace::new(&plane, &scalar, 0)?;
/// let t = Random::new(4).matrix(6, 12);
/// let regular = rep::complexified(&rep::regular(&s3)?);
/// let (domain, codomain) = (rep::tensor(&regular, &plane)?, rep::tensor(&regular, &scalar)?);
/// let error = project_fourier(&space, &t)? - project_finite_sum(&domain, &codomain, &t)?;
/// assert!(error.norm_max() < 1e-14);
/// # Ok::<(), reynolds::Error>(())
/// ```
pub fn project_fourier(space: &OperatorSpace, t: &Mat<c64>) -> Result<Mat<c64>> {
    let spectrum = space.untwisted_spectrum(t)?;
    space.twisted_operator(&spectrum.project())
}

/// P_inv(f)(x) = ∫ f(hx) dλ(h), in Fourier space: f̂(π) ← f̂(π) δ_{π,1}. The result is constant; `f` is `[nodes]`.
///
/// Paper: `lemma:inv_fourier`, `cor:projection_invariant`, `fig:commutative_diagrams_invariance`.
///
/// ```
/// use faer::c64;
/// use reynolds::fourier::{FourierTransform, project_invariant};
/// use reynolds::group;
/// let transform = FourierTransform::new(&group::parse("C4")?, 0)?;
/// let f = [1.0, 2.0, 3.0, 6.0].map(|x| c64::new(x, 0.0));
/// for value in project_invariant(&transform, &f)? {
///     assert!((value.re - 3.0).abs() < 1e-15);
/// }
/// # Ok::<(), reynolds::Error>(())
/// ```
pub fn project_invariant(transform: &FourierTransform, f: &[c64]) -> Result<Vec<c64>> {
    let mut coefficients = transform.forward(f)?;
    // The dual starts with the trivial representation.
    for matrix in coefficients.iter_mut().skip(1) {
        matrix.fill(c64::ZERO);
    }
    transform.inverse(&coefficients)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Error, group, rep};

    #[test]
    fn bad_input_is_an_error() {
        let named = |name| group::parse(name).unwrap();
        let s3 = named("S3");
        for name in ["S8", "S32"] {
            let refused = FourierTransform::new(&named(name), 0);
            assert!(matches!(refused, Err(Error::TooLarge { limit: 4096, .. })), "{name}");
        }
        for (name, degree) in [("SO2", 33), ("SO3", 12), ("SO3", 33), ("SO3", usize::MAX)] {
            assert!(matches!(FourierTransform::new(&named(name), degree), Err(Error::OutOfRange { .. })), "{name}");
        }
        assert!(FourierTransform::new(&s3, usize::MAX).is_ok());
        let transform = FourierTransform::new(&s3, 0).unwrap();
        let one = c64::new(1.0, 0.0);
        assert!(matches!(transform.forward(&[one; 5]), Err(Error::Shape { .. })));
        assert!(matches!(project_invariant(&transform, &[]), Err(Error::Shape { .. })));
        assert!(matches!(transform.forward(&[c64::new(0.0, f64::NAN); 6]), Err(Error::NotFinite { index: 0, .. })));
        assert!(matches!(transform.inverse(&[]), Err(Error::Shape { .. })));
        assert!(matches!(transform.inverse(&vec![Mat::zeros(1, 1); 3]), Err(Error::Shape { .. })));

        let space = OperatorSpace::scalar(&s3, 0).unwrap();
        assert!(matches!(project_fourier(&space, &Mat::zeros(6, 12)), Err(Error::Shape { .. })));
        let mut t = Mat::<c64>::zeros(6, 6);
        t[(1, 2)] = c64::new(f64::INFINITY, 0.0);
        assert!(matches!(project_fourier(&space, &t), Err(Error::NotFinite { index: 8, .. })));
        assert!(matches!(space.spectrum(&t), Err(Error::NotFinite { index: 8, .. })));
        let other = OperatorSpace::scalar(&named("C6"), 0).unwrap().spectrum(&Mat::zeros(6, 6)).unwrap();
        assert!(matches!(space.operator(&other), Err(Error::Shape { .. })));
        assert!(matches!(other.block(6, 0), Err(Error::OutOfRange { .. })));
        let plane: Rep<c64> = transform.dual()[1].clone().into();
        let turn = rep::complexified(&rep::trivial(&named("C6")));
        assert!(matches!(OperatorSpace::new(&plane, &turn, 0), Err(Error::GroupMismatch { .. })));
        let wide = rep::sum(&s3, &[(1000, plane.clone())]).unwrap();
        assert!(matches!(OperatorSpace::new(&wide, &plane, 0), Err(Error::OutOfRange { .. })));

        let regular = rep::complexified(&rep::regular(&s3).unwrap());
        assert!(matches!(project_finite_sum(&regular, &regular, &Mat::zeros(5, 6)), Err(Error::Shape { .. })));
        assert!(matches!(project_finite_sum(&regular, &regular, &t), Err(Error::NotFinite { .. })));
        assert!(matches!(project_finite_sum(&regular, &turn, &Mat::zeros(1, 6)), Err(Error::GroupMismatch { .. })));
        let on_circle = rep::trivial(&named("SO2"));
        assert!(matches!(project_finite_sum(&on_circle, &on_circle, &Mat::zeros(1, 1)), Err(Error::TooLarge { .. })));
    }
}
