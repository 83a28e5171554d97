//! Powers of two that keep squares away from overflow and underflow: dividing by one rounds nothing.

use faer::c64;

use crate::scalar::Weight;

/// The largest power of two that is at most x ≥ 0, subnormal ones included; 0 for 0. Not for NaN or infinity.
pub(crate) fn power_of_two(x: f64) -> f64 {
    if x >= f64::MIN_POSITIVE {
        f64::from_bits(x.to_bits() & f64::INFINITY.to_bits())
    } else if x > 0.0 {
        f64::from_bits(1 << (63 - x.to_bits().leading_zeros()))
    } else {
        0.0
    }
}

/// The power of two s near the largest part of the weights, and the weights divided by it; s = 0 if all are zero.
pub(crate) fn scaled_down<T: Weight>(weights: &[T]) -> (f64, Vec<T>) {
    let parts = weights.iter().map(|w| w.to_c64()).map(|z| z.re.abs().max(z.im.abs()));
    let scale = power_of_two(parts.fold(0.0, f64::max));
    if scale == 0.0 {
        return (scale, weights.to_vec());
    }
    let divide = |z: c64| T::from_c64(c64::new(z.re / scale, z.im / scale));
    (scale, weights.iter().map(|w| divide(w.to_c64())).collect())
}

/// (Σ v²)^½, right wherever it is representable.
pub(crate) fn length(values: impl Iterator<Item = f64> + Clone) -> f64 {
    let squares: f64 = values.clone().map(|v| v * v).sum();
    // In a sum this large, squares that underflowed do not matter.
    if squares.is_nan() || (1e-250..f64::INFINITY).contains(&squares) {
        return squares.sqrt();
    }
    let scale = power_of_two(values.clone().fold(0.0, |largest, v| v.abs().max(largest)));
    if scale == 0.0 || scale.is_infinite() {
        return scale;
    }
    values.map(|v| (v / scale) * (v / scale)).sum::<f64>().sqrt() * scale
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn powers_of_two_by_hand() {
        assert_eq!([0.0, 1.0, 1.5, 0.3].map(power_of_two), [0.0, 1.0, 1.0, 0.25]);
        assert_eq!(power_of_two(f64::MAX), 2.0_f64.powi(1023));
        assert_eq!(power_of_two(f64::MIN_POSITIVE / 3.0), f64::MIN_POSITIVE / 4.0);
        assert_eq!(power_of_two(f64::from_bits(1)), f64::from_bits(1));
    }

    #[test]
    fn lengths_at_every_scale() {
        for scale in [1e-320, 1e-200, 1.0, 1e200, 1e307] {
            let found = length([3.0 * scale, -4.0 * scale].into_iter());
            assert!(
                (found / (5.0 * scale) - 1.0).abs() < 1e-3 && (scale < 1e-300 || (found / scale - 5.0).abs() < 1e-14)
            );
        }
        assert_eq!(length(std::iter::empty()), 0.0);
        assert_eq!(length([f64::INFINITY].into_iter()), f64::INFINITY);
        assert!(length([f64::NAN, 1.0].into_iter()).is_nan());
    }
}
