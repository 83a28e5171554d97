//! Norms of P(W), of W − P(W), and their gradients with respect to W.

use super::Norm;
use crate::error::Result;
use crate::projection::Projector;
use crate::scalar::Weight;

/// What is measured of a weight W: its component QW with Q = P or I − P, or W itself (Q = I).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Component {
    /// P(W).
    Equivariant,
    /// W − P(W).
    Perp,
    /// W itself.
    Whole,
}

impl Component {
    /// QW.
    pub fn of<T: Weight>(self, projector: &dyn Projector<T>, weights: &[T]) -> Result<Vec<T>> {
        match self {
            Self::Equivariant => projector.project(weights),
            Self::Perp => projector.perp(weights),
            Self::Whole => {
                // Through the checked entry, so that a wrong length or a NaN is caught here too.
                projector.energies(weights)?;
                Ok(weights.to_vec())
            }
        }
    }

    /// N(QW) for W read as `[rows, len / rows]`.
    pub fn norm<T: Weight>(self, norm: Norm, projector: &dyn Projector<T>, weights: &[T], rows: usize) -> Result<f64> {
        norm.value(&self.of(projector, weights)?, rows)
    }

    /// N(QW) and ∇_W N(QW) = Q[∂N(QW)].
    ///
    /// Q is self-adjoint, so the chain rule applies it once more to the subgradient. Leaving that out is right only where the
    /// subgradient at QW already lies in the image of Q: for the Frobenius norm, and for P(W) where the action preserves the
    /// norm (permutations, with ties averaged); not for W − P(W), nor for P(W) where coordinates are turned.
    ///
    /// ```
    /// use reynolds::norm::{Norm, Component};
    /// use reynolds::projection::{KernelSpace, derive};
    /// use reynolds::{group, rep};
    /// // C4 on ℝ⁴: the equivariant maps are the circulant matrices.
    /// let regular = rep::regular(&group::parse("C4")?)?;
    /// let projector = derive(&KernelSpace::dense(&regular, &regular)?)?;
    /// let mut w = vec![0.0_f64; 16];
    /// w[1] = 4.0;
    /// let (value, gradient) = Component::Equivariant.norm_and_gradient(Norm::Max, &projector, &w, 4)?;
    /// assert!((value - 1.0).abs() < 1e-15);        // the four entries of one orbit share the weight 4
    /// assert!((gradient[1] - 0.25).abs() < 1e-15); // and each moves their mean by a quarter
    /// # Ok::<(), reynolds::Error>(())
    /// ```
    pub fn norm_and_gradient<T: Weight>(
        self,
        norm: Norm,
        projector: &dyn Projector<T>,
        weights: &[T],
        rows: usize,
    ) -> Result<(f64, Vec<T>)> {
        let (value, subgradient) = norm.value_and_gradient(&self.of(projector, weights)?, rows)?;
        Ok((value, self.of(projector, &subgradient)?))
    }
}
