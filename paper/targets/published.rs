//! Published numbers as data: a line for each row of a table of the paper, a column for each metric.

/// NaN stands where the paper has nothing.
pub(crate) struct Published<const N: usize> {
    pub(crate) metrics: [&'static str; N],
    /// (name of the row, its numbers).
    pub(crate) rows: &'static [(&'static str, [f64; N])],
}

impl<const N: usize> Published<N> {
    /// The number of a row; NaN where the paper has none.
    pub(crate) fn number(&self, row: &str, metric: &str) -> f64 {
        let place = self.metrics.iter().position(|other| *other == metric);
        let numbers = self.rows.iter().find(|(other, _)| *other == row);
        place.zip(numbers).map_or(f64::NAN, |(place, (_, numbers))| numbers[place])
    }

    /// Mean and deviation over seeds: of the columns `metric` and "`metric`_sd"; `None` where the paper has none.
    pub(crate) fn mean_and_deviation(&self, row: &str, metric: &str) -> Option<(f64, f64)> {
        let found = (self.number(row, metric), self.number(row, &format!("{metric}_sd")));
        found.0.is_finite().then_some(found)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_found_by_row_and_metric() {
        const TABLE: Published<3> = Published {
            metrics: ["psnr", "psnr_sd", "train"],
            rows: &[("plain", [42.0, 0.5, 4.0]), ("projected", [f64::NAN, f64::NAN, 5.0])],
        };
        assert_eq!((TABLE.number("plain", "train"), TABLE.number("projected", "train")), (4.0, 5.0));
        assert!(TABLE.number("plain", "memory").is_nan() && TABLE.number("rpp", "psnr").is_nan());
        assert_eq!(TABLE.mean_and_deviation("plain", "psnr"), Some((42.0, 0.5)));
        assert_eq!(TABLE.mean_and_deviation("projected", "psnr"), None);
    }
}
