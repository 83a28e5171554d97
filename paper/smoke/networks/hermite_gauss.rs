//! Hermite–Gauss functions at several scales, sampled at whole points.
//!
//! ```text
//! ψ_{n,σ}(x, y) = h_{n_x,σ}(x) h_{n_y,σ}(y) / ‖ψ_{n,σ₁}‖      h_{m,σ}(x) = σ⁻¹ e^{−x²/2σ²} He_m(x/σ)
//! ```
//!
//! He_m are the probabilists' Hermite polynomials, m = 0 … orders − 1, and n = orders · n_x + n_y. On k × k points the support of scale σ is a
//! centred window of side 2⌊⌊kσ/σ_max⌋/2⌋ + 1. All scales of a function are divided by its norm at the first scale, so that σ changes the size
//! alone. There are more functions than points: they span the kernels but are no basis.
//!
//! After Sosnovik, Szmaja and Smeulders (ICLR 2020).

/// Sampled functions, [function, scale, y, x].
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct HermiteGauss {
    size: usize,
    /// The side of the support of each scale.
    pub(crate) windows: Vec<usize>,
    values: Vec<f64>,
}

impl HermiteGauss {
    /// `orders`² functions at each of `scales` on `size` × `size` points; the size is odd.
    pub(crate) fn new(size: usize, orders: usize, scales: &[f64]) -> Self {
        let largest = scales.iter().copied().fold(0.0, f64::max);
        let windows: Vec<usize> =
            scales.iter().map(|scale| (size as f64 * scale / largest).floor() as usize / 2 * 2 + 1).collect();
        let lines: Vec<Vec<Vec<f64>>> =
            scales.iter().zip(&windows).map(|(&scale, &window)| line(size, orders, scale, window)).collect();
        let mut values = Vec::with_capacity(orders * orders * scales.len() * size * size);
        for n_x in 0..orders {
            for n_y in 0..orders {
                let norm = |line: &[f64]| line.iter().map(|value| value * value).sum::<f64>().sqrt();
                let norm = norm(&lines[0][n_x]) * norm(&lines[0][n_y]);
                for scale in &lines {
                    let row = |y: &f64| scale[n_x].iter().map(|x| x * y / norm).collect::<Vec<f64>>();
                    values.extend(scale[n_y].iter().flat_map(row));
                }
            }
        }
        Self { size, windows, values }
    }

    /// ψ of a function and a scale, by their indices, at a point; (0, 0) is a corner.
    pub(crate) fn value(&self, function: usize, scale: usize, y: usize, x: usize) -> f64 {
        self.values[((function * self.windows.len() + scale) * self.size + y) * self.size + x]
    }
}

/// h_{m,σ} on a line, [m, x], zero outside the window.
fn line(size: usize, orders: usize, scale: f64, window: usize) -> Vec<Vec<f64>> {
    let reach = (window / 2) as f64;
    let mut values = vec![vec![0.0; size]; orders];
    for index in 0..size {
        let x = index as f64 - (size / 2) as f64;
        if x.abs() > reach {
            continue;
        }
        let (t, damping) = (x / scale, (-x * x / (2.0 * scale * scale)).exp() / scale);
        let (mut before, mut hermite) = (0.0, 1.0);
        for (order, row) in values.iter_mut().enumerate() {
            row[index] = damping * hermite;
            // He_{m+1}(t) = t He_m(t) − m He_{m−1}(t)
            (before, hermite) = (hermite, t * hermite - order as f64 * before);
        }
    }
    values
}

#[cfg(test)]
mod tests {
    use reynolds_testkit::golden::Golden;

    use super::*;

    #[test]
    fn the_functions_are_those_of_scipy() {
        let (shape, golden) = Golden::open("smoke_networks").tensor("hermite_gauss");
        let functions = HermiteGauss::new(5, 7, &[1.0, 1.5, 2.0, 2.5]);
        assert_eq!(shape, [49, 4, 5, 5]);
        for (ours, theirs) in functions.values.iter().zip(&golden) {
            assert!((ours - theirs).abs() < 1e-12 * theirs.abs().max(1.0), "{ours} {theirs}");
        }
        assert_eq!(functions.values.len(), golden.len());
        // A single scale is the largest one: its window is everything.
        assert_eq!(HermiteGauss::new(5, 7, &[1.0]).windows, [5]);
    }
}
