//! Real Clebsch–Gordan tensors: how two degrees couple to a third.
//!
//! ```text
//! D^out(R) C_m D^in(R)ᵀ = Σ_m′ C_m′ D^J(R)[m′, m],      ‖C‖ = 1
//! Σ_{o,i} C^J[o, i, m] C^J′[o, i, m′] = δ_JJ′ δ_mm′ / (2J + 1)
//! ```
//!
//! C^J exists, once up to sign, iff |l_out − l_in| ≤ J ≤ l_out + l_in. Couplings with l_out + l_in + J odd (the cross product is
//! 1 × 1 → 1) are not integrals of three harmonics, so C comes from Racah's sum over integers, carried to the real basis.
//!
//! ```
//! use reynolds::steerable::clebsch_gordan;
//! // The cross product, in the basis (y, z, x) of degree 1: the totally antisymmetric tensor / √6.
//! let cross = clebsch_gordan(1, 1, 1)?;
//! assert!((cross.at(0, 1, 2) - 1.0 / 6f64.sqrt()).abs() < 1e-15);
//! assert!((cross.at(0, 1, 2) + cross.at(1, 0, 2)).abs() < 1e-15);
//! # Ok::<(), reynolds::Error>(())
//! ```

use std::sync::LazyLock;

use faer::c64;

use crate::error::{Error, Result};
use crate::group::MAX_DEGREE;

/// The real tensor C^J of one coupling, `[2l_out + 1, 2l_in + 1, 2J + 1]`.
#[derive(Debug, Clone, PartialEq)]
pub struct Coupling {
    /// `[2l_out + 1, 2l_in + 1, 2J + 1]`.
    pub shape: [usize; 3],
    /// All entries, row-major.
    pub entries: Vec<f64>,
}

impl Coupling {
    /// C[o, i, m].
    pub fn at(&self, o: usize, i: usize, m: usize) -> f64 {
        self.entries[(o * self.shape[1] + i) * self.shape[2] + m]
    }
}

/// C^J of degrees `l_out` and `l_in`, normalised, its first non-zero entry positive.
pub fn clebsch_gordan(l_out: usize, l_in: usize, degree: usize) -> Result<Coupling> {
    if l_out.max(l_in) > MAX_DEGREE {
        return Err(Error::range("degree of a coupling", format!("at most {MAX_DEGREE}"), l_out.max(l_in)));
    }
    let (low, high) = (l_out.abs_diff(l_in), l_out + l_in);
    if !(low..=high).contains(&degree) {
        return Err(Error::range(format!("degree coupled from {l_out} and {l_in}"), format!("{low}..={high}"), degree));
    }
    let shape = [2 * l_out + 1, 2 * l_in + 1, 2 * degree + 1];
    let [l1, l2, j] = [l_out, l_in, degree].map(|l| l as i64);
    // Σ CG(l1 m1, l2 m2 | J M) U[m1, o] U[m2, i] conj U[M, m] is real for an even sum of degrees and imaginary for an odd one.
    let imaginary = (l1 + l2 + j) % 2 != 0;
    let mut entries = vec![0.0; shape.iter().product()];
    for m1 in -l1..=l1 {
        for m2 in -l2..=l2 {
            if (m1 + m2).abs() > j {
                continue;
            }
            let coefficient = complex_coefficient(l1, m1, l2, m2, j);
            for (o, u1) in real_parts(m1) {
                for (i, u2) in real_parts(m2) {
                    for (m, u3) in real_parts(m1 + m2) {
                        let value = u1 * u2 * u3.conj();
                        let index = ((o + l1) * (2 * l2 + 1) + i + l2) * (2 * j + 1) + m + j;
                        entries[index as usize] += coefficient * if imaginary { value.im } else { value.re };
                    }
                }
            }
        }
    }
    normalise(&mut entries);
    Ok(Coupling { shape, entries })
}

/// The complex harmonic of order m in the real ones: pairs of a real order and its complex factor.
fn real_parts(m: i64) -> Vec<(i64, c64)> {
    let half = std::f64::consts::FRAC_1_SQRT_2;
    match m {
        0 => vec![(0, c64::new(1.0, 0.0))],
        m if m > 0 => {
            let sign = if m % 2 == 0 { half } else { -half };
            vec![(m, c64::new(sign, 0.0)), (-m, c64::new(0.0, sign))]
        }
        m => vec![(-m, c64::new(half, 0.0)), (m, c64::new(0.0, -half))],
    }
}

/// ⟨l1 m1, l2 m2 | J m1+m2⟩. The alternating sum is exact in 128-bit integers for l1, l2 ≤ 32: its terms are products of
/// binomials, none of them over (64 choose 32)² < 2^122.
fn complex_coefficient(l1: i64, m1: i64, l2: i64, m2: i64, j: i64) -> f64 {
    let defect = l1 + l2 - j;
    let sum: i128 = (0..=defect)
        .map(|k| {
            let term = binomial(defect, k) * binomial(l1 - l2 + j, l1 - m1 - k) * binomial(l2 - l1 + j, l2 + m2 - k);
            if k % 2 == 0 { term } else { -term }
        })
        .sum();
    let real = |n, k| binomial(n, k) as f64;
    let above = real(2 * l1, defect) * real(2 * l2, defect);
    let below = real(l1 + l2 + j + 1, defect) * real(2 * l1, l1 - m1) * real(2 * l2, l2 - m2);
    (above / below / real(2 * j, j - m1 - m2)).sqrt() * sum as f64
}

