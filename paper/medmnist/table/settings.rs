//! The settings of the MedMNIST targets in their types, and what models are made of them.

use std::sync::Arc;

use crate::medmnist::networks::{Nonlinearity, Symmetry, VolumeNetConfig};
use reynolds::penalty::Form;
use reynolds_torch::Precision;
use toml::{Table, Value};

use super::measured::{Measured, Measuring};
use super::med_model::{MedModel, SharedData};
use super::paper::Strengths;
use super::row::{GROUPS, Row, group_name};
use super::sets;
use super::tuning::Tuning;
use crate::medmnist::{MedDataConfig, MedExperiment, MedSettings};
use crate::targets::setting::{at, chosen, strength, text, whole, word, words};
use reynolds_train::config::{RunConfig, Selection};
use reynolds_train::error::{Error, Result};
use reynolds_train::experiment::Experiment;
use reynolds_train::interrupt::Interrupt;
use reynolds_train::sweep::Launcher;

/// c that networks can have.
const WIDEST: usize = 64;

/// One model.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Point {
    pub(super) set: &'static str,
    pub(super) row: Row,
    pub(super) strengths: Strengths,
    /// How far the generated set breaks its symmetry; nothing to any other.
    pub(super) breaking: f64,
    pub(super) seed: u64,
}

impl Point {
    /// "vessel-so3-ours-lr1e-4-g1e-3-p1e0-seed0", "shapes-b0.5-cnn-lr1e-4-seed0".
    pub(super) fn name(&self) -> String {
        let Strengths { learning_rate, lambda_g, lambda_perp } = self.strengths;
        let breaking = if self.set == sets::SHAPES { format!("-b{}", self.breaking) } else { String::new() };
        let lambdas = if self.row.is_ours() { format!("-g{lambda_g:e}-p{lambda_perp:e}") } else { String::new() };
        format!("{}{breaking}-{}-lr{learning_rate:e}{lambdas}-seed{}", self.set, self.row.name(), self.seed)
    }
}

/// Settings in their types.
#[derive(Debug, Clone)]
pub(super) struct Setup {
    pub(super) sets: Vec<&'static str>,
    pub(super) rows: Vec<Row>,
    pub(super) groups: Vec<Symmetry>,
    pub(super) seeds: u64,
    pub(super) epochs: usize,
    pub(super) tuning: Tuning,
    /// Of `fig-shapes`, increasing.
    pub(super) breakings: Vec<f64>,
    /// Of the generated set elsewhere.
    pub(super) breaking: f64,
    pub(super) measuring: Measuring,
    pub(super) precision: Precision,
    pub(super) model: VolumeNetConfig,
    pub(super) data: MedDataConfig,
    form: Form,
    shared: Arc<SharedData>,
    launcher: Launcher,
}

/// Numbers of a list that fit, in its order, each once.
fn numbers(settings: &Table, key: &str, expected: &str, fits: fn(f64) -> bool) -> Result<Vec<f64>> {
    let mut all: Vec<f64> = Vec::new();
    for word in words(settings, key) {
        let number = word.parse::<f64>().ok().filter(|number| number.is_finite() && fits(*number));
        let number = number.ok_or_else(|| Error::config(key, expected, format!("\"{word}\"")))?;
        if !all.contains(&number) {
            all.push(number);
        }
    }
    match all.is_empty() {
        true => Err(Error::config(key, expected, "nothing")),
        false => Ok(all),
    }
}

/// Names a setting of a run as the targets do.
fn own_key(error: Error) -> Error {
    match error {
        Error::Config { key, expected, found, .. } => {
            let own = match key.as_str() {
                "train.learning_rate" => "learning_rates".into(),
                "data.batch" | "model.width" | "train.epochs" | "train.precision" => {
                    key.rsplit('.').next().unwrap_or_default().to_string()
                }
                key => key.replace("data.shapes.", "data."),
            };
            Error::config(own, expected, found)
        }
        other => other,
    }
}

