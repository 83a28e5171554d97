//! Square images brought to another number of pixels.
//!
//! ```text
//! out(i) = Σ_k w(k) in(k) / Σ_k w(k),   w(k) = max(0, 1 − |k + ½ − c| / s),   c = (i + ½) from/to,   s = max(1, from/to)
//! ```
//!
//! along rows and along columns: linear interpolation to more pixels, a triangle wide enough not to alias to fewer. The Python Imaging Library
//! calls it bilinear; the published loaders use it on metal masks.

/// `values`, `[from, from]`, as `[to, to]`.
pub(super) fn resize(values: &[f32], from: usize, to: usize) -> Vec<f32> {
    debug_assert_eq!(values.len(), from * from);
    if from == to {
        return values.to_vec();
    }
    let taps = taps(from, to);
    // Along rows; then along columns, row after row.
    let mut wide = vec![0.0_f32; from * to];
    for (row, out) in values.chunks_exact(from).zip(wide.chunks_exact_mut(to)) {
        for (value, (first, weights)) in out.iter_mut().zip(&taps) {
            *value = weights.iter().zip(&row[*first..]).map(|(weight, x)| weight * f64::from(*x)).sum::<f64>() as f32;
        }
    }
    let mut out = Vec::with_capacity(to * to);
    for (first, weights) in &taps {
        let mut row = vec![0.0_f64; to];
        for (k, weight) in weights.iter().enumerate() {
            for (sum, x) in row.iter_mut().zip(&wide[(first + k) * to..][..to]) {
                *sum += weight * f64::from(*x);
            }
        }
        out.extend(row.into_iter().map(|sum| sum as f32));
    }
    out
}

/// For every output pixel the first input pixel and the weights from there on.
fn taps(from: usize, to: usize) -> Vec<(usize, Vec<f64>)> {
    let ratio = from as f64 / to as f64;
    let reach = ratio.max(1.0);
    let tap = |i: usize| {
        let centre = (i as f64 + 0.5) * ratio;
        let first = (centre - reach + 0.5).max(0.0) as usize;
        let end = ((centre + reach + 0.5) as usize).min(from);
        let weight = |k: usize| (1.0 - (k as f64 + 0.5 - centre).abs() / reach).max(0.0);
        let weights: Vec<f64> = (first..end).map(weight).collect();
        let sum: f64 = weights.iter().sum();
        (first, weights.into_iter().map(|weight| weight / sum).collect())
    };
    (0..to).map(tap).collect()
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;
    use reynolds_checkpoint::{Checkpoint, Values};

    #[test]
    fn halving_weighs_four_pixels_by_the_triangle_and_fewer_at_the_border() {
        // Along one axis 0 1 2 3 → (3·0 + 3·1 + 1·2)/7, (1·1 + 3·2 + 3·3)/7; rows are equal, so that columns change nothing.
        let values: Vec<f32> = [0.0, 1.0, 2.0, 3.0].repeat(4);
        let small = resize(&values, 4, 2);
        for (found, expected) in small.iter().zip([5.0 / 7.0, 16.0 / 7.0].repeat(2)) {
            assert!((found - expected).abs() < 1e-6, "{found} {expected}");
        }
    }

    /// golden/ct_formats.py: a rectangle and a disk on 32 × 32 pixels, brought to 26 × 26 by Pillow, which sums in single precision.
    #[test]
    fn shapes_become_what_pillow_makes_of_them() {
        let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../golden/ct/resized.npz");
        let golden = Checkpoint::open(file).unwrap();
        let Values::F32(expected) = golden.read(golden.entry("resized").unwrap()).unwrap() else { panic!("f32") };
        let rectangle = |row: usize, column: usize| (4..11).contains(&row) && (9..20).contains(&column);
        let disk = |row: usize, column: usize| row.abs_diff(20).pow(2) + column.abs_diff(12).pow(2) <= 36;
        for (number, inside) in [&rectangle as &dyn Fn(usize, usize) -> bool, &disk].into_iter().enumerate() {
            let mask: Vec<f32> = (0..32 * 32).map(|at| f32::from(u8::from(inside(at / 32, at % 32)))).collect();
            let small = resize(&mask, 32, 26);
            assert!(small.iter().zip(&expected[number * 676..]).all(|(x, y)| (x - y).abs() < 1e-6), "{number}");
            assert!(small.iter().any(|share| *share > 0.1 && *share < 0.9));
        }
    }

    #[test]
    fn constants_stay() {
        for (from, to) in [(5, 3), (3, 5), (7, 1), (1, 4), (512, 416), (3, 3)] {
            assert!(resize(&vec![2.5; from * from], from, to).iter().all(|x| (x - 2.5).abs() < 1e-6), "{from} {to}");
        }
    }
}
