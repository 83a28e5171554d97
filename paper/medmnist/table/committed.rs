//! The results in results/medmnist are those of the models that the targets ask for today, with today's keys.

use std::path::{Path, PathBuf};

use serde_json::Value;

use super::synthetic::given;
use super::target::Training;
use super::{ACCURACY, CONFUSION, SENSITIVITY, SHAPES};
use crate::targets::point::{Frame, Point, Trained};
use crate::targets::{Budget, Target};

fn folder(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../results/medmnist").join(name)
}

/// Whether everything that is said there is so here.
fn has(here: &Value, there: &Value) -> bool {
    match (here, there) {
        (Value::Object(here), Value::Object(there)) => {
            there.iter().all(|(key, value)| here.get(key).is_some_and(|here| has(here, value)))
        }
        _ => here == there,
    }
}

/// Asks for models until there are no more, each of which must be among the committed ones with the same settings; then the committed
/// numbers give the committed table.
fn agrees<S: Training>(target: &impl Target<Settings = S>, name: &str, assignments: &[(&str, &str)]) {
    let settings = given(target.settings(Budget::Standard), assignments);
    let read = |file: &str| std::fs::read_to_string(folder(name).join(file)).unwrap();
    let results: Value = serde_json::from_str(&read("results.json")).unwrap();
    let models = results["models"].as_array().unwrap();
    let mut frame = Frame::default();
    loop {
        let mut missing = settings.wanted(&frame);
        missing.retain(|run| frame.find(run).is_none());
        if missing.is_empty() {
            break;
        }
        for run in missing {
            let found = models.iter().find(|model| model["id"] == run.id()).unwrap_or_else(|| panic!("{}", run.id()));
            assert!(has(&run.settings(), &found["config"]), "{name}: {}: {}", run.settings(), found["config"]);
            let trained: Trained = serde_json::from_value(serde_json::json!({ "metrics": found["metrics"] })).unwrap();
            frame.insert(&run, trained);
        }
    }
    assert_eq!(frame.len(), models.len(), "{name}");
    assert_eq!(target.findings(&settings, &frame).unwrap().csv, read("table.csv"), "{name}");
}

const TABLE: [(&str, &str); 6] = [
    ("train.precision", "bf16"),
    ("seeds", "3"),
    ("learning_rates", "5e-4"),
    ("lambda_g", "1e-5,1e-3"),
    ("lambda_perp", "1e-4,1e-2"),
    ("data.turned", "8"),
];

#[test]
fn tables_and_confusions_are_of_the_same_models() {
    let files = [&TABLE[..], &[("sets", "vessel,adrenal"), ("train.epochs", "6")]].concat();
    agrees(&ACCURACY, "table-medmnist", &files);
    agrees(&CONFUSION, "fig-confusion", &files);
    let shapes = [&TABLE[..], &[("sets", "shapes"), ("train.epochs", "5"), ("data.batch", "16")]].concat();
    agrees(&ACCURACY, "table-shapes", &shapes);
    agrees(&CONFUSION, "fig-confusion-shapes", &shapes);
}

#[test]
fn maps_are_of_the_same_models() {
    let given = [
        ("sets", "vessel,adrenal"),
        ("train.precision", "bf16"),
        ("train.epochs", "6"),
        ("train.learning_rate", "5e-4"),
        ("data.turned", "8"),
    ];
    agrees(&SENSITIVITY, "fig-sensitivity", &given);
}

#[test]
fn shapes_are_of_the_same_models() {
    let given = [
        ("train.precision", "bf16"),
        ("train.epochs", "40"),
        ("data.turned", "8"),
        ("data.shapes.seed", "2"),
        ("breakings", "0,1"),
        ("lambda_perp", "1e-3,1e-2,1e-1,1"),
    ];
    agrees(&SHAPES, "fig-shapes", &given);
}