/// Pascal's triangle up to row 4·[`MAX_DEGREE`] + 1, whose largest entry is below 2^127.
static TRIANGLE: LazyLock<Vec<Vec<i128>>> = LazyLock::new(|| {
    let mut rows = vec![vec![1_i128]];
    for n in 1..=4 * MAX_DEGREE + 1 {
        let above = &rows[n - 1];
        let row = (0..=n).map(|k| above.get(k).unwrap_or(&0) + if k > 0 { above[k - 1] } else { 0 }).collect();
        rows.push(row);
    }
    rows
});

/// n over k, zero outside 0..=n.
fn binomial(n: i64, k: i64) -> i128 {
    if (0..=n).contains(&k) { TRIANGLE[n as usize][k as usize] } else { 0 }
}

/// Unit norm, and the first entry that is not zero made positive.
fn normalise(entries: &mut [f64]) {
    let norm = entries.iter().map(|e| e * e).sum::<f64>().sqrt();
    let first = entries.iter().find(|e| e.abs() > 1e-12 * norm).copied().unwrap_or(1.0);
    let factor = first.signum() / norm;
    for entry in entries {
        *entry *= factor;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::group::Spatial;
    use crate::steerable::wigner_d_all;

    #[test]
    fn coupling_intertwines_at_random_rotations() {
        for seed in 0..3 {
            let t = seed as f64;
            let r = Spatial::from_euler(0.4 + 2.1 * t, 1.0 + 0.8 * t, -1.3 * t);
            let d = wigner_d_all(12, &r.rotation);
            for (l_out, l_in) in [(0, 0), (1, 1), (2, 1), (1, 3), (2, 2), (4, 3), (6, 6), (8, 5), (8, 8)] {
                for degree in usize::abs_diff(l_out, l_in)..=(l_out + l_in).min(12) {
                    let c = clebsch_gordan(l_out, l_in, degree).unwrap();
                    let error = intertwining_error(&c, &d[l_out], &d[l_in], &d[degree]);
                    assert!(error < 1e-13, "{l_out} {l_in} {degree}: {error:e}");
                }
            }
        }
    }

    fn intertwining_error(c: &Coupling, out: &faer::Mat<f64>, inn: &faer::Mat<f64>, dj: &faer::Mat<f64>) -> f64 {
        let [rows, columns, orders] = c.shape;
        let slices: Vec<_> = (0..orders).map(|m| faer::Mat::from_fn(rows, columns, |o, i| c.at(o, i, m))).collect();
        let mut worst: f64 = 0.0;
        for m in 0..orders {
            let mut difference = out * &slices[m] * inn.transpose();
            for (other, slice) in slices.iter().enumerate() {
                difference -= faer::Scale(dj[(other, m)]) * slice;
            }
            worst = worst.max(difference.norm_max());
        }
        worst
    }

    #[test]
    fn couplings_are_orthogonal() {
        for (l_out, l_in) in [(1, 1), (2, 3), (8, 8), (32, 32)] {
            let degrees = [usize::abs_diff(l_out, l_in), l_out, l_out + 1, l_out + l_in];
            let all: Vec<_> = degrees.iter().filter_map(|&j| clebsch_gordan(l_out, l_in, j).ok()).collect();
            for (p, a) in all.iter().enumerate() {
                for (q, b) in all.iter().enumerate() {
                    for (m, n) in [(0, 0), (0, 1), (1, 1), (2, 0)] {
                        if m >= a.shape[2] || n >= b.shape[2] {
                            continue;
                        }
                        let sum: f64 = (0..=2 * l_out)
                            .flat_map(|o| (0..=2 * l_in).map(move |i| (o, i)))
                            .map(|(o, i)| a.at(o, i, m) * b.at(o, i, n))
                            .sum();
                        let same = a.shape == b.shape && m == n;
                        let want = if same { 1.0 / a.shape[2] as f64 } else { 0.0 };
                        assert!((sum - want).abs() < 1e-13, "{l_out} {l_in}: {p} {q} {m} {n}: {sum} {want}");
                    }
                }
            }
        }
    }

    #[test]
    fn impossible_couplings_are_errors() {
        assert!(matches!(clebsch_gordan(1, 3, 1), Err(Error::OutOfRange { .. })));
        assert!(matches!(clebsch_gordan(1, 1, 3), Err(Error::OutOfRange { .. })));
        assert!(matches!(clebsch_gordan(33, 1, 33), Err(Error::OutOfRange { .. })));
    }
}
