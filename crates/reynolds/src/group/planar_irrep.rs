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

use super::element::turn_matrix;
use super::{Element, Group, GroupRef};
use crate::irrep::Irrep;
use crate::rep::{Formula, Rep};

/// R(2πk/n)·diag(−1, 1)ᵉ, `[2, 2]`, exact at multiples of a quarter turn.
pub(super) fn turn(k: usize, n: usize, reflected: bool) -> Mat<f64> {
    let k = k % n;
    let sin_cos = match (4 * k).is_multiple_of(n) {
        true => [(0.0, 1.0), (1.0, 0.0), (0.0, -1.0), (-1.0, 0.0)][4 * k / n],
        false => (TAU * k as f64 / n as f64).sin_cos(),
    };
    turn_matrix(sin_cos, reflected)
}

/// One irreducible representation: of C_N or D_N if `turns` is N, else of SO(2) or O(2). `odd` says whether s ↦ −1, in dimension one.
fn planar_irrep(group: &GroupRef, turns: Option<usize>, frequency: usize, odd: bool, dim: usize) -> Rep {
    let label = format!("irrep({frequency}{})", if odd { ",-" } else { "" });
    let matrix = move |g: &Element| {
        let (matrix, reflected) = match (g, turns) {
            (Element::Finite(index), Some(n)) => {
                let index = *index as usize;
                (turn((index % n) * frequency, n, index >= n), index >= n)
            }
            _ => (g.planar().frequency_matrix(frequency), g.planar().reflected),
        };
        if dim == 2 {
            return matrix;
        }
        // The lower right entry is cos(kθ), which does not see the flip.
        let sign = if odd && reflected { -1.0 } else { 1.0 };
        Mat::from_fn(1, 1, |_, _| sign * matrix[(1, 1)])
    };
    let signed = dim == 1 || turns.is_some_and(|n| (4 * frequency).is_multiple_of(n));
    let degree = if turns.is_some() { 0 } else { frequency };
    Formula::new(group, label, dim, matrix).degree(degree).signed_if(signed).shared()
}

/// All irreps of frequency at most `max_frequency`: for `turns = Some(N)` of C_N, Z_n or D_N, else of SO(2) or O(2).
pub(super) fn planar_irreps(
    group: Arc<impl Group + 'static>,
    turns: Option<usize>,
    reflections: bool,
    max_frequency: usize,
) -> Vec<Irrep> {
    let group: GroupRef = group;
    let mut irreps = Vec::new();
    for frequency in 0..=max_frequency {
        let dim = if frequency == 0 || turns.is_some_and(|n| 2 * frequency == n) { 1 } else { 2 };
        let signs: &[bool] = if reflections && dim == 1 { &[false, true] } else { &[false] };
        for &odd in signs {
            let rep = planar_irrep(&group, turns, frequency, odd, dim);
            irreps.push(if dim == 2 && !reflections {
                let commutant = vec![Mat::identity(2, 2), turn(1, 4, false)];
                Irrep::new(rep.label(), rep, commutant).expect("two matrices of shape [2, 2]")
            } else {
                Irrep::of_real_type(rep.label(), rep)
            });
        }
    }
    irreps
}
