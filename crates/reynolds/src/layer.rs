//! One linear layer with its symmetry: a kernel space and the projector onto its equivariant maps.
//!
//! ```text
//! W = P(W) + (W − P(W)),      penalty(W) = λ_G ‖P(W)‖² + λ_⊥ ‖W − P(W)‖²,      ∇ = 2λ_G P(W) + 2λ_⊥ (W − P(W))
//! ```
//!
//! Everything takes flat row-major weights `[out, in, k…]` in single or double precision.
//!
//! ```
//! use reynolds::prelude::*;
//! let layer = Layer::conv2d("C4", "9 regular", "9 regular", 5)?;
//! assert_eq!((layer.shape(), layer.rank()), (vec![36, 36, 5, 5], 36 * 36 * 25 / 4));
//!
//! let weights: Vec<f32> = (0..layer.len()).map(|i| (i as f32).sin()).collect();
//! let energies = layer.energies(&weights)?;
//! assert!(energies.ratio() < 0.3); // chance is 1/4
//! assert!(layer.worst_defect(&weights)?.upper <= 2.0 * energies.perp.sqrt() * (1.0 + 1e-6));
//!
//! let (value, gradient) = layer.penalty(&PenaltyConfig::perp(0.1), &weights)?;
//! assert!((value / (0.1 * energies.perp) - 1.0).abs() < 1e-6);
//! assert_eq!(gradient.len(), weights.len());
//!
//! let equivariant = layer.project(&weights)?;
//! assert!(layer.energies(&equivariant)?.ratio() > 1.0 - 1e-12);
//! # Ok::<(), reynolds::Error>(())
//! ```

use crate::defect::{self, Bracket};
use crate::error::Result;
use crate::group;
use crate::penalty::PenaltyConfig;
use crate::projection::{Dimensions, Energies, KernelSpace, Lowered, Projector, derive};
use crate::rep::{Grid, parse_fields};
use crate::scalar::Weight;

/// A dense map or a convolution with its group and fields. Deriving the projector is expensive: make a layer once, for many weights.
#[derive(Debug, Clone)]
pub struct Layer {
    space: KernelSpace,
    projector: Lowered,
}

impl Layer {
    /// The layer of any kernel space.
    pub fn new(space: KernelSpace) -> Result<Self> {
        let projector = derive(&space)?;
        Ok(Self { space, projector })
    }

    /// A dense map, `[out, in]`, between fields in the grammar of [`parse_fields`].
    ///
    /// ```
    /// # use reynolds::Layer;
    /// let layer = Layer::linear("S4", "permutation", "permutation")?; // DeepSets: a·1 + b·J
    /// assert_eq!((layer.shape(), layer.rank()), (vec![4, 4], 2));
    /// # Ok::<(), reynolds::Error>(())
    /// ```
    pub fn linear(group: &str, domain: &str, codomain: &str) -> Result<Self> {
        let group = group::parse(group)?;
        Self::new(KernelSpace::dense(&parse_fields(&group, domain)?, &parse_fields(&group, codomain)?)?)
    }

    /// A convolution of the plane with a kernel of `side`², `[out, in, side, side]`.
    ///
    /// # Errors
    /// [`crate::Error::NoAction`] if the group does not map the grid to itself; for SO(2) see [`crate::projection::Basis`].
    pub fn conv2d(group: &str, domain: &str, codomain: &str, side: usize) -> Result<Self> {
        Self::convolution(group, domain, codomain, side, 2)
    }

    /// A convolution of space with a kernel of `side`³, `[out, in, side, side, side]`.
    pub fn conv3d(group: &str, domain: &str, codomain: &str, side: usize) -> Result<Self> {
        Self::convolution(group, domain, codomain, side, 3)
    }

    fn convolution(group: &str, domain: &str, codomain: &str, side: usize, dims: usize) -> Result<Self> {
        let group = group::parse(group)?;
        let (domain, codomain) = (parse_fields(&group, domain)?, parse_fields(&group, codomain)?);
        Self::new(KernelSpace::kernel(&domain, &codomain, &Grid::new(&group, side, dims)?)?)
    }

    /// The space of its weights, with the action of the group.
    pub fn space(&self) -> &KernelSpace {
        &self.space
    }

    /// P.
    pub fn projector(&self) -> &Lowered {
        &self.projector
    }

    /// `[out, in]`, `[out, in, k, k]` or `[out, in, k, k, k]`.
    pub fn shape(&self) -> Vec<usize> {
        self.space.shape()
    }

    /// Number of weights.
    pub fn len(&self) -> usize {
        self.space.len()
    }

    /// Always false: representations have at least one dimension.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// dim Hom_G, the number of degrees of freedom of an equivariant layer.
    pub fn rank(&self) -> usize {
        self.projector.rank()
    }

    /// P(W), the nearest equivariant weights.
    pub fn project<T: Weight<Field = f64>>(&self, weights: &[T]) -> Result<Vec<T>> {
        self.projector.project(weights)
    }

    /// ‖P(W)‖² and ‖W − P(W)‖².
    pub fn energies<T: Weight<Field = f64>>(&self, weights: &[T]) -> Result<Energies> {
        self.projector.energies(weights)
    }

    /// Bounds of ℰ(W) = sup_g ‖π′(g) W − W π(g)‖, computed in double precision; see [`defect::worst`].
    ///
    /// Paper: `lem:proj-defect`.
    pub fn worst_defect<T: Weight<Field = f64>>(&self, weights: &[T]) -> Result<Bracket> {
        let weights: Vec<f64> = weights.iter().map(|w| w.lift()).collect();
        defect::worst(&self.space, &self.projector, &weights)
    }

    /// The penalty and its gradient by the weights, of their shape.
    pub fn penalty<T: Weight<Field = f64>>(&self, config: &PenaltyConfig, weights: &[T]) -> Result<(f64, Vec<T>)> {
        let mut gradient = vec![T::default(); weights.len()];
        let value = config.add_gradient(&self.projector, weights, self.space.codomain().dim(), &mut gradient)?;
        Ok((value, gradient))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::Error;

    #[test]
    fn bad_layers_are_errors() {
        assert!(matches!(Layer::linear("X7", "trivial", "trivial"), Err(Error::UnknownGroup { .. })));
        assert!(matches!(Layer::linear("C4", "nine", "trivial"), Err(Error::Parse { .. })));
        assert!(matches!(Layer::conv2d("SO2", "1x0", "1x1", 5), Err(Error::NoAction { .. })));
        assert!(matches!(
            Layer::conv2d("C4", "trivial", "trivial", 3).unwrap().project(&[1.0]),
            Err(Error::Shape { .. })
        ));
    }
}
