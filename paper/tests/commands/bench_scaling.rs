//! `reynolds bench scaling`: files, exponents and bad input, on sizes so small that they take moments.

use super::support::{Folder, contents};
use serde_json::Value;

#[test]
fn five_figures_and_their_numbers_are_left() {
    let folder = Folder::new();
    let rows = folder.rows("bench scaling --out deep/out --tiny --json");
    let files = contents(&folder.path("deep/out"));
    let names: Vec<&str> = files.keys().map(|path| path.file_name().unwrap().to_str().unwrap()).collect();
    let figures = ["band", "group", "kernel", "penalty", "weights"].map(|name| format!("scaling-{name}.svg"));
    assert_eq!(names, [&figures[..], &["scaling.json".into()]].concat());
    for name in &figures {
        let svg = folder.text(&format!("deep/out/{name}"));
        assert!(svg.starts_with("<svg ") && svg.ends_with("</svg>\n"), "{name}");
        assert!(svg.contains("floor: read W") && svg.contains("(ours)"), "{name}");
        assert!(!svg.contains("NaN") && !svg.contains("inf"), "{name}");
    }
    let report: Value = serde_json::from_str(&folder.text("deep/out/scaling.json")).unwrap();
    assert_eq!((report["extent"].as_str(), report["threads"].as_u64()), (Some("tiny"), Some(1)));
    let all = |of: &Value, key: &str| of[key].as_array().unwrap().clone();
    let panels = all(&report, "plots").into_iter().flat_map(|plot| all(&plot, "panels"));
    let series = panels.flat_map(|panel| all(&panel, "series"));
    let points: Vec<Value> = series.flat_map(|series| all(&series, "points")).collect();
    for point in &points {
        assert!(["x", "weights", "seconds"].iter().all(|key| point[key].as_f64().unwrap() > 0.0), "{point}");
    }
    assert!(points.len() > 50, "{}", points.len());
    assert!(rows.iter().all(|row| row["row"] == "scaling" && row["exponent"].as_f64().unwrap().is_finite()));
    let claimed = |series: &str| rows.iter().find(|row| row["series"] == series).map(|row| row["claimed"].clone());
    assert_eq!(claimed("dense Haar sum (paper)"), Some(1.5.into()));
    assert_eq!(claimed("value and gradient (ours)"), Some(1.0.into()));
}

#[test]
fn without_a_device_exponents_are_a_table_and_bad_input_is_refused() {
    let folder = Folder::new();
    let text = folder.done("bench scaling --out out --tiny --device none");
    assert!(text.starts_with("weights: dense maps") && text.contains("measured exponent"), "{text}");
    assert!(text.contains("paper: |G|·N^1.5") && !text.contains("penalty"), "{text}");
    assert!(!folder.path("out/scaling-penalty.svg").exists());
    folder.refused("bench scaling --out out/scaling.json --tiny", &["--out", "scaling.json"]);
    folder.refused("bench scaling --out new --device tpu", &["tpu"]);
    folder.refused("bench scaling", &["--out"]);
}
