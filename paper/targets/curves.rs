//! Curves over the epochs of a run: kept of its records, drawn, and written for programs.

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};

use super::point::{Entry, Frame, Trained};
use reynolds_report::figure::Sheet;
use reynolds_report::{Csv, csv::Field};
use reynolds_train::metrics::Record;

/// A curve for each of these metrics that records have: "curve/train/loss", …, and "curve/epoch".
pub(crate) fn curves(records: &[Record], metrics: &[&str]) -> BTreeMap<String, Vec<f32>> {
    let mut curves = BTreeMap::from([("curve/epoch".into(), records.iter().map(|r| r.epoch as f32).collect())]);
    for &name in metrics {
        if records.iter().any(|record| record.values.contains_key(name)) {
            let value = |record: &Record| record.values.get(name).map_or(f32::NAN, |&value| value as f32);
            curves.insert(format!("curve/{name}"), records.iter().map(value).collect());
        }
    }
    curves
}

/// (epoch, value) of a curve.
pub(crate) fn points(run: &Trained, metric: &str) -> Vec<[f64; 2]> {
    let pairs = run.array("curve/epoch").iter().zip(run.array(&format!("curve/{metric}")));
    pairs.map(|(&epoch, &value)| [epoch, value].map(f64::from)).collect()
}

/// A line for each model that has curves and each epoch that was looked at; a column for each of these metrics, '/' as '_'.
pub(crate) fn csv(frame: &Frame, metrics: &[&str]) -> String {
    let heads = ["model", "epoch"].map(String::from).into_iter();
    let mut csv = Csv::new(heads.chain(metrics.iter().map(|metric| metric.replace('/', "_"))));
    for entry in frame.iter() {
        let curve = |name: &str| entry.trained.array(&format!("curve/{name}"));
        for (at, &epoch) in curve("epoch").iter().enumerate() {
            let number = |name: &&str| Field::from(curve(name).get(at).map(|&value| f64::from(value)));
            let fields = [entry.id.as_str().into(), Field::from(f64::from(epoch))];
            csv.row(fields.into_iter().chain(metrics.iter().map(number)));
        }
    }
    csv.to_string()
}

/// Two charts in a row, with room for axes and for the whole legend.
pub(crate) fn sheet() -> Sheet {
    let mut sheet = Sheet::new(2, 0.0);
    sheet.panel = [430.0, 230.0];
    sheet.chart_room();
    sheet
}

/// The arrays of these points by their ids, for results.json; pictures, which `is_kept` leaves out, are in the figures alone.
pub(crate) fn json<'a>(points: impl IntoIterator<Item = &'a Entry>, is_kept: impl Fn(&str) -> bool) -> Value {
    let of_point = |entry: &Entry| {
        let arrays = entry.trained.arrays.iter().filter(|(name, _)| is_kept(name));
        (entry.id.clone(), arrays.map(|(name, values)| (name.clone(), json!(values))).collect::<Map<_, _>>().into())
    };
    points.into_iter().map(of_point).collect::<Map<_, _>>().into()
}

#[cfg(test)]
mod tests {
    use super::*;
    use reynolds_train::task::Metrics;

    #[test]
    fn curves_have_what_the_records_have_and_gaps_where_they_have_nothing() {
        let record = |epoch, values: &[(&str, f64)]| Record {
            epoch,
            step: epoch,
            values: values.iter().map(|(name, value)| (name.to_string(), *value)).collect::<Metrics>(),
        };
        let records = [record(1, &[("train/loss", 3.0)]), record(2, &[("train/loss", 2.0), ("validation/psnr", 30.0)])];
        let arrays = curves(&records, &["train/loss", "validation/psnr", "penalty"]);
        let run = Trained { arrays, ..Trained::default() };
        assert_eq!(points(&run, "train/loss"), [[1.0, 3.0], [2.0, 2.0]]);
        assert!(run.array("curve/validation/psnr")[0].is_nan() && points(&run, "penalty").is_empty());
    }
}