impl Setup {
    /// Reads the settings of a target; what it does not have is empty.
    pub(super) fn new(settings: &Table) -> Result<Self> {
        let width = whole(settings, "width", 0)?;
        if width > WIDEST {
            return Err(Error::config("width", format!("at most {WIDEST}"), width));
        }
        let has = |key: &str| settings.contains_key(key);
        let model = VolumeNetConfig {
            width,
            nonlinearity: word(
                settings,
                "nonlinearity",
                [("pointwise", Nonlinearity::Pointwise), ("gated", Nonlinearity::Gated)],
            )?,
            ..VolumeNetConfig::default()
        };
        let measured = |key: &str| if has("train_batch") { whole(settings, key, 1) } else { Ok(1) };
        let positive = |number: f64| number > 0.0;
        let list = |key: &str, expected: &str, fits| {
            if has(key) { numbers(settings, key, expected, fits) } else { Ok(Vec::new()) }
        };
        let strengths = "finite numbers, at least 0";
        // What is not tuned is not a list.
        let single = |key: &str, numbers: Vec<f64>, listed: bool| match (listed, numbers.len()) {
            (false, 2..) => Err(Error::config(key, "one number", numbers.len())),
            _ => Ok(numbers),
        };
        let mut breakings = list("breakings", "numbers from 0 to 1", |number| (0.0..=1.0).contains(&number))?;
        breakings.sort_by(f64::total_cmp);
        let mut lambda_perp = list("lambda_perp", strengths, |number| number >= 0.0)?;
        lambda_perp.sort_by(f64::total_cmp);
        let precision = word(settings, "precision", [("f32", Precision::F32), ("bf16", Precision::Bf16)])?;
        Ok(Self {
            sets: if has("sets") { chosen(settings, "sets", &sets::ALL, String::from)? } else { vec![sets::SHAPES] },
            rows: if has("rows") { chosen(settings, "rows", &Row::ALL, Row::name)? } else { Vec::new() },
            groups: match has("groups") {
                true => chosen(settings, "groups", &GROUPS, |group| group_name(group).into())?,
                false => Vec::new(),
            },
            seeds: if has("seeds") { whole(settings, "seeds", 1)? as u64 } else { 0 },
            epochs: if has("epochs") { whole(settings, "epochs", 1)? } else { 0 },
            tuning: Tuning {
                staged: !has("tuning") || word(settings, "tuning", [("staged", true), ("grid", false)])?,
                learning_rates: single(
                    "learning_rates",
                    list("learning_rates", "finite numbers above 0", positive)?,
                    has("tuning"),
                )?,
                lambda_g: single("lambda_g", list("lambda_g", strengths, |number| number >= 0.0)?, !has("breakings"))?,
                lambda_perp,
            },
            breakings,
            breaking: if has("data") { strength(settings, "data.breaking")? } else { 1.0 },
            measuring: Measuring {
                train_batch: measured("train_batch")?,
                inference_batch: measured("inference_batch")?,
                steps: measured("steps")?,
                precision,
                model: model.clone(),
            },
            precision,
            model,
            data: if has("data") { data(settings)? } else { MedDataConfig::default() },
            form: match has("form") {
                true => word(settings, "form", [("squared", Form::Squared), ("plain", Form::Plain)])?,
                false => Form::Squared,
            },
            shared: Arc::default(),
            launcher: Launcher::this_program()?,
        })
    }

    /// A model of a row on a set that breaks its symmetry as the settings say.
    pub(super) fn point(&self, set: &'static str, row: Row, strengths: Strengths, seed: u64) -> Point {
        Point { set, row, strengths, breaking: self.breaking, seed }
    }

    /// The model of a point.
    ///
    /// # Errors
    /// [`Error::Config`] if a setting is out of range.
    pub(super) fn model(&self, point: &Point) -> Result<MedModel> {
        let Point { set, row, strengths, breaking, seed } = *point;
        let mut config: RunConfig<MedSettings> = MedExperiment.defaults();
        config.seed = seed;
        config.settings.data = MedDataConfig { set: set.into(), ..self.data.clone() };
        config.settings.data.shapes.breaking = breaking;
        config.settings.model = VolumeNetConfig {
            architecture: row.architecture,
            group: row.group,
            nonlinearity: row.nonlinearity(&self.model),
            ..self.model.clone()
        };
        config.train.epochs = self.epochs;
        config.train.learning_rate = strengths.learning_rate;
        config.train.precision = self.precision;
        config.train.weights = Selection::Best;
        if row.is_ours() {
            config.penalty.lambda_g = strengths.lambda_g;
            config.penalty.lambda_perp = strengths.lambda_perp;
            config.penalty.form = self.form;
        }
        config.validate().map_err(own_key)?;
        Ok(MedModel { point: *point, config, shared: Arc::clone(&self.shared) })
    }

