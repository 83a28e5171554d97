//! Settings: what is accepted, what is refused, and what the refusal says.

use proptest::prelude::*;
use reynolds_train::config::{self, Assignment};
use reynolds_train::experiment::{Experiment, Experiments};

use crate::logistic::{Config, Logistic};

fn parse(text: &str) -> Result<Config, String> {
    config::parse(&Logistic::default().defaults(), text, "my.toml").map_err(|error| error.to_string())
}

fn set(assignments: &[&str]) -> Result<Config, String> {
    let assignments: Vec<Assignment> = assignments.iter().map(|text| text.parse().unwrap()).collect();
    config::load(&Logistic::default().defaults(), None, &assignments).map_err(|error| error.to_string())
}

#[test]
fn the_complete_text_reads_back_to_the_same_settings() {
    let config = set(&["penalty.lambda_perp=0.1", "penalty.norm=(2,1)", "seed=7", "model.spread=0.1e-7"]).unwrap();
    let text = config::text(&config);
    assert_eq!(parse(&text).unwrap(), config);
    // Every key of every table is there, and the plain keys come first.
    assert!(text.starts_with("experiment = \"logistic\"\nseed = 7\n"), "{text}");
    let keys = ["early_stopping]\nmetric", "warmup_steps", "beta2", "anneal]\nshape", "look_every", "centre", "norm"];
    assert!(keys.iter().all(|key| text.contains(key)), "{text}");
}

#[test]
fn a_file_overrides_the_defaults_and_an_assignment_the_file() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("my.toml");
    std::fs::write(&file, "seed = 3\n[train]\nepochs = 7\nclip = 2\n[penalty]\nform = \"plain\"\ntarget = 0\n")
        .unwrap();
    let load = |assignments: &[&str]| {
        let assignments: Vec<_> = assignments.iter().map(|text| text.parse().unwrap()).collect();
        config::load(&Logistic::default().defaults(), Some(&file), &assignments).unwrap()
    };
    let targets =
        ["penalty.form=plain", "penalty.target=0.2", "penalty.target=none"].map(|one| load(&[one]).penalty.target);
    assert_eq!(targets, [Some(0.0), Some(0.2), None]);
    let config = load(&["train.epochs=9"]);
    assert_eq!((config.seed, config.train.epochs, config.train.clip), (3, 9, 2.0));
    assert_eq!(config.penalty.form, reynolds::penalty::Form::Plain);
    assert_eq!(config.settings, Logistic::default().defaults().settings);
}

/// The error of a file with this text, or of assignments that each follow a "--set ".
fn refusal(given: &str) -> String {
    match given.strip_prefix("--set ") {
        Some(assignments) => set(&assignments.split(" --set ").collect::<Vec<_>>()).unwrap_err(),
        None => parse(given).unwrap_err(),
    }
}

