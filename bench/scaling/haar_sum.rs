//! The Haar sum as the paper counts it: two products of dense matrices for each element of the group.
//!
//! ```text
//! P(K)(gx) = Σ_q w_q π′(g_q) K(x) π(g_q)*        |G| · points · (d′²d + d′d²) multiplications:  |G| · N^1.5 at points = 1, d′ = d
//! ```
//!
//! The matrices are made before the clock runs, and faer multiplies them: the time is that of the formula's arithmetic.
//!
//! Paper: `sec:asymp_cost`, `eqn:projection_operator`.

use std::sync::Arc;

use faer::linalg::matmul::matmul;
use faer::{Accum, Mat, Par};
use reynolds::group::Element;
use reynolds::projection::KernelSpace;
use reynolds::rep::{self, Rep};

use reynolds_train::error::Result;

/// The sum, in single precision, ready to run.
pub(super) struct HaarSum {
    terms: Vec<Term>,
    points: usize,
    /// K(x) for each point, P(K)(x), and π′K.
    slices: Vec<Mat<f32>>,
    sums: Vec<Mat<f32>>,
    half: Mat<f32>,
}

struct Term {
    left: Arc<Mat<f32>>,
    /// π(g)*.
    right: Arc<Mat<f32>>,
    weight: f32,
    moved: Option<Vec<u32>>,
}

/// Multiplications of the sum over `nodes` elements.
pub(super) fn operations(space: &KernelSpace, nodes: usize) -> f64 {
    let (rows, columns) = (space.codomain().dim() as f64, space.domain().dim() as f64);
    nodes as f64 * space.points() as f64 * rows * columns * (rows + columns)
}

impl HaarSum {
    /// The sum over the group of `space`, or over the nodes of an exact rule.
    pub(super) fn new(space: &KernelSpace) -> Result<Self> {
        let rule = space.group().quadrature(space.degree())?;
        let (domain, codomain) = (space.domain(), space.codomain());
        let single = |rep: &Rep, g: &Element| {
            let matrix = rep.matrix(g);
            Mat::from_fn(matrix.nrows(), matrix.ncols(), |i, j| matrix[(i, j)] as f32)
        };
        let term = |(g, weight): (&Element, f64)| {
            let right = Arc::new(single(domain, g));
            let left = if rep::same(domain, codomain) { right.clone() } else { Arc::new(single(codomain, g)) };
            Term { left, right, weight: weight as f32, moved: space.grid().map(|grid| grid.permutation(g)) }
        };
        let (rows, columns, points) = (codomain.dim(), domain.dim(), space.points());
        let empty = || vec![Mat::zeros(rows, columns); points];
        let terms = rule.iter().map(term).collect();
        Ok(Self { terms, points, slices: empty(), sums: empty(), half: Mat::zeros(rows, columns) })
    }

    /// `out ← P(weights)`, both row-major `[out, in, points]`.
    pub(super) fn apply(&mut self, weights: &[f32], out: &mut [f32]) {
        let (columns, points) = (self.half.ncols(), self.points);
        for (x, slice) in self.slices.iter_mut().enumerate() {
            for i in 0..columns {
                let column = slice.col_as_slice_mut(i).iter_mut().enumerate();
                column.for_each(|(o, to)| *to = weights[(o * columns + i) * points + x]);
            }
        }
        self.sums.iter_mut().for_each(|sum| sum.fill(0.0));
        for Term { left, right, weight, moved } in &self.terms {
            for (x, slice) in self.slices.iter().enumerate() {
                let to = moved.as_ref().map_or(x, |moved| moved[x] as usize);
                matmul(self.half.as_mut(), Accum::Replace, left.as_ref(), slice.as_ref(), 1.0, Par::Seq);
                let sum = self.sums[to].as_mut();
                matmul(sum, Accum::Add, self.half.as_ref(), right.transpose(), *weight, Par::Seq);
            }
        }
        for (x, sum) in self.sums.iter().enumerate() {
            for i in 0..columns {
                let column = sum.col_as_slice(i).iter().enumerate();
                column.for_each(|(o, &from)| out[(o * columns + i) * points + x] = from);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use reynolds::projection::{HaarProjector, Projector};
    use reynolds::random::Random;
    use reynolds::{group, rep};

    use super::*;

    #[test]
    fn the_sum_is_the_specification() {
        let [d4, so3] = ["D4", "SO3"].map(|name| group::parse(name).unwrap());
        let (regular, scalars) =
            (rep::parse_fields(&d4, "2 regular").unwrap(), rep::parse_fields(&d4, "3 trivial").unwrap());
        let irreps = rep::parse_fields(&so3, "2x0 + 1x1 + 1x2").unwrap();
        let grid = rep::Grid::new(&d4, 3, 2).unwrap();
        for space in [
            KernelSpace::kernel(&regular, &scalars, &grid).unwrap(),
            KernelSpace::dense(&regular, &regular).unwrap(),
            KernelSpace::dense(&irreps, &irreps).unwrap(),
        ] {
            let mut random = Random::new(5);
            let weights: Vec<f64> = (0..space.len()).map(|_| random.normal()).collect();
            let expected = HaarProjector::new(&space).unwrap().project(&weights).unwrap();
            let single: Vec<f32> = weights.iter().map(|&w| w as f32).collect();
            let mut found = vec![0.0; single.len()];
            let mut sum = HaarSum::new(&space).unwrap();
            // Twice: no state is left from the first call.
            sum.apply(&single, &mut found);
            sum.apply(&single, &mut found);
            let worst = expected.iter().zip(&found).map(|(a, &b)| (a - f64::from(b)).abs()).fold(0.0, f64::max);
            assert!(worst < 1e-5, "{:?}: {worst}", space.shape());
        }
    }
}