    /// Says how to get a file that is not there.
    pub(super) fn prepare(&self, set: &'static str, interrupt: &Interrupt) -> Result<bool> {
        let mut config = MedExperiment.defaults();
        config.settings.data = MedDataConfig { set: set.into(), ..self.data.clone() };
        MedExperiment.prepare(&config, interrupt)
    }

    /// What a row costs.
    pub(super) fn measured(&self, row: Row) -> Measured {
        Measured { row, how: self.measuring.clone(), launcher: self.launcher.clone() }
    }

    /// Steps of a model.
    pub(super) fn steps(&self, set: &str) -> usize {
        let volumes = match set.parse::<crate::medmnist::data::MedSet>() {
            Ok(set) => set.counts()[0],
            Err(_) => self.data.shapes.train,
        };
        self.epochs * volumes.div_ceil(self.data.batch.max(1))
    }
}

/// `[data]`, without the set.
fn data(settings: &Table) -> Result<MedDataConfig> {
    let mut data = MedDataConfig {
        folder: text(settings, "data.folder").into(),
        size: whole(settings, "data.size", 1)?,
        batch: whole(settings, "batch", 1)?,
        turned: whole(settings, "data.turned", 0)?,
        settled: whole(settings, "data.settled", 0)?,
        ..MedDataConfig::default()
    };
    let shapes = &mut data.shapes;
    shapes.train = whole(settings, "data.train", 1)?;
    shapes.validation = whole(settings, "data.validation", 1)?;
    shapes.test = whole(settings, "data.test", 1)?;
    shapes.noise = at(settings, "data.noise").and_then(Value::as_float).unwrap_or(f64::NAN);
    shapes.seed = whole(settings, "data.seed", 0)? as u64;
    Ok(data)
}

#[cfg(test)]
mod tests {
    use super::super::synthetic::{settings, setup};
    use super::super::{ACCURACY, SENSITIVITY, SHAPES};
    use super::*;

    #[test]
    fn strengths_seed_and_set_arrive_in_the_run() {
        let setup = setup(&ACCURACY, &[("sets", "vessel,organ"), ("epochs", "7"), ("form", "plain")]);
        let strengths = Strengths { learning_rate: 3e-4, lambda_g: 2e-3, lambda_perp: 0.7 };
        let config = |row| setup.model(&setup.point("vessel", row, strengths, 5)).unwrap().config;
        for group in GROUPS {
            let ours = config(Row::ours(group));
            assert_eq!((ours.train.learning_rate, ours.train.epochs, ours.seed), (3e-4, 7, 5));
            assert_eq!((ours.penalty.lambda_g, ours.penalty.lambda_perp), (2e-3, 0.7));
            assert_eq!((ours.penalty.form, ours.settings.model.group), (Form::Plain, group));
            assert_eq!((ours.settings.data.set.as_str(), ours.train.weights), ("vessel", Selection::Best));
        }
        // Rows that hold nothing have the learning rate alone.
        let cnn = config(Row::CNN);
        assert_eq!((cnn.train.learning_rate, cnn.penalty.lambda_g, cnn.penalty.lambda_perp), (3e-4, 0.0, 0.0));
    }

    #[test]
    fn what_is_not_tuned_is_one_number() {
        for (target, key) in [(&SHAPES, "learning_rates"), (&SHAPES, "lambda_g"), (&SENSITIVITY, "learning_rates")] {
            let error = Setup::new(&settings(target, &[(key, "1e-3,1e-4")])).unwrap_err().to_string();
            assert!(error.contains(key) && error.contains("expected one number, found 2"), "{error}");
        }
        assert!(Setup::new(&settings(&SENSITIVITY, &[("lambda_g", "1e-3,1e-4")])).is_ok());
    }
}
