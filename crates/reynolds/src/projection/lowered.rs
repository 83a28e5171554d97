//! Chooses the form a projector is lowered to.

use super::{Basis, Blocks, Chain, Dimensions, Energies, KernelSpace, Orbits, Projector};
use crate::error::Result;
use crate::scalar::{Scalar, Weight};

/// A projector in its lowered form.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub enum Lowered<F: Scalar = f64> {
    /// Signed-permutation actions.
    Orbits(Orbits),
    /// Dense maps between sums of irreps.
    Blocks(Blocks<F>),
    /// Any other finite group.
    Chain(Chain<F>),
    /// Band-limited kernels, which no group acts on exactly; never made by [`derive()`].
    Basis(Box<Basis>),
}

/// Derives the projector of an exact action: orbits where all actions are signed permutations, blocks for other dense maps, the chain for
/// other kernels. Kernels of continuous groups have no exact action: see [`super::Basis`].
///
/// ```
/// use reynolds::projection::{KernelSpace, Projector, derive};
/// use reynolds::{group, rep};
/// let c4 = group::parse("C4")?;
/// let fields = rep::parse_fields(&c4, "9 regular")?;
/// let space = KernelSpace::kernel(&fields, &fields, &rep::Grid::new(&c4, 5, 2)?)?;
/// let projector = derive(&space)?;
/// let weights: Vec<f32> = (0..space.len()).map(|i| (i as f32).sin()).collect();
/// let mut projected = vec![0.0; weights.len()];
/// let energies = projector.project_into(&weights, &mut projected)?;
/// assert!(energies.ratio() < 0.3); // chance is 1/4
/// # Ok::<(), reynolds::Error>(())
/// ```
pub fn derive<F: Scalar>(space: &KernelSpace<F>) -> Result<Lowered<F>> {
    if let Some(orbits) = Orbits::derive(space)? {
        return Ok(Lowered::Orbits(orbits));
    }
    if space.points() == 1 {
        return Blocks::derive(space).map(Lowered::Blocks);
    }
    Chain::derive(space).map(Lowered::Chain)
}

impl<F: Scalar> Lowered<F> {
    /// Name of the form.
    pub fn form(&self) -> &'static str {
        match self {
            Self::Orbits(_) => "orbits",
            Self::Blocks(_) => "blocks",
            Self::Chain(_) => "chain",
            Self::Basis(_) => "basis",
        }
    }

    fn as_projector<T: Weight<Field = F>>(&self) -> &dyn Projector<T> {
        match self {
            Self::Orbits(orbits) => orbits,
            Self::Blocks(blocks) => blocks,
            Self::Chain(chain) => chain,
            Self::Basis(basis) => basis.as_ref(),
        }
    }
}

impl<F: Scalar> Dimensions for Lowered<F> {
    fn len(&self) -> usize {
        self.as_projector::<F>().len()
    }

    fn rank(&self) -> usize {
        self.as_projector::<F>().rank()
    }

    fn parts(&self) -> Vec<usize> {
        self.as_projector::<F>().parts()
    }
}

impl<F: Scalar, T: Weight<Field = F>> Projector<T> for Lowered<F> {
    fn apply(&self, weights: &[T], out: &mut [T]) -> Energies {
        self.as_projector::<T>().apply(weights, out)
    }

    fn apply_part(&self, part: usize, weights: &[T], out: &mut [T]) -> Energies {
        self.as_projector::<T>().apply_part(part, weights, out)
    }
}
