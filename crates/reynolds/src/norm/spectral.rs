//! The spectral norm σ₁ through the singular value decomposition, of the matrix divided by a power of two near its largest entry:
//! the decomposition squares, and would lose 10⁻²⁰⁰ and fail at 10²⁰⁰.

use faer::{Mat, c64};

use super::scaled_down;
use crate::error::{Error, Result};
use crate::scalar::{Scalar, Weight};

fn no_convergence<E: std::fmt::Debug>(error: E) -> Error {
    Error::numerical("singular value decomposition", format!("{error:?}"))
}

/// Whether the matrix can be decomposed in real arithmetic.
fn is_real<T: Weight>(matrix: &[T]) -> bool {
    matrix.iter().all(|w| w.to_c64().im == 0.0)
}

fn to_matrix<T: Weight, F: Scalar + Weight>(matrix: &[T], rows: usize) -> Mat<F> {
    let columns = matrix.len() / rows;
    Mat::from_fn(rows, columns, |i, j| F::from_c64(matrix[i * columns + j].to_c64()))
}

pub(super) fn value<T: Weight>(matrix: &[T], rows: usize) -> Result<f64> {
    let (scale, matrix) = scaled_down(matrix);
    let values = match is_real(&matrix) {
        true => to_matrix::<T, f64>(&matrix, rows).singular_values(),
        false => to_matrix::<T, c64>(&matrix, rows).singular_values(),
    };
    Ok(values.map_err(no_convergence)?.first().copied().unwrap_or(0.0) * scale)
}

/// σ₁ > 0 and the mean of u vᵃ (vᵃ the adjoint) over the singular pairs tied with the leading one
/// (relatively, within `tolerance`).
pub(super) fn value_and_gradient<T: Weight>(matrix: &[T], rows: usize, tolerance: f64) -> Result<(f64, Vec<T>)> {
    let (scale, matrix) = scaled_down(matrix);
    let (value, gradient) = match is_real(&matrix) {
        true => leading_pairs(&to_matrix::<T, f64>(&matrix, rows), tolerance)?,
        false => leading_pairs(&to_matrix::<T, c64>(&matrix, rows), tolerance)?,
    };
    Ok((value * scale, gradient))
}

fn leading_pairs<T: Weight, F: Scalar + Weight>(matrix: &Mat<F>, tolerance: f64) -> Result<(f64, Vec<T>)> {
    let svd = matrix.thin_svd().map_err(no_convergence)?;
    let sigma = svd.S().column_vector();
    let first = sigma[0].real();
    let tied = (0..sigma.nrows()).take_while(|&k| sigma[k].real() >= first * (1.0 - tolerance)).count();
    let mean = svd.U().subcols(0, tied) * svd.V().subcols(0, tied).adjoint();
    let share = F::from_real(1.0 / tied as f64);
    let entries = (0..mean.nrows()).flat_map(|i| (0..mean.ncols()).map(move |j| (i, j)));
    Ok((first, entries.map(|at| T::from_c64((mean[at] * share).to_c64())).collect()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rank_one_matrix_by_hand() {
        // 6·u vᵀ with u = (0.6, 0.8), v = (1, 2, 2)/3.
        let a = [1.2_f64, 2.4, 2.4, 1.6, 3.2, 3.2];
        let (sigma, gradient) = value_and_gradient(&a, 2, 1e-6).unwrap();
        assert!((sigma - 6.0).abs() < 1e-14);
        for (g, x) in gradient.iter().zip(a) {
            assert!((g - x / 6.0).abs() < 1e-15);
        }
    }

    #[test]
    fn tied_singular_pairs_are_averaged() {
        // diag(2, 2, 1): the symmetric subgradient is diag(½, ½, 0).
        let a = [2.0_f32, 0.0, 0.0, 0.0, 2.0, 0.0, 0.0, 0.0, 1.0];
        let (sigma, gradient) = value_and_gradient(&a, 3, 1e-6).unwrap();
        assert!((sigma - 2.0).abs() < 1e-15);
        let expected = [0.5_f32, 0.0, 0.0, 0.0, 0.5, 0.0, 0.0, 0.0, 0.0];
        for (g, e) in gradient.iter().zip(expected) {
            assert!((g - e).abs() < 1e-6);
        }
    }
}
