//! f(g) = Re⟨A(g)D, D⟩, from which ‖Δ_g‖² = 2‖D‖² − 2 f(g), for D = T − P(T).
//!
//! D instead of T: Δ_g(T) = Δ_g(D), and the difference does not cancel when T is almost equivariant.

use super::folded::Folded;
use crate::group::Element;
use crate::projection::{KernelSpace, Motion};
use crate::scalar::Scalar;

/// The autocorrelation of a map along the group.
pub(super) struct Correlation<'a, F: Scalar> {
    space: &'a KernelSpace<F>,
    pub(super) map: &'a [F],
    /// ‖D‖².
    pub(super) energy: f64,
    /// For dense maps whose actions are not all permutations.
    pub(super) folded: Option<Folded<F>>,
}

impl<'a, F: Scalar> Correlation<'a, F> {
    /// `map` has the length of `space`.
    pub(super) fn new(space: &'a KernelSpace<F>, map: &'a [F]) -> Self {
        let energy = map.iter().map(|w| w.abs_sq()).sum();
        let folded = (space.points() == 1 && !space.is_permuted()).then(|| Folded::new(space, map));
        Self { space, map, energy, folded }
    }

    /// ‖Δ_g‖².
    pub(super) fn defect_squared(&self, g: &Element) -> f64 {
        let square = 2.0 * self.energy - 2.0 * self.at(g);
        // `max` would turn NaN into 0.
        if square < 0.0 { 0.0 } else { square }
    }

    /// Re⟨A(g)D, D⟩.
    fn at(&self, g: &Element) -> f64 {
        let inner = |a: &[F], b: &[F]| a.iter().zip(b).map(|(&a, &b)| (a * b.conjugate()).real()).sum();
        if let Some(folded) = &self.folded {
            return inner(&folded.apply(&folded.motion(g), &folded.data), &folded.data);
        }
        self.by_permutation(g).unwrap_or_else(|| inner(&self.space.act(g, self.map), self.map))
    }

    /// One pass, where every action is a signed permutation.
    fn by_permutation(&self, g: &Element) -> Option<f64> {
        let motion = Motion::new(self.space, self.space.codomain(), self.space.domain(), g)?;
        let points = motion.points.len();
        let part = |(from, to, opposite): (usize, usize, bool)| {
            let (from, to) = (&self.map[from * points..][..points], &self.map[to * points..][..points]);
            let terms = from.iter().zip(&motion.points).map(|(&w, &x)| (w * to[x as usize].conjugate()).real());
            terms.sum::<f64>() * if opposite { -1.0 } else { 1.0 }
        };
        Some(motion.pairs().map(part).sum())
    }
}
