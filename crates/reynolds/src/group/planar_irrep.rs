//! Irreducible representations of the planar groups C_N, D_N, SO(2), O(2).
//!
//! ```text
//! irrep(k):  r(θ) ↦ R(kθ),  s ↦ diag(−1, 1)        0 < k < N/2
//! irrep(0):  1          irrep(0,-):  s ↦ −1
//! irrep(N/2):  r ↦ −1   irrep(N/2,-):  r ↦ −1, s ↦ −1
//! ```
//!
//! Without reflections the two-dimensional ones are of complex type, with them of real type.

use std::f64::consts::TAU;
use std::sync::Arc;

use faer::Mat;

use super::{Element, Group, GroupRef, Planar};
use crate::irrep::Irrep;
use crate::rep::{Rep, Representation, SignedPermutation};

/// cos and sin of 2πk/n, exact at multiples of a quarter turn.
fn cos_sin(k: usize, n: usize) -> (f64, f64) {
    let k = k % n;
    if (4 * k).is_multiple_of(n) {
        return [(1.0, 0.0), (0.0, 1.0), (-1.0, 0.0), (0.0, -1.0)][4 * k / n];
    }
    let (sin, cos) = (TAU * k as f64 / n as f64).sin_cos();
    (cos, sin)
}

/// R(2πk/n)·diag(−1, 1)ᵉ, `[2, 2]`.
pub(super) fn turn(k: usize, n: usize, reflected: bool) -> Mat<f64> {
    let (cos, sin) = cos_sin(k, n);
    let sign = if reflected { -1.0 } else { 1.0 };
    let rows = [[cos * sign, sin], [-sin * sign, cos]];
    Mat::from_fn(2, 2, |i, j| rows[i][j])
}

/// One irreducible representation of a planar group.
#[derive(Debug)]
struct PlanarIrrep {
    group: GroupRef,
    /// N, or `None` for a continuous group.
    turns: Option<usize>,
    frequency: usize,
    /// For one-dimensional ones: whether s ↦ −1.
    odd: bool,
    dim: usize,
}

impl PlanarIrrep {
    fn new(group: &GroupRef, turns: Option<usize>, frequency: usize, odd: bool) -> Self {
        let one_dimensional = frequency == 0 || turns.is_some_and(|n| 2 * frequency == n);
        let dim = if one_dimensional { 1 } else { 2 };
        Self { group: group.clone(), turns, frequency, odd, dim }
    }

    /// R(kθ) with its reflection, for a finite or continuous element.
    fn turned(&self, g: &Element) -> (Mat<f64>, bool) {
        match (g, self.turns) {
            (Element::Finite(index), Some(n)) => {
                let index = *index as usize;
                (turn((index % n) * self.frequency, n, index >= n), index >= n)
            }
            _ => {
                let planar: Planar = g.planar();
                (planar.frequency_matrix(self.frequency), planar.reflected)
            }
        }
    }
}

impl Representation for PlanarIrrep {
    fn group(&self) -> &GroupRef {
        &self.group
    }
    fn dim(&self) -> usize {
        self.dim
    }
    fn label(&self) -> String {
        format!("irrep({}{})", self.frequency, if self.odd { ",-" } else { "" })
    }
    fn degree(&self) -> usize {
        if self.turns.is_some() { 0 } else { self.frequency }
    }
    fn matrix(&self, g: &Element) -> Mat<f64> {
        let (matrix, reflected) = self.turned(g);
        if self.dim == 2 {
            return matrix;
        }
        // The lower right entry is cos(kθ), which does not see the flip.
        let sign = if self.odd && reflected { -1.0 } else { 1.0 };
        Mat::from_fn(1, 1, |_, _| sign * matrix[(1, 1)])
    }
    fn signed_permutation(&self, g: &Element) -> Option<SignedPermutation> {
        let exact = match self.turns {
            Some(n) => self.dim == 1 || (4 * self.frequency).is_multiple_of(n),
            None => self.dim == 1,
        };
        if exact { SignedPermutation::from_matrix(&self.matrix(g)) } else { None }
    }
}

/// All irreps of frequency at most `max_frequency`: for `turns = Some(N)` of C_N or D_N, else of SO(2) or O(2).
pub(super) fn planar_irreps(
    group: Arc<impl Group + 'static>,
    turns: Option<usize>,
    reflections: bool,
    max_frequency: usize,
) -> Vec<Irrep> {
    let group: GroupRef = group;
    let mut irreps = Vec::new();
    for frequency in 0..=max_frequency {
        for odd in [false, true] {
            let rep = PlanarIrrep::new(&group, turns, frequency, odd);
            if odd && (!reflections || rep.dim == 2) {
                continue;
            }
            let (label, dim) = (rep.label(), rep.dim);
            let rep: Rep = Arc::new(rep);
            irreps.push(if dim == 2 && !reflections {
                let rotation = turn(1, 4, false);
                let commutant = vec![Mat::identity(2, 2), rotation];
                Irrep::new(label, rep, commutant).expect("two matrices of shape [2, 2]")
            } else {
                Irrep::of_real_type(label, rep)
            });
        }
    }
    irreps
}
