//! The median of measurements, and how well it is known.

use serde::Serialize;

/// A median with the order statistics that hold it with 95 % confidence.
///
/// ```
/// use reynolds_bench::Median;
/// let median = Median::of((0..101).map(f64::from).collect());
/// assert_eq!((median.low, median.middle, median.high), (40.0, 50.0, 61.0));
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Median {
    /// Below it with 97.5 % confidence.
    pub low: f64,
    /// The median.
    pub middle: f64,
    /// Above it with 97.5 % confidence.
    pub high: f64,
}

impl Median {
    /// Of at least one number.
    ///
    /// # Panics
    /// If there is none.
    pub fn of(mut values: Vec<f64>) -> Self {
        values.sort_by(f64::total_cmp);
        let n = values.len() as f64;
        // Numbers below the median are binomial: n/2 of them, give or take 1.96 √n/2.
        let half_width = 0.98 * n.sqrt();
        let at = |rank: f64| values[(rank.max(0.0) as usize).min(values.len() - 1)];
        Self { low: at(n / 2.0 - half_width), middle: at(n / 2.0), high: at((n / 2.0 + half_width).ceil()) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn few_numbers_are_known_only_between_their_ends() {
        assert_eq!(Median::of(vec![3.0, 1.0, 2.0]), Median { low: 1.0, middle: 2.0, high: 3.0 });
        assert_eq!(Median::of(vec![7.0]), Median { low: 7.0, middle: 7.0, high: 7.0 });
    }
}
