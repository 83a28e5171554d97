//! The specification: the Haar average, term by term.

use super::{Dimensions, Energies, KernelSpace, Projector, energies_of};
use crate::error::Result;
use crate::haar::Quadrature;
use crate::scalar::Scalar;

/// P(K) = Σ_q w_q A(g_q) K, evaluated as it stands: |G| actions. Every fast form is tested against it.
///
/// Paper: `eqn:projection_operator`.
#[derive(Debug, Clone)]
pub struct HaarProjector<F: Scalar = f64> {
    space: KernelSpace<F>,
    rule: Quadrature,
    rank: usize,
}

impl<F: Scalar> HaarProjector<F> {
    /// The average over the group of `space`.
    ///
    /// # Errors
    /// [`crate::Error::TooLarge`] if the group cannot be enumerated.
    pub fn new(space: &KernelSpace<F>) -> Result<Self> {
        let rule = space.group().quadrature(space.degree())?;
        Ok(Self { space: space.clone(), rule, rank: space.dim_equivariant()? })
    }
}

impl<F: Scalar> Dimensions for HaarProjector<F> {
    fn len(&self) -> usize {
        self.space.len()
    }

    fn rank(&self) -> usize {
        self.rank
    }
}

impl<F: Scalar> Projector<F> for HaarProjector<F> {
    fn apply(&self, weights: &[F], out: &mut [F]) -> Energies {
        out.fill(F::ZERO);
        for (g, weight) in self.rule.iter() {
            for (sum, term) in out.iter_mut().zip(self.space.act(g, weights)) {
                *sum += term * F::from_real(weight);
            }
        }
        energies_of(weights, out)
    }
}
