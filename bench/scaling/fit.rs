//! Power laws through measured points.

use serde::Serialize;

/// y = factor · x^exponent, by least squares on logarithms.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct PowerLaw {
    pub exponent: f64,
    /// Standard error of the exponent; null where two points leave nothing to judge by.
    pub standard_error: Option<f64>,
    /// y at x = 1.
    pub factor: f64,
    pub from: f64,
    pub to: f64,
}

const FEWEST: usize = 3;

impl PowerLaw {
    /// Through the upper half of the points by x, at least three: below, start-up costs dominate. `None` without two different x.
    ///
    /// ```
    /// use reynolds_bench::PowerLaw;
    /// let law = PowerLaw::of_upper_half(&[[1.0, 9.0], [2.0, 9.0], [4.0, 8.0], [9.0, 27.0], [16.0, 64.0]]).expect("a fit");
    /// assert!((law.exponent - 1.5).abs() < 1e-12 && (law.from, law.to) == (4.0, 16.0));
    /// assert!((law.at(100.0) / 1000.0 - 1.0).abs() < 1e-12);
    /// ```
    pub fn of_upper_half(points: &[[f64; 2]]) -> Option<Self> {
        let positive = |point: &&[f64; 2]| point.iter().all(|v| v.is_finite() && *v > 0.0);
        let mut points: Vec<[f64; 2]> = points.iter().filter(positive).copied().collect();
        points.sort_by(|a, b| a[0].total_cmp(&b[0]));
        let taken = points.len().div_ceil(2).max(FEWEST.min(points.len()));
        Self::of(&points[points.len() - taken..])
    }

    /// Through all points, which are positive and sorted by x.
    fn of(points: &[[f64; 2]]) -> Option<Self> {
        let (first, last) = (points.first()?[0], points.last()?[0]);
        if first == last {
            return None;
        }
        let n = points.len() as f64;
        let logarithms: Vec<[f64; 2]> = points.iter().map(|point| point.map(f64::ln)).collect();
        let mean = |axis: usize| logarithms.iter().map(|point| point[axis]).sum::<f64>() / n;
        let (x, y) = (mean(0), mean(1));
        let spread: f64 = logarithms.iter().map(|p| (p[0] - x).powi(2)).sum();
        let exponent = logarithms.iter().map(|p| (p[0] - x) * (p[1] - y)).sum::<f64>() / spread;
        let residual: f64 = logarithms.iter().map(|p| (p[1] - y - exponent * (p[0] - x)).powi(2)).sum();
        let standard_error = (points.len() > 2).then(|| (residual / (n - 2.0) / spread).sqrt());
        Some(Self { exponent, standard_error, factor: (y - exponent * x).exp(), from: first, to: last })
    }

    pub fn at(&self, x: f64) -> f64 {
        self.factor * x.powf(self.exponent)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_cost_of_starting_does_not_bend_the_fit() {
        let points: Vec<[f64; 2]> = (0..10).map(|n| 10f64.powi(n)).map(|x| [x, 1e-6 + 1e-9 * x]).collect();
        let law = PowerLaw::of_upper_half(&points).unwrap();
        assert!((law.exponent - 1.0).abs() < 0.01, "{law:?}");
        assert!(law.standard_error.unwrap() > 0.0 && (law.from, law.to) == (1e5, 1e9));
    }

    #[test]
    fn a_standard_error_is_that_of_the_textbook() {
        // ln x = −1, 0, 1 and ln y = 1, 0, 1: slope 0, residuals ⅓, −⅔, ⅓, so (⅔ / 1 / 2)^½.
        let e = std::f64::consts::E;
        let law = PowerLaw::of_upper_half(&[[1.0 / e, e], [1.0, 1.0], [e, e]]).unwrap();
        assert!(law.exponent.abs() < 1e-15 && (law.standard_error.unwrap() - (1.0_f64 / 3.0).sqrt()).abs() < 1e-15);
    }

    #[test]
    fn too_few_points_give_no_fit() {
        assert_eq!(PowerLaw::of_upper_half(&[]), None);
        assert_eq!(PowerLaw::of_upper_half(&[[1.0, 1.0], [1.0, 2.0]]), None);
        assert_eq!(PowerLaw::of_upper_half(&[[1.0, 1.0], [2.0, f64::NAN], [0.0, 1.0]]), None);
        assert_eq!(PowerLaw::of_upper_half(&[[1.0, 1.0], [2.0, 4.0]]).unwrap().standard_error, None);
    }
}
