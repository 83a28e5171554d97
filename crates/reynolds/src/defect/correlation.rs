//! f(g) = Re⟨A(g)D, D⟩, from which ‖Δ_g‖² = 2‖D‖² − 2 f(g), for D = T − P(T).
//!
//! D instead of T: Δ_g(T) = Δ_g(D), and the difference does not cancel when T is almost equivariant.

use super::folded::Folded;
use crate::group::Element;
use crate::projection::KernelSpace;
use crate::scalar::Scalar;

/// The autocorrelation of a map along the group.
pub(super) struct Correlation<'a, F: Scalar> {
    space: &'a KernelSpace<F>,
    map: &'a [F],
    /// ‖D‖².
    energy: f64,
    /// For dense maps whose actions are not all permutations.
    folded: Option<Folded<F>>,
}

impl<'a, F: Scalar> Correlation<'a, F> {
    /// `map` has the length of `space`.
    pub(super) fn new(space: &'a KernelSpace<F>, map: &'a [F]) -> Self {
        let energy = map.iter().map(|w| w.abs_sq()).sum();
        let e = space.group().identity();
        let permutes =
            space.codomain().signed_permutation(&e).is_some() && space.domain().signed_permutation(&e).is_some();
        let folded = (space.points() == 1 && !permutes).then(|| Folded::new(space, map));
        Self { space, map, energy, folded }
    }

    /// ‖D‖².
    pub(super) fn energy(&self) -> f64 {
        self.energy
    }

    /// Number of weights.
    pub(super) fn len(&self) -> usize {
        self.map.len()
    }

    /// The folded map, if there is one.
    pub(super) fn folded(&self) -> Option<&Folded<F>> {
        self.folded.as_ref()
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
            return inner(&folded.apply(&folded.motion(g), folded.data()), folded.data());
        }
        self.by_permutation(g).unwrap_or_else(|| inner(&self.space.act(g, self.map), self.map))
    }

    /// One pass, where every action is a signed permutation.
    fn by_permutation(&self, g: &Element) -> Option<f64> {
        let rows = self.space.codomain().signed_permutation(g)?;
        let columns = self.space.domain().signed_permutation(g)?;
        let points = self.space.points();
        let moved: Vec<u32> =
            self.space.grid().map_or_else(|| (0..points as u32).collect(), |grid| grid.permutation(g));
        let n = columns.image.len();
        let mut sum = 0.0;
        for (o, (&to_row, &minus_row)) in rows.image.iter().zip(&rows.negative).enumerate() {
            for (i, (&to_column, &minus_column)) in columns.image.iter().zip(&columns.negative).enumerate() {
                let from = &self.map[(o * n + i) * points..][..points];
                let to = &self.map[(to_row as usize * n + to_column as usize) * points..][..points];
                let part: f64 = from.iter().zip(&moved).map(|(&w, &x)| (w * to[x as usize].conjugate()).real()).sum();
                sum += if minus_row != minus_column { -part } else { part };
            }
        }
        Some(sum)
    }
}
