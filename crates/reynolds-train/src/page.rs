//! report.html of a run, from the files of its folder.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use serde_json::Value;

use reynolds_report::{Chart, Report, Series, Table};

use crate::error::{Error, Result};
use crate::metrics::Summary;
use crate::run_folder::read_if_there as text;
use reynolds_checkpoint::whole_file;

/// Facts of an experiment for the page, beside metrics and figures.
const FACTS: &str = "facts.json";

/// Adds facts, by name, to the page of the run in `folder`.
pub fn write_facts(folder: &Path, facts: &BTreeMap<String, String>) -> Result<()> {
    let text = serde_json::to_string_pretty(facts).expect("facts are plain texts");
    Ok(whole_file::write(&folder.join(FACTS), text.as_bytes())?)
}

/// The facts of [`write_facts`].
pub(crate) fn facts(folder: &Path) -> Result<Vec<(String, String)>> {
    let facts = json(&folder.join(FACTS))?;
    let text = |fact: &Value| fact.as_str().unwrap_or_default().to_string();
    Ok(facts.as_object().into_iter().flatten().map(|(name, fact)| (name.clone(), text(fact))).collect())
}

/// Whether a metric is listed: cells of a confusion matrix are shown by its figure.
pub(crate) fn shown(metric: &str) -> bool {
    !metric.contains("/confusion/")
}

/// Provenance, final metrics, figures, curves, settings; what is missing in the folder is left out.
fn of_run(folder: &Path, summary: &Summary) -> Result<Report> {
    let config = text(&folder.join("config.toml"))?.unwrap_or_default();
    let settings: toml::Table = config.parse().unwrap_or_default();
    let experiment = settings.get("experiment").and_then(toml::Value::as_str).unwrap_or("run");
    let seed = settings.get("seed").map(|seed| format!(", seed {seed}")).unwrap_or_default();
    let mut report = Report::new(format!("{experiment}{seed}"));
    report.fact("again with", format!("reynolds run {experiment} --config config.toml, in this folder"));
    for (name, fact) in facts(folder)? {
        report.fact(name, fact);
    }
    // These two only inform: damage leaves facts out and never keeps a run from finishing.
    let informing = |name: &str| fs::read(folder.join(name)).unwrap_or_default();
    environment(&mut report, &serde_json::from_slice(&informing("environment.json")).unwrap_or_default());
    let timing = String::from_utf8_lossy(&informing("timing.jsonl")).into_owned();
    let seconds: f64 =
        timing.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok()?["seconds"].as_f64()).sum();
    if seconds > 0.0 {
        report.fact("training took", format!("{seconds:.1} s"));
    }
    metrics(&mut report, summary);
    for figure in figures(folder)? {
        let caption = figure.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        report.figure(text(&figure)?.unwrap_or_default(), caption);
    }
    report.section("Curves").charts(&charts(&text(&folder.join("metrics.jsonl"))?.unwrap_or_default()));
    report.section("Settings").verbatim("config.toml", config);
    Ok(report)
}

/// Writes report.html.
pub(crate) fn write(folder: &Path, summary: &Summary) -> Result<()> {
    Ok(whole_file::write(&folder.join("report.html"), of_run(folder, summary)?.html().as_bytes())?)
}

fn environment(report: &mut Report, environment: &Value) {
    for key in ["time", "commit", "device", "threads", "processor", "reynolds", "libtorch"] {
        match &environment[key] {
            Value::String(value) if !value.is_empty() => drop(report.fact(key, value)),
            Value::Number(value) => drop(report.fact(key, value)),
            _ => {}
        }
    }
    let sessions = environment["resumed"].as_array().map_or(0, Vec::len);
    if sessions > 0 {
        report.fact("resumed", if sessions == 1 { "once".into() } else { format!("{sessions} times") });
    }
}

