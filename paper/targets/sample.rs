//! Mean and spread over seeds.

use std::fmt;

/// A quantity, one value for each seed.
#[derive(Debug, Clone, PartialEq)]
pub struct Sample(Vec<f64>);

impl Sample {
    pub fn new(values: Vec<f64>) -> Self {
        Self(values)
    }

    pub fn values(&self) -> &[f64] {
        &self.0
    }

    pub fn mean(&self) -> f64 {
        self.0.iter().sum::<f64>() / self.0.len() as f64
    }

    /// Standard deviation, with n − 1; 0 for one value, NaN for none.
    pub fn deviation(&self) -> f64 {
        let (mean, count) = (self.mean(), self.0.len());
        let squares: f64 = self.0.iter().map(|value| (value - mean).powi(2)).sum();
        match count {
            0 => f64::NAN,
            1 => 0.0,
            _ => (squares / (count - 1) as f64).sqrt(),
        }
    }
}

/// "mean ± deviation" with three digits of the larger of the two, at most six decimals.
impl fmt::Display for Sample {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (mean, deviation) = (self.mean(), self.deviation());
        let decimals = decimals(mean.abs().max(deviation));
        write!(f, "{mean:.decimals$} ± {deviation:.decimals$}")
    }
}

/// A number with three digits; a small one as "2.86e-4".
pub(crate) fn three_digits(value: f64) -> String {
    let decimals = decimals(value.abs());
    if value != 0.0 && value.abs() < 1e-3 { format!("{value:.2e}") } else { format!("{value:.decimals$}") }
}

fn decimals(size: f64) -> usize {
    if size > 0.0 && size.is_finite() { (2.0 - size.log10().floor()).clamp(0.0, 6.0) as usize } else { 0 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mean_and_deviation_by_hand() {
        let sample = Sample::new(vec![1.0, 2.0, 3.0]);
        assert_eq!((sample.mean(), sample.deviation()), (2.0, 1.0));
        assert_eq!(Sample::new(vec![4.0]).deviation(), 0.0);
        assert!(Sample::new(Vec::new()).deviation().is_nan());
    }

    #[test]
    fn three_digits_are_shown() {
        assert_eq!(Sample::new(vec![1234.0, 1236.0]).to_string(), "1235 ± 1");
        assert_eq!(Sample::new(vec![0.00123, 0.00125]).to_string(), "0.00124 ± 0.00001");
        assert_eq!(Sample::new(vec![0.0]).to_string(), "0 ± 0");
        assert_eq!([0.21549, 1.0, 1e-9, 0.0].map(three_digits), ["0.215", "1.00", "1.00e-9", "0"]);
    }
}
