//! SO(3) and O(3): in Euler angles φ is a trigonometric polynomial of degree L in each of three angles.
//!
//! ```text
//! g = R_z(α) R_y(β) R_z(γ),      p = α + γ,   m = α − γ
//! ds² = dβ² + cos²(β/2) dp² + sin²(β/2) dm²
//! ```
//!
//! ds is the rotation angle (the speed of a one-parameter subgroup), so a box of half-widths (b, h, h) in (β, p, m) lies within
//! √(b² + h²) of its centre: walk the straight line in these coordinates and bound ds on the way. The boxes cover the group, and
//! that is the proven covering angle. (2L + 1)³ samples fix the polynomial; its values on the grid then cost O(L) each. The samples
//! are ⟨A(y_β) A(z_γ)D, A(z_α)* D⟩: (2L + 1)² actions and one matrix product per β.

use std::f64::consts::{PI, TAU};

use faer::{Mat, MatRef, c64};
use rayon::prelude::*;

use super::correlation::Correlation;
use super::interval::{Found, climb, proven_supremum};
use crate::group::{Element, Spatial};
use crate::scalar::Scalar;

/// The largest degree L = l_in + l_out for which the grid is laid: (2L + 1)³ samples and about 5·10³ L³ nodes.
pub(super) const MAX_DEGREE: usize = 24;

/// L times the covering angle: 1/cos(0.13) − 1 = 0.85 % of width.
const PHASE: f64 = 0.26;

/// The supremum of φ over the rotations, and the rotary reflections too if `inversion`.
pub(super) fn supremum<F: Scalar>(correlation: &Correlation<'_, F>, degree: usize, inversion: bool) -> Found {
    let components: &[bool] = if inversion { &[false, true] } else { &[false] };
    let grid = HopfGrid::new(degree);
    let mut best = (f64::NEG_INFINITY, Spatial::IDENTITY);
    let mut grid_maximum = 0.0_f64;
    for &inverted in components {
        let series = Torus::new(degree, samples(correlation, degree, inverted));
        let (value, start) = grid.maximum(&series);
        grid_maximum = grid_maximum.max(value);
        let top = climb(start, grid.half_width, |angles| series.at(angles));
        if series.at(&top) > best.0 {
            best = (series.at(&top), Spatial { inverted, ..Spatial::from_euler(top[0], top[1], top[2]) });
        }
    }
    Found { element: Element::Spatial(best.1), upper: proven_supremum(grid_maximum, degree, grid.covering_angle()) }
}

/// Centres of the boxes that cover SO(3).
struct HopfGrid {
    betas: usize,
    /// Number of nodes in p over 2π; twice as many in m over 4π.
    turns: usize,
    /// h.
    half_width: f64,
}

impl HopfGrid {
    fn new(degree: usize) -> Self {
        // The volume 8bh² at fixed b² + h² is largest for h² = 2b².
        let angle = PHASE / degree.max(1) as f64;
        let betas = (PI / (2.0 * angle / 3.0_f64.sqrt())).ceil() as usize;
        let turns = (PI / (angle * (2.0_f64 / 3.0).sqrt())).ceil() as usize;
        Self { betas, turns, half_width: PI / turns as f64 }
    }

    fn covering_angle(&self) -> f64 {
        self.half_width.hypot(PI / (2 * self.betas) as f64)
    }

    /// The largest value on the grid and its Euler angles.
    fn maximum(&self, series: &Torus) -> (f64, [f64; 3]) {
        let bands = 2 * series.degree;
        let step = TAU / self.turns as f64;
        // e^{i v m/2}, v = 1..=2L, for every m.
        let waves: Vec<c64> = (0..2 * self.turns)
            .flat_map(|k| (1..=bands).map(move |v| phase(v as f64 * k as f64 * step / 2.0)))
            .collect();
        (0..self.betas)
            .into_par_iter()
            .map(|row| {
                let beta = (row as f64 + 0.5) * PI / self.betas as f64;
                let slice = series.at_beta(beta);
                let mut best = (f64::NEG_INFINITY, [0.0; 3]);
                for column in 0..self.turns {
                    let p = column as f64 * step;
                    let (constant, band) = series.at_sum(&slice, p);
                    for k in 0..2 * self.turns {
                        let wave = &waves[k * bands..][..bands];
                        let sum: f64 = band.iter().zip(wave).map(|(b, w)| b.re * w.re - b.im * w.im).sum();
                        if constant + 2.0 * sum > best.0 {
                            let m = k as f64 * step;
                            best = (constant + 2.0 * sum, [(p + m) / 2.0, beta, (p - m) / 2.0]);
                        }
                    }
                }
                best
            })
            .max_by(|a, b| a.0.total_cmp(&b.0))
            .expect("at least one node")
    }
}

