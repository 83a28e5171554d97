//! The spread of measurements.

use serde::Serialize;

/// The median, and the quartiles that half of the measurements lie between.
///
/// ```
/// use reynolds_bench::Quartiles;
/// let spread = Quartiles::of(vec![5.0, 1.0, 4.0, 2.0, 90.0]);
/// assert_eq!((spread.low, spread.middle, spread.high), (2.0, 4.0, 5.0));
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Quartiles {
    /// A quarter is below.
    pub low: f64,
    /// The median.
    pub middle: f64,
    /// A quarter is above.
    pub high: f64,
}

impl Quartiles {
    /// Of at least one number; each is one of them.
    ///
    /// # Panics
    /// If there is none.
    pub fn of(mut values: Vec<f64>) -> Self {
        values.sort_by(f64::total_cmp);
        let (count, quarter) = (values.len(), values.len() / 4);
        Self { low: values[quarter], middle: values[count / 2], high: values[count - 1 - quarter] }
    }

    /// All three times `factor`, above 0.
    pub fn times(self, factor: f64) -> Self {
        Self { low: factor * self.low, middle: factor * self.middle, high: factor * self.high }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn half_of_the_numbers_lie_between() {
        let spread = Quartiles::of((0..15).rev().map(f64::from).collect());
        assert_eq!(spread, Quartiles { low: 3.0, middle: 7.0, high: 11.0 });
        assert_eq!(spread.times(2.0), Quartiles { low: 6.0, middle: 14.0, high: 22.0 });
        assert_eq!(Quartiles::of(vec![7.0]), Quartiles { low: 7.0, middle: 7.0, high: 7.0 });
    }
}
