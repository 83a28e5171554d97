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
struct Columns {
    scale: f64,
    /// Σ_i |a_ij/scale|^p per column.
    sums: Vec<f64>,
    /// ‖A‖ / scale.
    norm: f64,
}

fn columns_of<T: Weight>(matrix: &[T], columns: usize, p: i32, q: i32) -> Columns {
    let scale = largest(matrix);
    let mut sums = vec![0.0; columns];
    if scale == 0.0 {
        return Columns { scale, sums, norm: 0.0 };
    }
    for row in matrix.chunks_exact(columns) {
        for (sum, &w) in sums.iter_mut().zip(row) {
            *sum += (modulus(w) / scale).powi(p);
        }
    }
    let outer: f64 = sums.iter().map(|&sum| if p == q { sum } else { root(sum, p).powi(q) }).sum();
    Columns { scale, sums, norm: root(outer, q) }
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
    let parts = columns_of(matrix, columns, p, q);
    parts.norm * parts.scale
}

/// ‖A‖ > 0 and ∂‖A‖/∂a_ij = ‖A‖^{1−q} c_j^{q−p} |a_ij|^{p−1} a_ij/|a_ij| with c_j the p-norm of column j.
pub(super) fn value_and_gradient<T: Weight>(matrix: &[T], columns: usize, p: i32, q: i32) -> (f64, Vec<T>) {
    let parts = columns_of(matrix, columns, p, q);
    let factors: Vec<f64> = parts
        .sums
        .iter()
        .map(|&sum| if sum == 0.0 { 0.0 } else { root(sum, p).powi(q - p) / parts.norm.powi(q - 1) })
        .collect();
    let mut gradient = Vec::with_capacity(matrix.len());
    for row in matrix.chunks_exact(columns) {
        gradient.extend(
            row.iter().zip(&factors).map(|(&w, &factor)| along(w, factor * (modulus(w) / parts.scale).powi(p - 1))),
        );
    }
    (parts.norm * parts.scale, gradient)
}

#[cfg(test)]
mod tests {
    use super::*;

    // Rows (1, −2, 0) and (2, 2, 0).
    const A: [f64; 6] = [1.0, -2.0, 0.0, 2.0, 2.0, 0.0];

    #[test]
    fn values_by_hand() {
        assert!((value(&A, 3, 2, 2) - 13.0_f64.sqrt()).abs() < 1e-15);
        assert_eq!(value(&A, 3, 1, 1), 7.0);
        assert_eq!(value(&A, 3, 1, 2), 5.0);
        assert!((value(&A, 3, 2, 1) - (5.0_f64.sqrt() + 8.0_f64.sqrt())).abs() < 1e-14);
        assert!((value(&A, 3, 3, 3) - 25.0_f64.cbrt()).abs() < 1e-14);
        assert_eq!(largest(&A), 2.0);
    }

    #[test]
    fn ties_of_the_largest_entry_are_averaged() {
        let (value, gradient) = largest_and_gradient(&A, 1e-14);
        assert_eq!(value, 2.0);
        let third = 1.0 / 3.0;
        assert_eq!(gradient, [0.0, -third, 0.0, third, third, 0.0]);
    }
}
