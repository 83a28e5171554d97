//! From a grid of values to a proven supremum.
//!
//! ```text
//! 0 ≤ φ ≤ M with φ(g₀) = M, of degree L along every one-parameter subgroup, and g at angle δ from g₀, Lδ < π:
//! φ(g) ≥ M cos²(Lδ/2)
//! ```
//!
//! Why: t ↦ φ(g₀ exp tX) − M/2 is a trigonometric polynomial of degree L with sup norm M/2, attained at t = 0. Such a polynomial
//! stays above (M/2) cos(Lt) until t = π/L (M. Riesz), and (1 + cos x)/2 = cos²(x/2). Hence sup φ ≤ max over a grid of covering
//! angle δ / cos²(Lδ/2).

use crate::group::Element;

/// What a search over a continuous group found.
pub(super) struct Found {
    /// Where the largest φ was found.
    pub(super) element: Element,
    /// A proven upper bound of φ.
    pub(super) upper: f64,
}

/// The proven bound of sup φ from the largest grid value. Rounding of φ itself is covered by a relative 10⁻¹².
pub(super) fn proven_supremum(grid_maximum: f64, degree: usize, covering_angle: f64) -> f64 {
    let cosine = (degree as f64 * covering_angle / 2.0).cos();
    grid_maximum / (cosine * cosine) * (1.0 + 1e-12)
}

/// Climbs from `start` by coordinate steps that halve until they no longer matter. Only so many rounds: along a narrow ridge such steps gain
/// next to nothing, and the lower end that they raise is within the bracket of the grid already.
pub(super) fn climb<const N: usize>(start: [f64; N], step: f64, f: impl Fn(&[f64; N]) -> f64) -> [f64; N] {
    const ROUNDS: usize = 200;
    const GAIN: f64 = 1e-13;
    let (mut best, mut step) = (start, step);
    let mut value = f(&best);
    for _ in 0..ROUNDS {
        if step < 1e-9 {
            break;
        }
        let mut improved = false;
        for axis in 0..N {
            for direction in [step, -step] {
                let mut next = best;
                next[axis] += direction;
                let there = f(&next);
                if there > value * (1.0 + GAIN) {
                    (best, value, improved) = (next, there, true);
                }
            }
        }
        if !improved {
            step /= 2.0;
        }
    }
    best
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bound_is_attained_by_the_extremal_polynomial() {
        // φ = 1 + cos(Lθ) with the grid off its peak by exactly δ: the bound returns the peak.
        let (degree, delta) = (3, 0.2_f64);
        let on_grid = 1.0 + (3.0 * delta).cos();
        assert!((proven_supremum(on_grid, degree, delta) - 2.0).abs() < 1e-11);
    }

    /// slow_so3: a bracket that took 26 s, climbing a ridge that lies askew.
    #[test]
    fn a_narrow_ridge_is_not_climbed_for_long() {
        let evaluations = std::cell::Cell::new(0);
        let top = climb([0.0, 0.0], 0.1, |[x, y]| {
            evaluations.set(evaluations.get() + 1);
            2.0 - 1e4 * (x - 0.7 * y).powi(2) - 1e-3 * (x + y - 2.0).powi(2)
        });
        assert!(evaluations.get() < 1000 && (top[0] - 0.7 * top[1]).abs() < 1e-2, "{} {top:?}", evaluations.get());
    }
}
