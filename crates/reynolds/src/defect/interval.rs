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

/// Climbs from `start` by coordinate steps that halve until they no longer matter.
pub(super) fn climb<const N: usize>(start: [f64; N], step: f64, f: impl Fn(&[f64; N]) -> f64) -> [f64; N] {
    let (mut best, mut step) = (start, step);
    let mut value = f(&best);
    while step > 1e-9 {
        let mut improved = false;
        for axis in 0..N {
            for direction in [step, -step] {
                let mut next = best;
                next[axis] += direction;
                let there = f(&next);
                if there > value {
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
}
