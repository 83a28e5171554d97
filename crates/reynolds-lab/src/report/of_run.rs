//! The page of one run, from what lies in its folder.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use serde_json::Value;

use super::{Report, Table, charts};
use crate::error::{Error, Result};

/// The page of the run in `folder`: what made it, its final metrics, its figures, its curves, its settings. Parts that the folder does not
/// have are left out.
///
/// # Errors
/// [`Error::Io`] if a file cannot be read; [`Error::File`] if one is no JSON.
pub fn of_run(folder: &Path) -> Result<Report> {
    let config = text(&folder.join("config.toml"))?.unwrap_or_default();
    let settings: toml::Table = config.parse().unwrap_or_default();
    let experiment = settings.get("experiment").and_then(toml::Value::as_str).unwrap_or("run");
    let seed = settings.get("seed").map(|seed| format!(", seed {seed}")).unwrap_or_default();
    let mut report = Report::new(format!("{experiment}{seed}"));
    report.fact("again with", format!("reynolds run {experiment} --config config.toml"));
    environment(&mut report, &json(&folder.join("environment.json"))?);
    let timing = text(&folder.join("timing.jsonl"))?.unwrap_or_default();
    let seconds: f64 =
        timing.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok()?["seconds"].as_f64()).sum();
    if seconds > 0.0 {
        report.fact("training took", format!("{seconds:.1} s"));
    }
    metrics(&mut report, &json(&folder.join("summary.json"))?);
    for figure in figures(folder)? {
        let caption = figure.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        report.figure(text(&figure)?.unwrap_or_default(), caption);
    }
    report.section("Curves").charts(&charts(&text(&folder.join("metrics.jsonl"))?.unwrap_or_default()));
    report.section("Settings").verbatim("config.toml", config);
    Ok(report)
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

/// The final metrics, of the last weights and of the best.
fn metrics(report: &mut Report, summary: &Value) {
    if let Some(epochs) = summary["epochs"].as_u64() {
        let early = if summary["stopped_early"] == true { ", stopped early" } else { "" };
        report.fact("epochs", format!("{epochs}{early}"));
    }
    let columns = [("last weights", &summary["last_metrics"]), ("best weights", &summary["best_metrics"])];
    let columns: Vec<_> = columns
        .into_iter()
        .filter_map(|(name, values)| Some((name, values.as_object().filter(|o| !o.is_empty())?)))
        .collect();
    if columns.is_empty() {
        return;
    }
    let mut table = Table::new(std::iter::once("metric").chain(columns.iter().map(|column| column.0)));
    let names: BTreeSet<&String> = columns.iter().flat_map(|column| column.1.keys()).collect();
    let show =
        |value: Option<&Value>| value.and_then(Value::as_f64).map_or("–".into(), |value| format!("{value:.6}"));
    for name in names {
        table.row(std::iter::once(name.clone()).chain(columns.iter().map(|column| show(column.1.get(name)))));
    }
    if let Some(epoch) = summary["best"]["epoch"].as_u64() {
        table.caption(format!("the best weights are those after epoch {epoch}"));
    }
    report.section("Metrics").table(table);
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

fn text(file: &Path) -> Result<Option<String>> {
    match fs::read_to_string(file) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(None),
        read => read.map(Some).map_err(Error::io(file, "read")),
    }
}

/// The file as JSON, null where it is not there.
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
        assert!(of_run(folder.path()).unwrap().html().contains("<h1>run</h1>"), "an empty folder has an empty page");
        fs::create_dir(folder.path().join("figures")).unwrap();
        write("config.toml", "experiment = \"so2\"\nseed = 7\n");
        write("environment.json", "{\"device\":\"cpu\",\"threads\":2,\"commit\":\"\",\"resumed\":[{}]}");
        write(
            "metrics.jsonl",
            "{\"epoch\":1,\"step\":1,\"train/loss\":2.0}\n{\"epoch\":2,\"step\":2,\"train/loss\":1.0}\n",
        );
        write("timing.jsonl", "{\"epoch\":1,\"seconds\":0.5}\n{\"epoch\":2,\"seconds\":1.0}\n");
        let metrics = "\"last_metrics\":{\"test/accuracy\":0.75},\"best_metrics\":{\"test/accuracy\":null}";
        write("summary.json", &format!("{{\"epochs\":2,\"best\":{{\"epoch\":1,\"value\":0.1}},{metrics}}}"));
        write("figures/boundary.svg", "<svg><circle id=\"c\"/></svg>");
        let html = of_run(folder.path()).unwrap().html();
        for part in [
            "<h1>so2, seed 7</h1>",
            "<dt>device</dt><dd>cpu</dd>",
            "<dt>resumed</dt><dd>once</dd>",
            "<dt>training took</dt><dd>1.5 s</dd>",
            "<td>test/accuracy</td><td class=\"number\">0.750000</td><td>–</td>",
            "<figcaption>boundary</figcaption>",
            "<h3>loss</h3>",
            "experiment = &quot;so2&quot;",
        ] {
            assert!(html.contains(part), "no \"{part}\" in: {html}");
        }
        assert!(!html.contains("<dt>commit</dt>"), "an empty fact is left out");
        write("summary.json", "{");
        assert!(of_run(folder.path()).unwrap_err().to_string().contains("summary.json: expected JSON"));
    }
}
