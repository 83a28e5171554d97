//! Δ_g at one element.

use crate::error::{Error, Result, all_finite};
use crate::group::Element;
use crate::projection::KernelSpace;
use crate::scalar::{Scalar, Weight};

/// Δ_g(T) for `t` of shape `[out, in, k…]`, in the same shape.
///
/// For a dense map this is π′(g)T − Tπ(g). For a kernel it is x ↦ (A(g)K − K)(x) π(g): the operator Δ_g is the convolution
/// with it after the input has been moved by g on the grid. The unitary π(g) on the right changes neither the Frobenius norm
/// nor the operator norm.
///
/// # Errors
/// [`Error::OutOfRange`] if a difference overflows.
pub fn at<F: Scalar + Weight>(space: &KernelSpace<F>, g: &Element, t: &[F]) -> Result<Vec<F>> {
    if t.len() != space.len() {
        return Err(Error::shape("map", format!("{:?}", space.shape()), format!("{} weights", t.len())));
    }
    all_finite(t)?;
    let mut moved = space.act(g, t);
    moved.iter_mut().zip(t).for_each(|(m, &w)| *m -= w);
    let right = space.domain().matrix(g);
    let (columns, points) = (space.domain().dim(), space.points());
    let mut defect = vec![F::ZERO; t.len()];
    for (from, to) in moved.chunks_exact(columns * points).zip(defect.chunks_exact_mut(columns * points)) {
        for i in 0..columns {
            for j in 0..columns {
                let factor = right[(i, j)];
                if factor == F::ZERO {
                    continue;
                }
                for x in 0..points {
                    to[j * points + x] += from[i * points + x] * factor;
                }
            }
        }
    }
    match defect.iter().find(|w| !w.is_finite_weight()) {
        Some(bad) => Err(Error::range("defect", "differences that do not overflow", format!("{bad:?}"))),
        None => Ok(defect),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{group, rep};

    #[test]
    fn defect_of_a_dense_map_is_the_commutator() {
        let regular = rep::regular(&group::parse("C2").unwrap()).unwrap();
        let space = KernelSpace::dense(&regular, &regular).unwrap();
        let swap = |t: &[f64]| at(&space, &Element::Finite(1), t);
        // The swap of C2 on ℝ²; T = [[1, 2], [3, 4]]: ST − TS = [[3, 4], [1, 2]] − [[2, 1], [4, 3]].
        assert_eq!(swap(&[1.0, 2.0, 3.0, 4.0]).unwrap(), [1.0, 3.0, -3.0, -1.0]);
        assert!(matches!(swap(&[1.0]), Err(Error::Shape { .. })));
        for bad in [f64::NAN, f64::INFINITY] {
            assert!(matches!(swap(&[1.0, bad, 3.0, 4.0]), Err(Error::NotFinite { index: 1, .. })));
        }
        assert!(matches!(swap(&[1e308, 0.0, 0.0, -1e308]), Err(Error::OutOfRange { .. })));
    }
}
