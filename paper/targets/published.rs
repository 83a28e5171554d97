//! Published numbers: a TOML file for each table of the paper in `paper/published/`, a line for each row, a column for each metric.

use std::collections::BTreeMap;

use serde::Deserialize;

/// Numbers by row and metric.
#[derive(Debug, Deserialize)]
pub(crate) struct Published {
    /// Of the first file.
    pub(crate) metrics: Vec<String>,
    rows: BTreeMap<String, Vec<f64>>,
    #[serde(skip)]
    more: Option<Box<Self>>,
}

impl Published {
    /// # Panics
    /// If a file is not such a table.
    pub(crate) fn read(files: &[&str]) -> Self {
        let (first, more) = files.split_first().expect("a file");
        let mut table: Self = toml::from_str(first).expect("a table of numbers");
        assert!(table.rows.values().all(|numbers| numbers.len() == table.metrics.len()), "a number for each metric");
        table.more = (!more.is_empty()).then(|| Box::new(Self::read(more)));
        table
    }

    /// The number of a row; NaN where the paper has none.
    pub(crate) fn number(&self, row: &str, metric: &str) -> f64 {
        let place = self.metrics.iter().position(|other| other == metric);
        match place.zip(self.rows.get(row)) {
            Some((place, numbers)) => numbers[place],
            None => self.more.as_ref().map_or(f64::NAN, |more| more.number(row, metric)),
        }
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
        let first = "metrics = [\"psnr\", \"psnr_sd\", \"train\"]\n[rows]\nplain = [42.0, 0.5, 4.0]\nprojected = [nan, nan, 5.0]";
        let table = Published::read(&[first, "metrics = [\"train\"]\n[rows]\n\"(1,2)\" = [7.0]"]);
        let trained = ["plain", "projected", "(1,2)"].map(|row| table.number(row, "train"));
        assert_eq!(trained, [4.0, 5.0, 7.0]);
        assert!(table.number("plain", "memory").is_nan() && table.number("(1,2)", "psnr").is_nan());
        assert_eq!(table.mean_and_deviation("plain", "psnr"), Some((42.0, 0.5)));
        assert_eq!(table.mean_and_deviation("projected", "psnr"), None);
    }
}