/// The final metrics, and the layers that are exactly equivariant.
fn metrics(report: &mut Report, summary: &Summary) {
    let early = if summary.stopped_early { ", stopped early" } else { "" };
    report.fact("epochs", format!("{}{early}", summary.epochs));
    let columns = [("last weights", &summary.last_metrics), ("best weights", &summary.best_metrics)];
    let columns: Vec<_> = columns.into_iter().filter(|column| !column.1.is_empty()).collect();
    let mut table = Table::new(std::iter::once("metric").chain(columns.iter().map(|column| column.0)));
    let mut names: BTreeSet<&String> = columns.iter().flat_map(|column| column.1.keys()).collect();
    names.retain(|name| shown(name));
    let show = |value: Option<&f64>| value.map_or("–".into(), |value| format!("{value:.6}"));
    for name in names {
        table.row(std::iter::once(name.clone()).chain(columns.iter().map(|column| show(column.1.get(name)))));
    }
    if let Some(best) = summary.best {
        table.caption(format!("the best weights are those after epoch {}", best.epoch));
    }
    report.section("Metrics").table(table);
    if !summary.exact_since.is_empty() {
        let mut table = Table::new(["layer", "since step"]);
        table.caption("W = P(W) exactly, at every step since; found by training with the plain decoupled penalty");
        for (layer, step) in &summary.exact_since {
            table.row([layer.clone(), step.to_string()]);
        }
        report.section("Exactly equivariant layers").table(table);
    }
}

/// The SVG files of a run, by name.
fn figures(folder: &Path) -> Result<Vec<PathBuf>> {
    let folder = folder.join("figures");
    let entries = match fs::read_dir(&folder) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(vec![]),
        entries => entries.map_err(Error::io(&folder, "read"))?,
    };
    let mut figures: Vec<PathBuf> = entries.filter_map(|entry| Some(entry.ok()?.path())).collect();
    figures.retain(|path| path.extension().is_some_and(|extension| extension == "svg"));
    figures.sort();
    Ok(figures)
}

/// A chart for each quantity of metrics.jsonl over the epoch: several splits (`train/loss`, `validation/loss`) share one, constants have
/// none. Lines that are no object with an epoch are skipped.
fn charts(lines: &str) -> Vec<Chart> {
    let mut series: BTreeMap<String, Vec<(f64, f64)>> = BTreeMap::new();
    for line in lines.lines() {
        let Ok(Value::Object(line)) = serde_json::from_str(line) else { continue };
        let Some(epoch) = line.get("epoch").and_then(Value::as_f64) else { continue };
        let rest = line.into_iter().filter(|(key, _)| !matches!(key.as_str(), "epoch" | "step"));
        for (name, value) in rest.filter(|(_, value)| value.is_number() || value.is_null()) {
            // Null: not finite.
            series.entry(name).or_default().push((epoch, value.as_f64().unwrap_or(f64::NAN)));
        }
    }
    series.retain(|_, points| points.len() == 1 || points.iter().any(|point| point.1 != points[0].1));
    let mut charts: BTreeMap<String, Chart> = BTreeMap::new();
    for (name, points) in series {
        let title = name.rsplit('/').next().unwrap_or(&name).to_string();
        let empty = || Chart { title: title.clone(), across: "epoch".into(), series: Vec::new() };
        charts.entry(title.clone()).or_insert_with(empty).series.push(Series { name, points });
    }
    let mut charts: Vec<Chart> = charts.into_values().collect();
    charts.sort_by_key(|chart| !chart.title.contains("loss"));
    charts
}

