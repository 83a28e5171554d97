//! Real Wigner matrices, by recursion in the degree from the 3×3 matrix itself.
//!
//! ```text
//! Y_l(Rx) = D^l(R) Y_l(x),      D^l(RS) = D^l(R) D^l(S),      D^l(R)ᵀ D^l(R) = 1
//! ```
//!
//! D^l is a polynomial of degree l in the entries of R (Ivanic and Ruedenberg's recursion), so no Euler angles and none of their
//! singularities appear, and an improper R = −S needs no special case: D^l(−S) = (−1)^l D^l(S).
//!
//! ```
//! use reynolds::steerable::{spherical_harmonics, wigner_d};
//! let quarter_turn = [[0.0, -1.0, 0.0], [1.0, 0.0, 0.0], [0.0, 0.0, 1.0]];
//! let d = wigner_d(2, &quarter_turn);
//! let (here, there) = (spherical_harmonics(2, [0.6, 0.0, 0.8]), spherical_harmonics(2, [0.0, 0.6, 0.8]));
//! let moved = (0..5).map(|m| d[(0, m)] * here[m]).sum::<f64>();
//! assert!((moved - there[0]).abs() < 1e-14);
//! ```

use faer::Mat;

/// D^l(R), `[2l + 1, 2l + 1]` in the order m = −l..l, for an orthogonal `matrix` R `[3, 3]` on (x, y, z), rows first.
///
/// For an R that is orthogonal to rounding, D^l is orthogonal within 1e-13 up to l = 16 and within 1e-12 up to l = 32, entry by
/// entry (tested).
pub fn wigner_d(degree: usize, matrix: &[[f64; 3]; 3]) -> Mat<f64> {
    wigner_d_all(degree, matrix).swap_remove(degree)
}

/// D^0(R), …, D^max(R): what the recursion passes through on its way.
pub fn wigner_d_all(max_degree: usize, matrix: &[[f64; 3]; 3]) -> Vec<Mat<f64>> {
    let mut all = Vec::with_capacity(max_degree + 1);
    all.push(Mat::identity(1, 1));
    if max_degree > 0 {
        const YZX: [usize; 3] = [1, 2, 0];
        all.push(Mat::from_fn(3, 3, |i, j| matrix[YZX[i]][YZX[j]]));
    }
    for l in 2..=max_degree {
        let step = Step { l: l as isize, first: &all[1], last: &all[l - 1] };
        let next = Mat::from_fn(2 * l + 1, 2 * l + 1, |i, j| step.entry(i as isize - step.l, j as isize - step.l));
        all.push(next);
    }
    all
}

/// One step of the recursion: degree l from degrees 1 and l − 1.
struct Step<'a> {
    l: isize,
    first: &'a Mat<f64>,
    last: &'a Mat<f64>,
}

impl Step<'_> {
    /// D^1[i, j] with indices −1..1.
    fn one(&self, i: isize, j: isize) -> f64 {
        self.first[((i + 1) as usize, (j + 1) as usize)]
    }

    /// D^{l−1}[m, n] with indices −(l−1)..l−1.
    fn below(&self, m: isize, n: isize) -> f64 {
        let shift = self.l - 1;
        self.last[((m + shift) as usize, (n + shift) as usize)]
    }

    /// Column n of degree l from the product of degree 1 (row i) and degree l − 1 (row m).
    fn coupled(&self, i: isize, m: isize, n: isize) -> f64 {
        let top = self.l - 1;
        if n == self.l {
            self.one(i, 1) * self.below(m, top) - self.one(i, -1) * self.below(m, -top)
        } else if n == -self.l {
            self.one(i, 1) * self.below(m, -top) + self.one(i, -1) * self.below(m, top)
        } else {
            self.one(i, 0) * self.below(m, n)
        }
    }

    /// D^l[m, n]: the three ways to reach row m from degree 1, with their weights.
    fn entry(&self, m: isize, n: isize) -> f64 {
        let l = self.l;
        let a = m.abs();
        let norm = if n.abs() == l { 2 * l * (2 * l - 1) } else { (l + n) * (l - n) } as f64;
        let mut sum = 0.0;
        if a < l {
            sum += (((l + m) * (l - m)) as f64 / norm).sqrt() * self.coupled(0, m, n);
        }
        let doubled = if m == 0 { 2.0 } else { 1.0 };
        let sign = if m == 0 { -1.0 } else { 1.0 };
        let weight = 0.5 * sign * (doubled * ((l + a - 1) * (l + a)) as f64 / norm).sqrt();
        sum += weight * self.inward(m, n);
        if m != 0 && a < l - 1 {
            sum -= 0.5 * (((l - a - 1) * (l - a)) as f64 / norm).sqrt() * self.outward(m, n);
        }
        sum
    }

    /// Rows ±1 of degree 1 with the row of degree l − 1 one step nearer to 0.
    fn inward(&self, m: isize, n: isize) -> f64 {
        match m {
            0 => self.coupled(1, 1, n) + self.coupled(-1, -1, n),
            1 => std::f64::consts::SQRT_2 * self.coupled(1, 0, n),
            -1 => std::f64::consts::SQRT_2 * self.coupled(-1, 0, n),
            m if m > 0 => self.coupled(1, m - 1, n) - self.coupled(-1, 1 - m, n),
            m => self.coupled(1, m + 1, n) + self.coupled(-1, -m - 1, n),
        }
    }

    /// Rows ±1 of degree 1 with the row of degree l − 1 one step further from 0.
    fn outward(&self, m: isize, n: isize) -> f64 {
        if m > 0 {
            self.coupled(1, m + 1, n) + self.coupled(-1, -m - 1, n)
        } else {
            self.coupled(1, m - 1, n) - self.coupled(-1, 1 - m, n)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::group::Spatial;
    use crate::steerable::spherical_harmonics_all;

    /// Rotations R and, every other one, −R.
    fn matrices() -> impl Iterator<Item = [[f64; 3]; 3]> {
        (0..12).map(|s| {
            let t = s as f64;
            let r = Spatial::from_euler(0.3 + 1.7 * t, 0.1 + 0.9 * t, -2.0 + 2.3 * t).rotation;
            r.map(|row| row.map(|entry| if s % 2 == 0 { entry } else { -entry }))
        })
    }

    fn apply(matrix: &[[f64; 3]; 3], x: [f64; 3]) -> [f64; 3] {
        std::array::from_fn(|i| (0..3).map(|j| matrix[i][j] * x[j]).sum())
    }

    #[test]
    fn harmonics_turn_by_the_wigner_matrix() {
        for r in matrices() {
            let x = [0.36, -0.48, 0.8];
            let (here, there) = (spherical_harmonics_all(32, x), spherical_harmonics_all(32, apply(&r, x)));
            for (l, d) in wigner_d_all(32, &r).iter().enumerate() {
                for i in 0..=2 * l {
                    let turned: f64 = (0..=2 * l).map(|j| d[(i, j)] * here[l][j]).sum();
                    assert!((turned - there[l][i]).abs() < 1e-12 * (l + 1) as f64, "l = {l}");
                }
            }
        }
    }

    #[test]
    fn wigner_matrices_are_orthogonal() {
        for r in matrices() {
            for (l, d) in wigner_d_all(32, &r).iter().enumerate() {
                let error = (d.transpose() * d - Mat::<f64>::identity(2 * l + 1, 2 * l + 1)).norm_max();
                let bound = if l <= 16 { 1e-13 } else { 1e-12 };
                assert!(error < bound, "l = {l}: {error:e}");
            }
        }
    }
}
