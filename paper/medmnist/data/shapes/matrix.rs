//! Turns and mirror images as orthogonal 3 × 3 matrices.

use std::f64::consts::TAU;

use reynolds::random::Random;

/// By rows.
pub(super) type Matrix = [[f64; 3]; 3];

pub(super) type Vector = [f64; 3];

pub(super) const IDENTITY: Matrix = [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]];

pub(super) fn dot(a: Vector, b: Vector) -> f64 {
    a[0] * b[0] + a[1] * b[1] + a[2] * b[2]
}

/// First `second`, then `first`.
pub(super) fn product(first: &Matrix, second: &Matrix) -> Matrix {
    let column = |j: usize| [second[0][j], second[1][j], second[2][j]];
    std::array::from_fn(|i| std::array::from_fn(|j| dot(first[i], column(j))))
}

pub(super) fn back(matrix: &Matrix, v: Vector) -> Vector {
    std::array::from_fn(|j| matrix[0][j] * v[0] + matrix[1][j] * v[1] + matrix[2][j] * v[2])
}

/// The turn about a unit axis by an angle α in radians.
///
/// ```text
/// R = cos α · 1 + sin α · [n]ₓ + (1 − cos α) · n nᵀ
/// ```
pub(super) fn turn(axis: Vector, angle: f64) -> Matrix {
    let (sine, cosine) = angle.sin_cos();
    let [x, y, z] = axis;
    let cross = [[0.0, -z, y], [z, 0.0, -x], [-y, x, 0.0]];
    std::array::from_fn(|i| {
        std::array::from_fn(|j| cosine * IDENTITY[i][j] + sine * cross[i][j] + (1.0 - cosine) * axis[i] * axis[j])
    })
}

/// A direction, uniform on the sphere.
pub(super) fn direction(random: &mut Random) -> Vector {
    let height = random.between(-1.0, 1.0);
    let (sine, cosine) = (TAU * random.uniform()).sin_cos();
    let radius = (1.0 - height * height).sqrt();
    [radius * cosine, radius * sine, height]
}

/// Haar-random in O(3): a turn of a uniform unit quaternion, and the inversion half of the time.
pub(super) fn haar(random: &mut Random) -> Matrix {
    let share = random.uniform();
    let (one, other) = (TAU * random.uniform(), TAU * random.uniform());
    let (inner, outer) = ((1.0 - share).sqrt(), share.sqrt());
    let [w, x, y, z] = [inner * one.sin(), inner * one.cos(), outer * other.sin(), outer * other.cos()];
    let sign = if random.uniform() < 0.5 { -1.0 } else { 1.0 };
    let turn = [
        [1.0 - 2.0 * (y * y + z * z), 2.0 * (x * y - w * z), 2.0 * (x * z + w * y)],
        [2.0 * (x * y + w * z), 1.0 - 2.0 * (x * x + z * z), 2.0 * (y * z - w * x)],
        [2.0 * (x * z - w * y), 2.0 * (y * z + w * x), 1.0 - 2.0 * (x * x + y * y)],
    ];
    turn.map(|row| row.map(|entry| sign * entry))
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    pub(in super::super) fn determinant(m: &Matrix) -> f64 {
        let minor = |j: usize, k: usize| m[1][j] * m[2][k] - m[1][k] * m[2][j];
        m[0][0] * minor(1, 2) - m[0][1] * minor(0, 2) + m[0][2] * minor(0, 1)
    }

    fn assert_orthogonal(m: &Matrix) {
        let transposed: Matrix = std::array::from_fn(|i| std::array::from_fn(|j| m[j][i]));
        let one = product(m, &transposed);
        for (row, unit) in one.iter().zip(&IDENTITY) {
            assert!(row.iter().zip(unit).all(|(a, b)| (a - b).abs() < 1e-12), "{one:?}");
        }
    }

    #[test]
    fn turns_keep_their_axis_and_have_the_trace_of_their_angle() {
        let mut random = Random::at(1, &[]);
        for _ in 0..50 {
            let (axis, angle) = (direction(&mut random), random.between(-3.0, 3.0));
            let matrix = turn(axis, angle);
            assert_orthogonal(&matrix);
            assert!((matrix[0][0] + matrix[1][1] + matrix[2][2] - 1.0 - 2.0 * angle.cos()).abs() < 1e-12);
            assert!(back(&matrix, axis).iter().zip(axis).all(|(a, b)| (a - b).abs() < 1e-12));
        }
        // A quarter turn about z takes x to y.
        let quarter = turn([0.0, 0.0, 1.0], TAU / 4.0);
        assert!((quarter[1][0] - 1.0).abs() < 1e-12 && (quarter[0][1] + 1.0).abs() < 1e-12);
    }

    #[test]
    fn haar_averages_of_entries_and_their_squares_are_those_of_schur() {
        // ∫ R_ij = 0 and ∫ R_ij R_kl = δ_ik δ_jl / 3; the mean of det is 0 over O(3), that of the squared trace 1.
        let (mut random, count) = (Random::at(2, &[]), 40_000);
        let (mut mean, mut square, mut sign, mut trace) = ([[0.0; 3]; 3], [[0.0; 3]; 3], 0.0, 0.0);
        for number in 0..count {
            let matrix = haar(&mut random);
            if number < 50 {
                assert_orthogonal(&matrix);
            }
            sign += determinant(&matrix);
            trace += (matrix[0][0] + matrix[1][1] + matrix[2][2]).powi(2);
            for i in 0..3 {
                for j in 0..3 {
                    mean[i][j] += matrix[i][j];
                    square[i][j] += matrix[i][j].powi(2);
                }
            }
        }
        let count = f64::from(count);
        assert!((sign / count).abs() < 0.02 && (trace / count - 1.0).abs() < 0.03, "{sign} {trace}");
        for i in 0..3 {
            assert!(mean[i].iter().all(|sum| (sum / count).abs() < 0.012), "{mean:?}");
            assert!(square[i].iter().all(|sum| (sum / count - 1.0 / 3.0).abs() < 0.008), "{square:?}");
        }
    }
}
