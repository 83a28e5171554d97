//! `reynolds bench step`: rows in JSON and for people, on networks so small that they take moments.

use super::support::{Folder, set};

/// An experiment and the settings that make its step small.
const SMALL: [(&str, &str); 5] = [
    ("so2", "data.points=20 model.so2.hidden_channels=2"),
    ("rings", "data.points=20 model.network=mlp"),
    ("smoke", "model.architecture=rsteer model.hidden=4 model.layers=2 data.batch=2 data.out_length=2"),
    ("ct", "data.side=16 data.patch=16 model.stages=2 model.blocks=1 data.batch=1"),
    ("medmnist", "model.width=1 model.architecture=ours data.set=nodule data.batch=2"),
];

/// The command for a small network, with further settings and options.
fn step(experiment: &str, settings: &str, options: &str) -> String {
    let small = SMALL.iter().find(|(name, _)| *name == experiment).unwrap().1;
    format!("bench step {experiment} --steps 2 --warmup 1 {}{}{options}", set(small), set(settings))
}

#[test]
fn every_experiment_is_a_row_with_the_keys_of_the_contract() {
    let folder = Folder::new();
    for (experiment, settings) in SMALL {
        let row = folder.row(&step(experiment, "", "--json"));
        assert_eq!([&row["row"], &row["experiment"], &row["precision"]], ["step", experiment, "f32"]);
        assert_eq!((row["device"].as_str(), row["penalty"].as_bool()), (Some("cpu"), Some(false)));
        let mut shown = settings.split_whitespace().map(|setting| setting.split('=').next().unwrap());
        assert!(shown.any(|key| row["settings"][key].is_string()) && row["commit"].is_string(), "{row}");
        for key in ["train_ms", "train_samples_per_s", "inference_ms", "inference_samples_per_s", "build_ms", "bind_ms"]
        {
            assert!(row[key].as_f64().unwrap() > 0.0, "{key}: {row}");
        }
        assert!(row["batch"].as_u64().unwrap() > 0 && row["parameters"].as_u64().unwrap() > 10, "{row}");
        assert!(row["peak_memory_mib"].is_null() && row.get("pairs").is_none(), "{row}");
    }
}

#[test]
fn modes_are_settings_and_minibatches_are_rows() {
    let folder = Folder::new();
    let of = |mode: &str| folder.row(&step("ct", mode, "--json"));
    let parameters = |mode: &str| of(mode)["parameters"].as_u64().unwrap();
    let plain = parameters("projected=true");
    assert_eq!(parameters("sample.weight=1e-8"), plain);
    assert!(parameters("train.parametrisation.kind=residual") > plain);
    let penalised = of("penalty.lambda_perp=1 penalty.norm=spectral");
    assert_eq!((penalised["penalty"].as_bool(), penalised["norm"].as_str()), (Some(true), Some("spectral")));
    let rows = folder.rows(&step("ct", "", "--batch 1 --batch 2 --json"));
    assert_eq!(rows.iter().map(|row| row["batch"].as_u64().unwrap()).collect::<Vec<_>>(), [1, 2]);
}

#[test]
fn pairs_say_what_the_penalty_adds() {
    let folder = Folder::new();
    for experiment in ["so2", "smoke", "ct", "medmnist"] {
        let row = folder.row(&step(experiment, "", "--pairs 2 --json"));
        assert_eq!(row["pairs"]["pairs"], 2, "{row}");
        let limit = |key: &str| row["pairs"][key].as_f64().unwrap();
        assert!(limit("low_us") <= limit("added_us") && limit("added_us") <= limit("high_us"), "{row}");
        assert!(limit("without_us") > 0.0 && row["alone_us"].as_f64().unwrap() > 0.0, "{row}");
    }
    let text = folder.done(&step("ct", "", "--pairs 2"));
    let lines: Vec<&str> = text.lines().collect();
    assert!(lines[0].contains("train ms") && lines[1].split_whitespace().take(3).eq(["ct", "1", "f32"]), "{text}");
    assert!(lines[2].contains("model.stages=2") && lines[3].contains("penalty (frobenius): "), "{text}");
    assert!(lines[3].contains("2 pairs") && lines.len() == 4, "{text}");
}

#[test]
fn what_cannot_be_measured_is_named() {
    let folder = Folder::new();
    let none = "--pairs: expected 0: this model has no regularised parameters, found 2";
    for (line, needles) in [
        ("bench step mnist".into(), &["unknown experiment \"mnist\"", "medmnist"][..]),
        (step("ct", "model.architecture=unet", ""), &["--set", "model.architecture", "unet"]),
        (step("ct", "train.precision=bf16", ""), &["bf16"]),
        (step("so2", "train.precision=bf16", ""), &["train.precision: expected f32"]),
        (step("ct", "penalty.norm=largest", ""), &["penalty.norm", "largest"]),
        (step("ct", "", "--device tpu"), &["tpu"]),
        (step("ct", "", "--batch 0"), &["--batch", "found 0"]),
        (step("so2", "", "--batch 8"), &["--batch: unknown key \"data.batch\""]),
        (step("rings", "", "--pairs 2"), &[none]),
        (step("medmnist", "model.architecture=cnn", "--pairs 2"), &[none]),
        ("bench ct --mode plain --json".into(), &["unrecognized subcommand 'ct'"]),
    ] {
        folder.refused(&line, needles);
    }
}
