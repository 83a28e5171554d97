//! `reynolds bench scaling`: files, exponents and bad input, on sizes so small that they take moments.

use serde_json::Value;

use super::support::{contents, done, refused};

#[test]
fn five_figures_and_their_numbers_are_left() {
    let folder = tempfile::tempdir().unwrap();
    let text = done(folder.path(), &["bench", "scaling", "--out", "deep/out", "--tiny", "--json"]);
    let files = contents(&folder.path().join("deep/out"));
    let names: Vec<&str> = files.keys().map(|path| path.file_name().unwrap().to_str().unwrap()).collect();
    #[rustfmt::skip]
    assert_eq!(names, ["scaling-band.svg", "scaling-group.svg", "scaling-kernel.svg", "scaling-penalty.svg", "scaling-weights.svg", "scaling.json"]);
    for (path, bytes) in files.iter().filter(|(path, _)| path.extension().is_some_and(|end| end == "svg")) {
        let svg = String::from_utf8(bytes.clone()).unwrap();
        assert!(svg.starts_with("<svg ") && svg.ends_with("</svg>\n"), "{}", path.display());
        assert!(svg.contains("floor: read W") && svg.contains("(ours)"), "{}", path.display());
        assert!(!svg.contains("NaN") && !svg.contains("inf"), "{}", path.display());
    }
    let report: Value = serde_json::from_slice(&files[&folder.path().join("deep/out/scaling.json")]).unwrap();
    assert_eq!((report["extent"].as_str(), report["threads"].as_u64()), (Some("tiny"), Some(1)));
    let mut points = 0;
    for panel in report["plots"].as_array().unwrap().iter().flat_map(|plot| plot["panels"].as_array().unwrap()) {
        for series in panel["series"].as_array().unwrap() {
            for point in series["points"].as_array().unwrap() {
                assert!(["x", "weights", "seconds"].iter().all(|key| point[key].as_f64().unwrap() > 0.0), "{series}");
                points += 1;
            }
        }
    }
    assert!(points > 50, "{points}");
    let rows: Vec<Value> = text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert!(rows.iter().all(|row| row["row"] == "scaling" && row["exponent"].as_f64().unwrap().is_finite()));
    let claimed = |series: &str| rows.iter().find(|row| row["series"] == series).map(|row| row["claimed"].clone());
    assert_eq!(claimed("dense Haar sum (paper)"), Some(1.5.into()));
    assert_eq!(claimed("value and gradient (ours)"), Some(1.0.into()));
}

#[test]
fn without_a_device_exponents_are_a_table_and_bad_input_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let text = done(folder.path(), &["bench", "scaling", "--out", "out", "--tiny", "--device", "none"]);
    assert!(text.starts_with("weights: dense maps") && text.contains("measured exponent"), "{text}");
    assert!(text.contains("paper: |G|·N^1.5") && !text.contains("penalty"), "{text}");
    assert!(!folder.path().join("out/scaling-penalty.svg").exists());
    refused(folder.path(), &["bench", "scaling", "--out", "out/scaling.json", "--tiny"], &["--out", "scaling.json"]);
    refused(folder.path(), &["bench", "scaling", "--out", "new", "--device", "tpu"], &["tpu"]);
    refused(folder.path(), &["bench", "scaling"], &["--out"]);
}
