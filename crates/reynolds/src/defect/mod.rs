//! The equivariance defect: how far a map is from commuting with the group.
//!
//! ```text
//! Δ_g(T) = π′(g) T − T π(g),        ℰ(T) = sup_g ‖Δ_g(T)‖_F
//! ∫ ‖Δ_g(T)‖² dλ(g) = 2d²,          d = ‖T − P(T)‖_F
//! √2·d ≤ ℰ(T) ≤ 2d,                 √(2|G|/(|G|−1))·d ≤ ℰ(T) for finite G
//! ```
//!
//! The second line gives the lower bounds: a supremum is at least the mean, and on a finite group Δ_e = 0 leaves |G| − 1 terms
//! to carry it. The paper's `lem:proj-defect` prints the weaker d ≤ ℰ(T). All of it is for exact unitary actions and the
//! Frobenius norm of the kernel, which does **not** bound the operator norm of a convolution: see [`crate::certificate`].
//!
//! [`worst`] is exact on groups that can be enumerated and a proven interval on the others, at most 1 % wide on SO(2), O(2),
//! SO(3) and O(3); [`empirical`] measures black-box maps on data.
//!
//! ```
//! use reynolds::defect;
//! use reynolds::projection::{KernelSpace, derive};
//! use reynolds::{group, rep};
//! let c4 = group::parse("C4")?;
//! let regular = rep::regular(&c4)?;
//! let space = KernelSpace::dense(&regular, &regular)?;
//! let mut t = vec![0.0_f64; 16];
//! t[0] = 1.0; // one entry of the diagonal: every turn but the identity moves it
//! let worst = defect::worst(&space, &derive(&space)?, &t)?;
//! assert_eq!(worst.lower, worst.upper);
//! assert!((worst.upper - 2.0_f64.sqrt()).abs() < 1e-12);
//! # Ok::<(), reynolds::Error>(())
//! ```

mod correlation;
mod displacements;
mod empirical;
mod folded;
mod interval;
mod planar;
mod spatial;
mod worst;

pub use displacements::{Displacements, Profile};
pub use empirical::{Empirical, empirical};
pub(crate) use empirical::{apply, checked, distance};
pub use worst::{Bracket, squares, worst};

use crate::error::{Error, Result};
use crate::group::Element;
use crate::projection::{KernelSpace, Projector};
use crate::scalar::{Scalar, Weight};

/// Δ_g(T) for `t` of shape `[out, in, k…]`, in the same shape.
///
/// For a dense map this is π′(g)T − Tπ(g). For a kernel it is x ↦ (A(g)K − K)(x) π(g): the operator Δ_g is the convolution
/// with it after the input has been moved by g on the grid. The unitary π(g) on the right changes neither the Frobenius norm
/// nor the operator norm.
///
/// # Errors
/// [`Error::Shape`] if `t` does not fit `space`.
pub fn at<F: Scalar>(space: &KernelSpace<F>, g: &Element, t: &[F]) -> Result<Vec<F>> {
    if t.len() != space.len() {
        return Err(Error::shape("map", format!("{:?}", space.shape()), format!("{} weights", t.len())));
    }
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
    Ok(defect)
}

/// ∫ ‖Δ_g(T)‖² dλ(g) = 2‖T − P(T)‖².
///
/// # Errors
/// As [`Projector::project_into`].
pub fn mean_square<T: Weight>(projector: &dyn Projector<T>, t: &[T]) -> Result<f64> {
    Ok(2.0 * projector.energies(t)?.perp)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{group, rep};

    #[test]
    fn defect_of_a_dense_map_is_the_commutator() {
        // The swap of C2 on ℝ²; T = [[1, 2], [3, 4]]: ST − TS = [[3, 4], [1, 2]] − [[2, 1], [4, 3]].
        let regular = rep::regular(&group::parse("C2").unwrap()).unwrap();
        let space = KernelSpace::dense(&regular, &regular).unwrap();
        let defect = at(&space, &Element::Finite(1), &[1.0, 2.0, 3.0, 4.0]).unwrap();
        assert_eq!(defect, [1.0, 3.0, -3.0, -1.0]);
        assert!(matches!(at(&space, &Element::Finite(1), &[1.0]), Err(Error::Shape { .. })));
    }
}
