//! The curves of a run, from its `metrics.jsonl`.

use std::collections::BTreeMap;

use serde_json::Value;

use reynolds_report::{Chart, Series};

/// One chart for each quantity in the lines of a `metrics.jsonl`, over the epoch. A quantity of several splits (`train/loss`,
/// `validation/loss`) has one chart; what never changes, such as a constant learning rate, has none. Lines that are no object with an
/// epoch are passed over.
pub(crate) fn charts(lines: &str) -> Vec<Chart> {
    let mut series: BTreeMap<String, Vec<(f64, f64)>> = BTreeMap::new();
    for line in lines.lines() {
        let Ok(Value::Object(line)) = serde_json::from_str(line) else { continue };
        let Some(epoch) = line.get("epoch").and_then(Value::as_f64) else { continue };
        let rest = line.into_iter().filter(|(key, _)| !matches!(key.as_str(), "epoch" | "step"));
        for (name, value) in rest.filter(|(_, value)| value.is_number() || value.is_null()) {
            // What was not finite is null.
            series.entry(name).or_default().push((epoch, value.as_f64().unwrap_or(f64::NAN)));
        }
    }
    series.retain(|_, points| points.len() == 1 || points.iter().any(|point| point.1 != points[0].1));
    let mut charts: BTreeMap<String, Chart> = BTreeMap::new();
    for (name, points) in series {
        let quantity = name.rsplit('/').next().unwrap_or(&name).to_string();
        let chart = charts.entry(quantity.clone()).or_insert_with(|| Chart {
            title: quantity,
            across: "epoch".into(),
            series: Vec::new(),
        });
        chart.series.push(Series { name, points });
    }
    // The losses first: they are what one looks at first.
    let mut charts: Vec<Chart> = charts.into_values().collect();
    charts.sort_by_key(|chart| !chart.title.contains("loss"));
    charts
}

#[cfg(test)]
mod tests {
    use super::charts;

    #[test]
    fn splits_share_a_chart_losses_come_first_and_constants_are_left_out() {
        let lines = "{\"epoch\":1,\"step\":4,\"train/loss\":2.0,\"penalty\":0.5,\"learning_rate\":0.003}\n\
                     {\"epoch\":2,\"step\":8,\"train/loss\":1.0,\"penalty\":null,\"learning_rate\":0.003,\"validation/loss\":3.0}\n\
                     not json\n{\"train/loss\":3}\n";
        let charts = charts(lines);
        let titles: Vec<&str> = charts.iter().map(|chart| chart.title.as_str()).collect();
        assert_eq!(titles, ["loss", "penalty"]);
        let names: Vec<&str> = charts[0].series.iter().map(|series| series.name.as_str()).collect();
        assert_eq!(names, ["train/loss", "validation/loss"]);
        assert_eq!(charts[0].series[0].points, [(1.0, 2.0), (2.0, 1.0)]);
        assert!(charts[1].series[0].points[1].1.is_nan());
    }
}
