//! Gauss–Legendre quadrature: n nodes in [−1, 1] that integrate polynomials of degree up to 2n − 1 exactly.
//!
//! ```text
//! P_n(x_k) = 0,      w_k = 2 / ((1 − x_k²) P_n′(x_k)²),      ∫ p(x) dx = Σ_k w_k p(x_k)
//! ```

use std::f64::consts::PI;

/// Newton's method starts with two correct digits and doubles their number in every step; one step is spare.
const STEPS: usize = 6;

/// Nodes, from the greatest to the least, with their weights.
pub(super) fn gauss_legendre(n: usize) -> Vec<(f64, f64)> {
    let mut pairs = vec![(0.0, 0.0); n];
    // The nodes are symmetric about 0.
    for k in 0..n.div_ceil(2) {
        let mut x = if 2 * k + 1 == n { 0.0 } else { (PI * (k as f64 + 0.75) / (n as f64 + 0.5)).cos() };
        for _ in 0..STEPS {
            let (value, slope) = legendre(n, x);
            x -= value / slope;
        }
        let slope = legendre(n, x).1;
        let weight = 2.0 / ((1.0 - x * x) * slope * slope);
        pairs[k] = (x, weight);
        pairs[n - 1 - k] = (-x, weight);
    }
    pairs
}

/// P_n(x) and P_n′(x) for |x| < 1: (m + 1) P_{m+1} = (2m + 1) x P_m − m P_{m−1}, and (1 − x²) P_n′ = n (P_{n−1} − x P_n).
fn legendre(n: usize, x: f64) -> (f64, f64) {
    let (mut before, mut now) = (0.0, 1.0);
    for m in 0..n {
        let m = m as f64;
        (before, now) = (now, ((2.0 * m + 1.0) * x * now - m * before) / (m + 1.0));
    }
    (now, n as f64 * (before - x * now) / (1.0 - x * x))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn polynomials_are_integrated_up_to_their_degree_and_no_further() {
        for n in 1..=70 {
            let pairs = gauss_legendre(n);
            let integral = |degree: usize| pairs.iter().map(|(x, w)| w * x.powi(degree as i32)).sum::<f64>();
            for degree in 0..2 * n {
                let expected = if degree % 2 == 0 { 2.0 / (degree + 1) as f64 } else { 0.0 };
                assert!((integral(degree) - expected).abs() < 1e-13, "n = {n}, degree {degree}");
            }
            if n <= 8 {
                assert!((integral(2 * n) - 2.0 / (2 * n + 1) as f64).abs() > 1e-6, "n = {n}, degree {}", 2 * n);
            }
        }
    }
}
