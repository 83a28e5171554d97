//! Curves over the epochs of a run: kept of its records, drawn, and written for programs.

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};

use super::{Entry, Frame, Trained};
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

/// The arrays "`kind`/…" of these names, '/' as '_' in the head: a line for each model and entry, numbered by the array "`kind`/`place`", or
/// from 1 where there is none.
pub(crate) fn csv(frame: &Frame, kind: &str, place: &str, names: &[&str]) -> String {
    let heads = ["model", place].map(String::from).into_iter();
    let mut csv = Csv::new(heads.chain(names.iter().map(|name| name.replace('/', "_"))));
    for entry in frame.iter() {
        let array = |name: &str| entry.trained.array(&format!("{kind}/{name}"));
        let number = |name: &str, at: usize| array(name).get(at).map(|&value| f64::from(value));
        for at in 0..array(place).len().max(array(names[0]).len()) {
            let numbered = number(place, at).unwrap_or((at + 1) as f64);
            let fields = [entry.id.as_str().into(), Field::from(numbered)];
            csv.row(fields.into_iter().chain(names.iter().map(|name| Field::from(number(name, at)))));
        }
    }
    csv.to_string()
}

/// Two charts in a row, with room for axes and legend.
pub(crate) fn sheet() -> Sheet {
    let mut sheet = Sheet::new(2, 0.0);
    sheet.panel = [430.0, 230.0];
    sheet.with_axes();
    sheet
}

/// The arrays of these points by their ids, for results.json, without those that only figures need.
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