#[test]
fn refusals_name_origin_and_key() {
    let cases = [
        // Unknown keys, with the nearest.
        (
            "[penalty]\nlambda_prep = 1.0",
            r#"my.toml: unknown key "penalty.lambda_prep": did you mean "penalty.lambda_perp"?"#,
        ),
        ("lambda_perp = 1.0", r#"my.toml: unknown key "lambda_perp": did you mean "penalty.lambda_perp"?"#),
        ("[trian]\nepochs = 1", r#"my.toml: unknown key "trian": did you mean "train"?"#),
        (
            "[train.optimizer]\nbeta1 = 0.5",
            r#"my.toml: unknown key "train.optimizer": did you mean "train.optimiser"?"#,
        ),
        ("[data]\npoint = 4", r#"my.toml: unknown key "data.point": did you mean "data.points"?"#),
        ("--set train.epoch=3", r#"--set: unknown key "train.epoch": did you mean "train.epochs"?"#),
        ("--set seed.x=3", r#"--set: unknown key "seed.x": …"#),
        ("zzzzzzzzzzzz = 1", r#"my.toml: unknown key "zzzzzzzzzzzz": none of 64 keys is like it; --show prints …"#),
        // Values of another type.
        ("[train]\nepochs = \"ten\"", "my.toml: train.epochs: expected a whole number, found a text \"ten\""),
        ("[train]\nepochs = -1", "my.toml: train.epochs: expected a whole number from 0, found -1"),
        ("[train]\nepochs = 1.5", "my.toml: train.epochs: expected a whole number, found a number 1.5"),
        ("train = 3", "my.toml: train: expected a table, found a whole number 3"),
        ("[seed]\nx = 1", "my.toml: seed: expected a whole number, found a table"),
        ("[data]\ncentre = [1, \"b\"]", "my.toml: data.centre: expected a list, found a list [1, \"b\"]"),
        ("[data]\nshuffled = 1", "my.toml: data.shuffled: expected true or false, found a whole number 1"),
        ("--set train.clip=a", "--set: train.clip: expected a number, found a text \"a\""),
        // Names and signs that no value has.
        ("--set train.schedule.shape=cosin", "--set: train.schedule.shape: expected one of `constant`, …"),
        ("--set train.epochs=-3", "--set: train.epochs: expected a whole number from 0, found -3"),
        ("--set penalty.form=round", "--set: penalty.form: expected `squared` or `plain`, found \"round\""),
        ("--set penalty.norm=nuclear", "--set: penalty.norm: expected …"),
        ("--set train.precision=f16", "--set: train.precision: expected …"),
        ("--set penalty.target=off", "--set: penalty.target: expected \"none\" or a number, found \"off\""),
        ("[penalty]\nlambda_g = \"none\"", "my.toml: penalty.lambda_g: expected a number, found \"none\""),
        // Values out of range.
        (
            "--set train.schedule.milestones=[5,3]",
            "--set: train.schedule.milestones: expected increasing epochs, found [5, 3]",
        ),
        ("[train]\nclip = -1", "my.toml: train.clip: …"),
        ("--set penalty.lambda_perp=-1", "--set: penalty.lambda_perp: expected a finite number, at least 0, found -1"),
        ("--set penalty.lambda_g=nan", "--set: penalty.lambda_g: expected a finite number, at least 0, found NaN"),
        ("--set penalty.lambda_g=inf", "--set: penalty.lambda_g: expected a finite number, at least 0, found inf"),
        ("--set train.epochs=0", "--set: train.epochs: expected at least 1, found 0"),
        ("--set train.learning_rate=0", "--set: train.learning_rate: expected a finite number above 0, found 0"),
        (
            "--set train.optimiser.beta2=1.0",
            "--set: train.optimiser.beta2: expected a number from 0 up to, but not, 1, found 1",
        ),
        ("--set penalty.step=proximal", "--set: penalty.step: expected `gradient` or `decoupled`, found \"proximal\""),
        ("--set penalty.target=1", "--set: penalty.target: expected \"none\" or a number from 0, below 1, found 1"),
        (
            "--set penalty.target=-0.1",
            "--set: penalty.target: expected \"none\" or a number from 0, below 1, found -0.1",
        ),
        (
            "--set penalty.target=0.1 --set penalty.lambda_perp=1",
            "--set: penalty.lambda_perp: expected 0 with a target, found 1",
        ),
        (
            "--set penalty.target=0.1 --set penalty.anneal.shape=linear --set penalty.anneal.epochs=3",
            "--set: penalty.anneal.shape: expected \"constant\" with a target, found \"linear\"",
        ),
        (
            "--set penalty.step=decoupled --set penalty.norm=spectral",
            "--set: penalty.norm: expected \"frobenius\" with a decoupled step or a target, found \"spectral\"",
        ),
        ("--set penalty.target=0.1 --set penalty.norm=max", "--set: penalty.norm: expected \"frobenius\" with …"),
        (
            "--set penalty.target_by=dual",
            "--set: penalty.target_by: expected \"scaling\" without a target, found \"dual\"",
        ),
        (
            "--set penalty.target_scope=network",
            "--set: penalty.target_scope: expected \"layer\" without a target, found \"network\"",
        ),
        (
            "--set penalty.target=0.1 --set penalty.target_rate=2",
            "--set: penalty.target_rate: expected 1 unless target_by = \"dual\", found 2",
        ),
        ("--set penalty.target_rate=0", "--set: penalty.target_rate: expected a finite number above 0, found 0"),
        (
            "--set penalty.per_layer=[\"weight=2\"]",
            "--set: penalty.per_layer: expected [] unless step = \"decoupled\", found [\"weight=2\"]",
        ),
        (
            "--set penalty.per_layer=[\"weight=-2\"]",
            "--set: penalty.per_layer: expected \"NAME=FACTOR\" with a finite factor, at least 0, found \"weight=-2\"",
        ),
        (
            "--set penalty.target=0.1 --set train.parametrisation.kind=constrained",
            "--set: penalty.target: expected \"none\" unless train.parametrisation.kind = \"free\", found 0.1",
        ),
        (
            "--set penalty.step=decoupled --set train.parametrisation.kind=residual",
            "--set: penalty.step: expected \"gradient\" unless train.parametrisation.kind = \"free\", found \"decoupled\"",
        ),
        ("--set penalty.anneal.shape=linear", "config: penalty.anneal.epochs: expected a number above 0…"),
        ("--set data.batch=5", "--set: data.batch: expected a divisor of 32, found 5"),
        ("--set experiment=so2", "--set: experiment: expected \"logistic\", found \"so2\""),
        (
            "--set train.early_stopping.metric=\"\" --set train.early_stopping.patience=3",
            "--set: train.early_stopping.metric: expected a metric (patience is set), found \"\"",
        ),
        (
            "--set train.early_stopping.metric=\"\" --set train.early_stopping.ties=loss",
            "--set: train.early_stopping.metric: expected a metric (ties is set), found \"\"",
        ),
        (
            "--set penalty.step=decoupled --set penalty.target=0.1 --set penalty.per_layer=[\"weight=2\"]",
            "--set: penalty.per_layer: expected [] with a target, unless lambda_g is above 0, found [\"weight=2\"]",
        ),
        (
            "--set penalty.step=decoupled --set penalty.per_layer=[\"weight=2\",\"weight=3\"]",
            "--set: penalty.per_layer: expected each parameter once, found \"weight\"",
        ),
        (
            "--set penalty.scale=false --set penalty.form=plain",
            "--set: penalty.scale: expected true unless step = \"decoupled\" and form = \"plain\", found false",
        ),
        ("--set penalty.scale=false --set penalty.step=decoupled", "--set: penalty.scale: expected true unless step …"),
        // Not TOML.
        ("seed = 1\n[train\n", "my.toml: line 2: expected TOML, found …"),
    ];
    for (given, message) in cases {
        let refusal = refusal(given);
        match message.strip_suffix('…') {
            Some(start) => assert!(refusal.starts_with(start), "{given}: {refusal}"),
            None => assert_eq!(refusal, message, "{given}"),
        }
    }
    let missing = std::path::Path::new("no/such.toml");
    let error = config::load(&Logistic::default().defaults(), Some(missing), &[]).unwrap_err();
    assert!(error.to_string().starts_with("no/such.toml: cannot read: "));
}

#[test]
fn an_assignment_is_toml_or_a_bare_text() {
    let config = set(&["model.note=a b = c", "data.centre=[1, 2.5]", "data.shuffled=false", "model.spread=1"]).unwrap();
    assert_eq!(config.settings.model.note, "a b = c");
    assert_eq!(config.settings.data.centre, [1.0, 2.5]);
    assert_eq!((config.settings.data.shuffled, config.settings.model.spread), (false, 1.0));
    // A text stays one, whatever it looks like; quotes are TOML's.
    assert_eq!(set(&["model.note=12"]).unwrap().settings.model.note, "12");
    assert_eq!(set(&["model.note=\"12\""]).unwrap().settings.model.note, "12");
    assert_eq!(set(&["model.note=1\nseed = 5"]).unwrap().settings.model.note, "1\nseed = 5");
}

#[test]
fn a_table_in_one_assignment_is_laid_over_the_one_that_is_there() {
    let mut defaults = Logistic::default().defaults();
    (defaults.penalty.lambda_g, defaults.train.optimiser.weight_decay) = (0.25, 0.5);
    let set = |text: &str| {
        config::load(&defaults, None, &[text.parse().unwrap()])
            .map_err(|error: reynolds_train::Error| error.to_string())
    };
    let config = set("penalty={lambda_perp=1, anneal={epochs=3.0}}").unwrap();
    let mut expected = defaults.clone();
    (expected.penalty.lambda_perp, expected.penalty.anneal.epochs) = (1.0, 3.0);
    assert_eq!(config, expected);
    let message = set("penalty={lambda_prep=0.1}").unwrap_err();
    assert_eq!(message, r#"--set: unknown key "penalty.lambda_prep": did you mean "penalty.lambda_perp"?"#);
    let message = set("train={epochs=\"ten\"}").unwrap_err();
    assert_eq!(message, "--set: train.epochs: expected a whole number, found a text \"ten\"");
    let message = set("penalty={lambda_perp=-1}").unwrap_err();
    assert_eq!(message, "--set: penalty.lambda_perp: expected a finite number, at least 0, found -1");
}

#[test]
fn an_unknown_experiment_is_refused_with_the_nearest_and_all() {
    let experiments = Experiments::new(vec![Logistic::default().into()]);
    assert!(experiments.find("logistic").is_ok());
    let message = experiments.find("logistics").err().unwrap().to_string();
    assert_eq!(message, "unknown experiment \"logistics\": did you mean \"logistic\"? there are logistic");
    let message = experiments.find("x").err().unwrap().to_string();
    assert_eq!(message, "unknown experiment \"x\": there are logistic");
}

proptest! {
    #[test]
    fn every_valid_setting_survives_the_file(
        seed in 0..=i64::MAX as u64,
        lambda in 0.0..1e300_f64,
        rate in 1e-300..1e300_f64,
        milestones in proptest::collection::btree_set(0..1000_usize, 0..5),
        note in ".*",
    ) {
        let mut config = Logistic::default().defaults();
        config.seed = seed;
        config.penalty.lambda_perp = lambda;
        config.train.learning_rate = rate;
        config.train.schedule.milestones = milestones.into_iter().collect();
        config.settings.model.note = note;
        prop_assert_eq!(parse(&config::text(&config)).unwrap(), config);
    }
}
