//! (p,q) norms (Frobenius among them) and the max norm: functions of the |a_ij| alone.

use faer::c64;

use crate::scalar::Weight;

fn modulus<T: Weight>(weight: T) -> f64 {
    let z = weight.to_c64();
    z.re.hypot(z.im)
}

/// `factor · a/|a|`, and 0 for a = 0.
fn along<T: Weight>(weight: T, factor: f64) -> T {
    let length = modulus(weight);
    if length == 0.0 {
        return T::default();
    }
    let z = weight.to_c64();
    T::from_c64(c64::new(z.re / length * factor, z.im / length * factor))
}

/// max |a|.
pub(super) fn largest<T: Weight>(matrix: &[T]) -> f64 {
    matrix.iter().fold(0.0, |largest, &w| modulus(w).max(largest))
}

/// max |a| > 0, and the mean of a/|a| over the entries tied with it.
pub(super) fn largest_and_gradient<T: Weight>(matrix: &[T], tolerance: f64) -> (f64, Vec<T>) {
    let value = largest(matrix);
    let tied = |w: T| modulus(w) >= value * (1.0 - tolerance);
    let count = matrix.iter().filter(|&&w| tied(w)).count();
    let gradient = matrix.iter().map(|&w| if tied(w) { along(w, 1.0 / count as f64) } else { T::default() }).collect();
    (value, gradient)
}

/// Everything is divided by the largest entry, so that cubes neither overflow nor vanish.
struct Rows {
    scale: f64,
    /// Σ_j |a_ij/scale|^p per row.
    sums: Vec<f64>,
    /// ‖A‖ / scale.
    norm: f64,
}

fn rows_of<T: Weight>(matrix: &[T], columns: usize, p: i32, q: i32) -> Rows {
    let scale = largest(matrix);
    if scale == 0.0 {
        return Rows { scale, sums: vec![0.0; matrix.len() / columns], norm: 0.0 };
    }
    let sum = |row: &[T]| -> f64 { row.iter().map(|&w| (modulus(w) / scale).powi(p)).sum() };
    let sums: Vec<f64> = matrix.chunks_exact(columns).map(sum).collect();
    let outer: f64 = sums.iter().map(|&sum| if p == q { sum } else { root(sum, p).powi(q) }).sum();
    Rows { scale, sums, norm: root(outer, q) }
}

fn root(value: f64, p: i32) -> f64 {
    match p {
        1 => value,
        2 => value.sqrt(),
        _ => value.cbrt(),
    }
}

/// ‖A‖_(p,q).
pub(super) fn value<T: Weight>(matrix: &[T], columns: usize, p: i32, q: i32) -> f64 {
    let parts = rows_of(matrix, columns, p, q);
    parts.norm * parts.scale
}

/// ‖A‖ > 0 and ∂‖A‖/∂a_ij = ‖A‖^{1−q} r_i^{q−p} |a_ij|^{p−1} a_ij/|a_ij| with r_i the p-norm of row i.
pub(super) fn value_and_gradient<T: Weight>(matrix: &[T], columns: usize, p: i32, q: i32) -> (f64, Vec<T>) {
    let parts = rows_of(matrix, columns, p, q);
    let mut gradient = Vec::with_capacity(matrix.len());
    for (row, &sum) in matrix.chunks_exact(columns).zip(&parts.sums) {
        let factor = if sum == 0.0 { 0.0 } else { root(sum, p).powi(q - p) / parts.norm.powi(q - 1) };
        gradient.extend(row.iter().map(|&w| along(w, factor * (modulus(w) / parts.scale).powi(p - 1))));
    }
    (parts.norm * parts.scale, gradient)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_by_hand() {
        // Rows with sums 5 and 7, lengths 3 and 5.
        let a = [1.0, -2.0, 2.0, 0.0, 3.0, 4.0];
        let by_hand = [
            ((1, 1), 12.0),
            ((1, 2), 74.0_f64.sqrt()),
            ((1, 3), 468.0_f64.cbrt()),
            ((2, 1), 8.0),
            ((2, 2), 34.0_f64.sqrt()),
            ((2, 3), 152.0_f64.cbrt()),
            ((3, 1), 17.0_f64.cbrt() + 91.0_f64.cbrt()),
            ((3, 3), 108.0_f64.cbrt()),
        ];
        for ((p, q), expected) in by_hand {
            assert!((value(&a, 3, p, q) / expected - 1.0).abs() < 1e-14, "({p},{q})");
        }
        assert_eq!(largest(&a), 4.0);
    }

    #[test]
    fn ties_of_the_largest_entry_are_averaged() {
        let (value, gradient) = largest_and_gradient(&[1.0, -2.0, 0.0, 2.0, 2.0, 0.0], 1e-14);
        assert_eq!(value, 2.0);
        let third = 1.0 / 3.0;
        assert_eq!(gradient, [0.0, -third, 0.0, third, third, 0.0]);
    }
}