/// ‖Δ_g‖² at the (2L + 1)³ sample points of one component, γ fastest.
fn samples<F: Scalar>(correlation: &Correlation<'_, F>, degree: usize, inverted: bool) -> Vec<f64> {
    let n = 2 * degree + 1;
    let about = |alpha: f64, beta: f64, inverted: bool| {
        Element::Spatial(Spatial { inverted, ..Spatial::from_euler(alpha, beta, 0.0) })
    };
    let Some(folded) = &correlation.folded else {
        // Only signs: no rotation moves anything.
        return vec![correlation.defect_squared(&about(0.0, 0.0, inverted)); n * n * n];
    };
    let angle = |k: usize| TAU * k as f64 / n as f64;
    let turned = |sign: f64, inverted: bool| -> Vec<Vec<F>> {
        let each = (0..n).into_par_iter();
        each.map(|k| folded.apply(&folded.motion(&about(sign * angle(k), 0.0, inverted)), &folded.data)).collect()
    };
    let (left, right) = (turned(-1.0, false).concat(), turned(1.0, inverted));
    let length = folded.data.len();
    let slices: Vec<Mat<F>> = (0..n)
        .into_par_iter()
        .map(|q| {
            let motion = folded.motion(&about(0.0, angle(q), false));
            let moved: Vec<F> = right.iter().flat_map(|data| folded.apply(&motion, data)).collect();
            let view = |data| MatRef::from_column_major_slice(data, length, n);
            view(&left).adjoint() * view(&moved)
        })
        .collect();
    let at = |index: usize| slices[index / n % n][(index / (n * n), index % n)].real();
    (0..n * n * n).map(|index| (2.0 * correlation.energy - 2.0 * at(index)).max(0.0)).collect()
}

fn phase(angle: f64) -> c64 {
    let (sin, cos) = angle.sin_cos();
    c64::new(cos, sin)
}

/// Σ C[a, b, c] e^{i(aα + bβ + cγ)} over |a|, |b|, |c| ≤ L, real-valued.
struct Torus {
    degree: usize,
    coefficients: Vec<c64>,
}

impl Torus {
    /// From the values at α, β, γ = 2πk/(2L + 1), γ fastest.
    fn new(degree: usize, values: Vec<f64>) -> Self {
        let n = 2 * degree + 1;
        let angle = |k: usize| TAU * k as f64 / n as f64;
        let mut values: Vec<c64> = values.into_iter().map(|value| c64::new(value, 0.0)).collect();
        // One axis at a time; after three cyclic shifts of the axes the order is α, β, γ again.
        for _ in 0..3 {
            let mut turned = vec![c64::new(0.0, 0.0); values.len()];
            for (rest, line) in values.chunks_exact(n).enumerate() {
                for k in 0..n {
                    let frequency = k as f64 - degree as f64;
                    let mut sum = c64::new(0.0, 0.0);
                    for (x, value) in line.iter().enumerate() {
                        sum += *value * phase(-frequency * angle(x));
                    }
                    turned[k * n * n + rest] = sum / n as f64;
                }
            }
            values = turned;
        }
        Self { degree, coefficients: values }
    }

    fn frequencies(&self) -> impl Iterator<Item = f64> {
        let degree = self.degree as i64;
        (-degree..=degree).map(|k| k as f64)
    }

    /// C[a, c] at one β.
    fn at_beta(&self, beta: f64) -> Vec<c64> {
        let n = 2 * self.degree + 1;
        let waves: Vec<c64> = self.frequencies().map(|b| phase(b * beta)).collect();
        let mut slice = vec![c64::new(0.0, 0.0); n * n];
        for (at, &coefficient) in self.coefficients.iter().enumerate() {
            slice[at / (n * n) * n + at % n] += coefficient * waves[at / n % n];
        }
        slice
    }

    /// At one p: the constant and the coefficients of e^{i v m/2}, v = a − c = 1..=2L; those of −v are their conjugates.
    fn at_sum(&self, slice: &[c64], p: f64) -> (f64, Vec<c64>) {
        let n = 2 * self.degree + 1;
        let mut band = vec![c64::new(0.0, 0.0); 2 * self.degree];
        let mut constant = 0.0;
        // a + c runs over −2L..=2L.
        let waves: Vec<c64> =
            (0..=4 * self.degree).map(|sum| phase((sum as f64 - 2.0 * self.degree as f64) * p / 2.0)).collect();
        for a in 0..n {
            for c in 0..=a {
                let term = slice[a * n + c] * waves[a + c];
                if a == c { constant += term.re } else { band[a - c - 1] += term }
            }
        }
        (constant, band)
    }

    fn at(&self, [alpha, beta, gamma]: &[f64; 3]) -> f64 {
        let n = 2 * self.degree + 1;
        let slice = self.at_beta(*beta);
        let mut sum = 0.0;
        for (a, row) in self.frequencies().zip(slice.chunks_exact(n)) {
            for (c, coefficient) in self.frequencies().zip(row) {
                sum += (*coefficient * phase(a * alpha + c * gamma)).re;
            }
        }
        sum
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::Random;

    fn rotation_angle(g: Spatial) -> f64 {
        let r = g.rotation;
        ((r[0][0] + r[1][1] + r[2][2] - 1.0) / 2.0).clamp(-1.0, 1.0).acos()
    }

    #[test]
    fn boxes_cover_the_group() {
        let grid = HopfGrid { betas: 5, turns: 6, half_width: PI / 6.0 };
        let step = TAU / 6.0;
        let mut nodes = Vec::new();
        for row in 0..5 {
            for column in 0..6 {
                for k in 0..12 {
                    let (p, m) = (column as f64 * step, k as f64 * step);
                    nodes.push(Spatial::from_euler((p + m) / 2.0, (row as f64 + 0.5) * PI / 5.0, (p - m) / 2.0));
                }
            }
        }
        let mut random = Random::new(1);
        for _ in 0..300 {
            let g = Spatial::from_euler(TAU * random.uniform(), PI * random.uniform(), TAU * random.uniform());
            let nearest = nodes.iter().map(|h| rotation_angle(g.inverse().multiply(*h))).fold(9.0, f64::min);
            assert!(nearest <= grid.covering_angle() + 1e-9, "{nearest} over {}", grid.covering_angle());
        }
    }
}