/// The file as JSON; null if there is none.
fn json(file: &Path) -> Result<Value> {
    let Some(text) = text(file)? else { return Ok(Value::Null) };
    serde_json::from_str(&text).map_err(|error| Error::file(file, "JSON", error))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_run_folder_becomes_a_page() {
        let folder = tempfile::tempdir().unwrap();
        let write = |name: &str, text: &str| fs::write(folder.path().join(name), text).unwrap();
        let summary = Summary {
            epochs: 2,
            steps: 2,
            stopped_early: false,
            weights: crate::config::Selection::Last,
            best: Some(crate::metrics::Best { epoch: 1, value: 0.1, tie: None }),
            last_metrics: [("test/accuracy".to_string(), 0.75), ("test/confusion/0/1".to_string(), 3.0)].into(),
            best_metrics: [("test/loss".to_string(), 0.5)].into(),
            exact_since: [("first.weight".to_string(), 31)].into(),
        };
        let page = || of_run(folder.path(), &summary).map(|report| report.html());
        assert!(page().unwrap().contains("<h1>run</h1>"), "an empty folder has a page too");
        fs::create_dir(folder.path().join("figures")).unwrap();
        write("config.toml", "experiment = \"so2\"\nseed = 7\n");
        write("environment.json", "{\"device\":\"cpu\",\"threads\":2,\"commit\":\"\",\"resumed\":[{}]}");
        write(
            "metrics.jsonl",
            "{\"epoch\":1,\"step\":1,\"train/loss\":2.0}\n{\"epoch\":2,\"step\":2,\"train/loss\":1.0}\n",
        );
        write("timing.jsonl", "{\"epoch\":1,\"seconds\":0.5}\n{\"epoch\":2,\"seconds\":1.0}\n");
        write_facts(folder.path(), &[("data set".into(), "rings & more".into())].into()).unwrap();
        write("figures/boundary.svg", "<svg><circle id=\"c\"/></svg>");
        let html = page().unwrap();
        for part in [
            "<h1>so2, seed 7</h1>",
            "<dt>device</dt><dd>cpu</dd>",
            "<dt>resumed</dt><dd>once</dd>",
            "<dt>training took</dt><dd>1.5 s</dd>",
            "<dt>epochs</dt><dd>2</dd>",
            "<dt>data set</dt><dd>rings &amp; more</dd>",
            "<caption>the best weights are those after epoch 1</caption>",
            "<td>test/accuracy</td><td class=\"number\">0.750000</td><td class=\"number\">–</td>",
            "Exactly equivariant layers",
            "<td>first.weight</td><td class=\"number\">31</td>",
            "<figcaption>boundary</figcaption>",
            "<h3>loss</h3>",
            "experiment = &quot;so2&quot;",
        ] {
            assert!(html.contains(part), "no \"{part}\" in: {html}");
        }
        assert!(!html.contains("<dt>commit</dt>"), "an empty fact is left out");
        assert!(!html.contains("confusion"), "a matrix is left to its figure");
        write("environment.json", "{");
        fs::write(folder.path().join("timing.jsonl"), b"\xff\n{\"epoch\":2,\"seconds\":1.0}\n").unwrap();
        let html = page().unwrap();
        assert!(!html.contains("<dt>device</dt>") && html.contains("<dt>training took</dt><dd>1.0 s</dd>"));
        write(FACTS, "{");
        assert!(page().unwrap_err().to_string().contains("facts.json: expected JSON"));
    }

    #[test]
    fn splits_share_a_chart_losses_come_first_and_constants_are_left_out() {
        let lines = "{\"epoch\":1,\"step\":4,\"train/loss\":2.0,\"penalty\":0.5,\"learning_rate\":0.003}\n\
                     {\"epoch\":2,\"step\":8,\"train/loss\":1.0,\"penalty\":null,\"learning_rate\":0.003,\"validation/loss\":3.0}\n\
                     not json\n{\"train/loss\":3}\n";
        let charts = charts(lines);
        let names = |chart: &Chart| chart.series.iter().map(|series| series.name.clone()).collect::<Vec<_>>().join(" ");
        let found: Vec<_> = charts.iter().map(|chart| (chart.title.as_str(), names(chart))).collect();
        assert_eq!(found, [("loss", "train/loss validation/loss".into()), ("penalty", "penalty".into())]);
        assert_eq!(charts[0].series[0].points, [(1.0, 2.0), (2.0, 1.0)]);
        assert!(charts[1].series[0].points[1].1.is_nan());
    }
}
