//! The curves of a run, from its `metrics.jsonl`.

use std::collections::BTreeMap;

use serde_json::Value;

use super::chart::{Chart, Series};

/// One chart for each quantity in the lines of a `metrics.jsonl`, over the epoch. Quantities of several splits (`train.accuracy`,
/// `test.accuracy`, or `{"test": {"accuracy": …}}`) share the chart of their last word. Lines that are no object with an epoch are passed over.
pub fn charts(lines: &str) -> Vec<Chart> {
    let mut series: BTreeMap<String, Vec<(f64, f64)>> = BTreeMap::new();
    for line in lines.lines() {
        let Ok(Value::Object(line)) = serde_json::from_str(line) else { continue };
        let Some(epoch) = line.get("epoch").and_then(Value::as_f64) else { continue };
        let rest = line.into_iter().filter(|(key, _)| !matches!(key.as_str(), "epoch" | "step" | "time" | "seconds"));
        for (key, value) in rest {
            flatten(&key, &value, &mut |name, y| series.entry(name).or_default().push((epoch, y)));
        }
    }
    let mut charts: BTreeMap<String, Chart> = BTreeMap::new();
    for (name, points) in series {
        let quantity = name.rsplit('.').next().unwrap_or(&name).to_string();
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

/// Calls `number` with every number below a value and its name, joined by dots.
fn flatten(name: &str, value: &Value, number: &mut impl FnMut(String, f64)) {
    match value {
        Value::Object(inner) => inner.iter().for_each(|(key, value)| flatten(&format!("{name}.{key}"), value, number)),
        Value::Number(value) => number(name.to_string(), value.as_f64().unwrap_or(f64::NAN)),
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::charts;

    #[test]
    fn splits_share_the_chart_of_their_quantity_and_losses_come_first() {
        let lines = "{\"epoch\":0,\"loss\":2.0,\"test\":{\"accuracy\":0.5},\"train.accuracy\":0.6}\n\
                     {\"epoch\":1,\"loss\":1.0,\"test\":{\"accuracy\":0.7}}\nnot json\n{\"loss\":3}\n";
        let charts = charts(lines);
        let titles: Vec<&str> = charts.iter().map(|chart| chart.title.as_str()).collect();
        assert_eq!(titles, ["loss", "accuracy"]);
        assert_eq!(charts[0].series[0].points, [(0.0, 2.0), (1.0, 1.0)]);
        let names: Vec<&str> = charts[1].series.iter().map(|series| series.name.as_str()).collect();
        assert_eq!(names, ["test.accuracy", "train.accuracy"]);
    }
}
