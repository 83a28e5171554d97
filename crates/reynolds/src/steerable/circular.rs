//! Real circular harmonics in the plane, in the frame of the arrays: x along the columns, y down the rows.
//!
//! With ψ the angle from the y axis towards the x axis, x = r sin ψ and y = r cos ψ,
//!
//! ```text
//! Y_0 = 1,      Y_k = √2 (sin kψ, cos kψ),      Σ Y_k² = dim Y_k
//! Y_k(gx) = ρ_k(g) Y_k(x),      ρ_k(r(θ)·sᵉ) = R(kθ)·diag(−1, 1)ᵉ
//! ```
//!
//! Measuring from the y axis, which the flip s = diag(−1, 1) of x keeps, gives the same ρ_k(s) for odd and even k.
//!
//! ```
//! use reynolds::steerable::circular_harmonics;
//! let y = circular_harmonics(1, [3.0, 4.0]);
//! assert!((y[0] - 2f64.sqrt() * 0.6).abs() < 1e-15 && (y[1] - 2f64.sqrt() * 0.8).abs() < 1e-15);
//! ```

use std::f64::consts::SQRT_2;

use faer::Mat;

use crate::group::Planar;

/// Y_k at the direction of `point` (x, y): `[1]` for k = 0, else `[2]`.
///
/// At the origin, which has no direction, Y_0 = 1 and Y_k = 0 for k > 0.
pub fn circular_harmonics(frequency: usize, point: [f64; 2]) -> Vec<f64> {
    if frequency == 0 {
        return vec![1.0];
    }
    let length = point[0].hypot(point[1]);
    if length == 0.0 {
        return vec![0.0; 2];
    }
    let (s, c) = (point[0] / length, point[1] / length);
    let (mut sine, mut cosine) = (0.0, 1.0);
    for _ in 0..frequency {
        (sine, cosine) = (sine * c + cosine * s, cosine * c - sine * s);
    }
    vec![SQRT_2 * sine, SQRT_2 * cosine]
}

/// ρ_k(g) of the orthogonal `matrix` g `[2, 2]` on (x, y): the action on the harmonics of one frequency.
pub fn circular_action(frequency: usize, matrix: &[[f64; 2]; 2]) -> Mat<f64> {
    if frequency == 0 {
        return Mat::identity(1, 1);
    }
    let reflected = matrix[0][0] * matrix[1][1] < matrix[0][1] * matrix[1][0];
    Planar::new(matrix[0][1].atan2(matrix[1][1]), reflected).frequency_matrix(frequency)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn harmonics_turn_by_the_frequency_matrix() {
        for (angle, reflected) in [(0.0, true), (0.7, false), (2.9, true), (5.0, false), (4.1, true)] {
            let g = Planar::new(angle, reflected);
            let m = g.matrix();
            let rows = [[m[(0, 0)], m[(0, 1)]], [m[(1, 0)], m[(1, 1)]]];
            let x = [0.3, -1.7];
            let moved = [rows[0][0] * x[0] + rows[0][1] * x[1], rows[1][0] * x[0] + rows[1][1] * x[1]];
            for k in 0..12 {
                let (here, there) = (circular_harmonics(k, x), circular_harmonics(k, moved));
                let action = circular_action(k, &rows);
                for i in 0..here.len() {
                    let turned: f64 = (0..here.len()).map(|j| action[(i, j)] * here[j]).sum();
                    assert!((turned - there[i]).abs() < 1e-14, "k = {k}");
                }
                if k > 0 {
                    assert!((action - g.frequency_matrix(k)).norm_max() < 1e-14);
                }
            }
        }
    }

    #[test]
    fn origin_has_frequency_zero_only() {
        assert_eq!(circular_harmonics(0, [0.0, 0.0]), vec![1.0]);
        assert_eq!(circular_harmonics(3, [0.0, 0.0]), vec![0.0, 0.0]);
    }
}
