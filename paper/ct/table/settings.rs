//! The settings of a CT target in their types, and the models that are made of them.

use std::sync::Arc;

use crate::ct::networks::{Architecture, Held, MarNetConfig};
use reynolds::norm::Norm;
use reynolds::penalty::Form;
use reynolds_torch::Precision;
use reynolds_torch::parametrisation::{Parametrisation, ParametrisationConfig};
use reynolds_torch::sample_penalty::SamplePenaltyConfig;
use toml::{Table, Value};

use super::ct_model::{CtModel, SharedData};
use super::measured::{Measured, Measuring};
use super::paper::NORMS;
use super::row::{Mode, NETWORKS, Row, name};
use crate::ct::{CtDataConfig, CtExperiment, CtSettings, CtSource};
use crate::targets::setting::{at, chosen, strength, text, whole, word, words};
use reynolds_train::config::RunConfig;
use reynolds_train::error::{Error, Result};
use reynolds_train::experiment::Experiment;
use reynolds_train::schedule::Shape;
use reynolds_train::sweep::Launcher;

/// Settings in their types.
#[derive(Debug, Clone)]
pub(super) struct Setup {
    pub(super) networks: Vec<Architecture>,
    /// Of `table-ct` and `fig-ct`.
    pub(super) modes: Vec<Mode>,
    /// Of `table-norms`.
    norms: Vec<Norm>,
    pub(super) seeds: u64,
    /// Whether costs are measured.
    pub(super) efficiency: bool,
    pub(super) measuring: Measuring,
    pub(super) sample_at_largest: bool,
    pub(super) data: CtDataConfig,
    pub(super) model: MarNetConfig,
    table: Table,
    shared: Arc<SharedData>,
    launcher: Launcher,
}

fn flag(settings: &Table, key: &str) -> bool {
    at(settings, key).and_then(Value::as_bool).unwrap_or_default()
}

/// Numbers of a list.
fn numbers<T: std::str::FromStr>(settings: &Table, key: &str, expected: &str, fits: fn(&T) -> bool) -> Result<Vec<T>> {
    let number = |word: &str| {
        let found = word.parse::<T>().ok().filter(fits);
        found.ok_or_else(|| Error::config(key, expected, format!("\"{word}\"")))
    };
    words(settings, key).into_iter().map(number).collect()
}

/// Norms that are listed, apart from each other by spaces or commas outside of brackets.
fn norms(settings: &Table) -> Result<Vec<Norm>> {
    let list = text(settings, "norms").trim().trim_start_matches('[').trim_end_matches(']').to_string();
    let mut depth = 0;
    let apart = |letter: char| {
        depth += i32::from(letter == '(') - i32::from(letter == ')');
        depth == 0 && (letter == ',' || letter.is_whitespace())
    };
    let words = list.split(apart).map(|word| word.trim_matches(['"', '\'', ' '])).filter(|word| !word.is_empty());
    let all = || NORMS.iter().filter_map(|name| name.parse().ok());
    let mut norms = Vec::new();
    for word in words {
        match word {
            "all" => norms.extend(all()),
            word => norms.push(word.parse().map_err(|_| {
                Error::config("norms", format!("some of {}, or all", NORMS.join(" ")), format!("\"{word}\""))
            })?),
        }
    }
    norms = all().filter(|norm| norms.contains(norm)).collect();
    Ok(norms)
}

/// Names a setting of a run as the targets do.
pub(super) fn own_key(network: Architecture) -> impl Fn(Error) -> Error {
    move |error| match error {
        Error::Config { key, expected, found, .. } => {
            let own = match key.as_str() {
                "data.batch"
                | "data.patch"
                | "data.steps"
                | "model.stages"
                | "model.blocks"
                | "model.held"
                | "penalty.lambda_perp"
                | "train.learning_rate"
                | "train.precision" => key.rsplit('.').next().unwrap_or_default().to_string(),
                "train.epochs" => format!("epochs.{}", name(network)),
                "sample.weight" => format!("sample_weight.{}", name(network)),
                "train.schedule.milestones" => "decay_at".into(),
                "train.parametrisation.lambda_equivariant" => "rpp.equivariant".into(),
                "train.parametrisation.lambda_residual" => "rpp.residual".into(),
                _ => key,
            };
            Error::config(own, expected, found)
        }
        other => other,
    }
}

impl Setup {
    /// Reads the settings of a target.
    pub(super) fn new(settings: &Table) -> Result<Self> {
        let networks = chosen(settings, "networks", &NETWORKS, name)?;
        let modes = match settings.contains_key("modes") {
            true => chosen(settings, "modes", &Mode::ALL, |mode| mode.name().into())?,
            false => Vec::new(),
        };
        let norms = norms(settings)?;
        if modes.is_empty() && norms.is_empty() {
            return Err(Error::config("norms", format!("some of {}, or all", NORMS.join(" ")), "nothing"));
        }
        let model = MarNetConfig {
            stages: whole(settings, "stages", 1)?,
            blocks: whole(settings, "blocks", 1)?,
            held: word(settings, "held", [("x", Held::X), ("xm", Held::Xm)])?,
            ..MarNetConfig::default()
        };
        let efficiency = flag(settings, "efficiency");
        let mut batches = numbers(settings, "measured_batches", "whole numbers, at least 1", |batch| *batch >= 1)?;
        batches.sort_unstable();
        batches.dedup();
        if efficiency && batches.is_empty() {
            return Err(Error::config("measured_batches", "at least one number, for efficiency = true", "none"));
        }
        let measured = |key: &str| if efficiency { whole(settings, key, 1) } else { Ok(0) };
        let precision = match efficiency {
            true => word(settings, "measured_precision", [("f32", "f32"), ("bf16", "bf16")])?,
            false => "",
        };
        let measuring = Measuring {
            side: measured("measured_side")?,
            steps: measured("measured_steps")?,
            batches,
            precision: precision.into(),
            model: model.clone(),
        };
        Ok(Self {
            networks,
            modes,
            norms,
            seeds: whole(settings, "seeds", 1)? as u64,
            efficiency,
            measuring,
            sample_at_largest: flag(settings, "sample_at_largest"),
            data: data(settings)?,
            model,
            table: settings.clone(),
            shared: Arc::default(),
            launcher: Launcher::this_program()?,
        })
    }

    /// The settings without those of networks that are not asked for.
    pub(super) fn applying(&self) -> Table {
        let named = |key: &String| NETWORKS.into_iter().find(|&network| name(network) == *key);
        let asked = |key: &String| named(key).is_none_or(|network| self.networks.contains(&network));
        let kept = self.table.iter().map(|(key, value)| match value {
            Value::Table(inner) => {
                let inner = inner.iter().filter(|(key, _)| asked(key));
                (key.clone(), Value::Table(inner.map(|(key, value)| (key.clone(), value.clone())).collect()))
            }
            value => (key.clone(), value.clone()),
        });
        kept.collect()
    }

    /// The rows of `table-ct` that are asked for.
    pub(super) fn rows(&self) -> Vec<Row> {
        let of = |&network: &Architecture| self.modes.iter().map(move |&mode| Row { network, mode });
        self.networks.iter().flat_map(of).collect()
    }

    /// The rows of `table-norms` that are asked for: each network without the penalty, then every norm.
    pub(super) fn norm_rows(&self) -> Vec<(Row, Norm)> {
        let of = |&network: &Architecture| {
            let plain = (Row { network, mode: Mode::Plain }, Norm::Frobenius);
            let norms = self.norms.iter().map(move |&norm| (Row { network, mode: Mode::Penalty }, norm));
            std::iter::once(plain).chain(norms)
        };
        self.networks.iter().flat_map(of).collect()
    }

    /// A model of a row; the norm is that of the projection penalty.
    ///
    /// # Errors
    /// [`Error::Config`] if a setting is out of range.
    pub(super) fn model(&self, row: Row, norm: Norm, seed: u64) -> Result<CtModel> {
        let Row { network, mode } = row;
        let (table, of) = (&self.table, name(network));
        let mut config: RunConfig<CtSettings> = CtExperiment.defaults();
        config.seed = seed;
        let (mut batch, mut steps) = (whole(table, "batch", 1)?, self.data.steps);
        if mode == Mode::Sample {
            // As many images an epoch as the other rows.
            let own = whole(table, "sample_batch", 1)?;
            steps = steps.saturating_mul(batch).div_ceil(own);
            batch = own;
        }
        config.settings.data = CtDataConfig { batch, steps, ..self.data.clone() };
        config.settings.model = MarNetConfig { architecture: network, ..self.model.clone() };
        let epochs = whole(table, &format!("epochs.{of}"), 1)?;
        config.train.epochs = epochs;
        config.train.learning_rate = at(table, "learning_rate").and_then(Value::as_float).unwrap_or(f64::NAN);
        config.train.precision = word(table, "precision", [("f32", Precision::F32), ("bf16", Precision::Bf16)])?;
        config.train.schedule.gamma = 0.5;
        let shares = numbers(table, "decay_at", "numbers above 0, at most 1", |share| *share > 0.0 && *share <= 1.0)?;
        config.train.schedule.milestones = milestones(&shares, epochs);
        let decays = !config.train.schedule.milestones.is_empty();
        config.train.schedule.shape = if decays { Shape::MultiStep } else { Shape::Constant };
        match mode {
            Mode::Plain | Mode::Projected => {}
            Mode::Sample => {
                let weight = strength(table, &format!("sample_weight.{of}"))?;
                config.settings.sample = SamplePenaltyConfig { weight, ..SamplePenaltyConfig::default() };
            }
            Mode::Rpp => {
                config.train.parametrisation = ParametrisationConfig {
                    kind: Parametrisation::Residual,
                    lambda_equivariant: strength(table, "rpp.equivariant")?,
                    lambda_residual: strength(table, "rpp.residual")?,
                };
            }
            Mode::Penalty => {
                config.penalty.lambda_perp = strength(table, "lambda_perp")?;
                config.penalty.form = word(table, "form", [("squared", Form::Squared), ("plain", Form::Plain)])?;
                config.penalty.norm = norm;
            }
        }
        config.validate().map_err(own_key(network))?;
        Ok(CtModel { row, config, drawn: seed == 0, shared: Arc::clone(&self.shared) })
    }

    /// What a row costs.
    pub(super) fn measured(&self, row: Row, norm: Norm) -> Measured {
        let mut how = self.measuring.clone();
        if row.mode == Mode::Sample && !self.sample_at_largest {
            how.batches.truncate(1);
        }
        Measured { network: row.network, mode: row.mode, norm, how, launcher: self.launcher.clone() }
    }
}

/// `[data]`, without what is cut out of the images.
fn data(settings: &Table) -> Result<CtDataConfig> {
    Ok(CtDataConfig {
        source: word(settings, "data.source", [("phantom", CtSource::Phantom), ("slices", CtSource::Slices)])?,
        folder: text(settings, "data.folder").into(),
        slices: text(settings, "data.slices").into(),
        side: whole(settings, "data.side", 1)?,
        train: whole(settings, "data.train", 1)?,
        validation: whole(settings, "data.validation", 1)?,
        test: whole(settings, "data.test", 1)?,
        set_seed: whole(settings, "data.set_seed", 0)? as u64,
        patch: whole(settings, "patch", 1)?,
        steps: whole(settings, "steps", 0)?,
        flips: flag(settings, "data.flips"),
        ..CtDataConfig::default()
    })
}

/// Epochs of these shares of all of them, increasing; those that are none of their own fall together.
fn milestones(shares: &[f64], epochs: usize) -> Vec<usize> {
    let mut milestones: Vec<usize> = shares.iter().map(|share| (share * epochs as f64).round() as usize).collect();
    milestones.retain(|&epoch| epoch > 0 && epoch < epochs);
    milestones.sort_unstable();
    milestones.dedup();
    milestones
}

#[cfg(test)]
mod tests {
    use super::super::synthetic::setup;
    use super::super::{NORMS as NORMS_TARGET, TABLE};
    use super::*;
    use crate::targets::point::Point;

    #[test]
    fn modes_differ_in_what_they_are_and_in_nothing_else() {
        let setup = setup(&TABLE, &[]);
        let of = |mode| setup.model(Row { network: Architecture::Acdnet, mode }, Norm::Frobenius, 1).unwrap().config();
        let plain = of(Mode::Plain);
        let with = |changes: &[(&str, Value)]| {
            let mut table = plain.clone();
            for (key, value) in changes {
                let mut parts: Vec<&str> = key.split('.').collect();
                let last = parts.pop().unwrap();
                let inner = parts.into_iter().fold(&mut table, |table, part| table[part].as_table_mut().unwrap());
                inner[last] = value.clone();
            }
            table
        };
        assert_eq!(of(Mode::Penalty), with(&[("penalty.lambda_perp", Value::Float(1.0))]));
        assert_eq!(of(Mode::Sample), with(&[("sample.weight", Value::Float(1e-6))]));
        let residual = Value::String("residual".into());
        let rpp =
            [("train.parametrisation.kind", residual), ("train.parametrisation.lambda_residual", Value::Float(1e-4))];
        assert_eq!(of(Mode::Rpp), with(&rpp));
    }

    #[test]
    fn the_full_budget_is_the_published_protocol() {
        let setup = TABLE.setup(&super::super::budget::of_budget(crate::targets::Budget::Full, TABLE.of)).unwrap();
        let of = |mode| setup.model(Row { network: Architecture::Oscnet, mode }, Norm::Frobenius, 0).unwrap().config;
        let (plain, sample) = (of(Mode::Plain), of(Mode::Sample));
        assert_eq!((plain.train.epochs, plain.settings.data.batch, sample.settings.data.batch), (80, 12, 4));
        assert_eq!(plain.train.schedule.milestones, [50]);
        assert_eq!(
            (plain.settings.data.patch, plain.settings.data.steps, sample.settings.data.steps),
            (256, 500, 1500)
        );
        assert_eq!(setup.model.stages, 10);
    }

    #[test]
    fn the_sample_based_row_sees_at_least_as_many_images_an_epoch() {
        let steps = |steps, batch, own| {
            let setup = setup(&TABLE, &[("steps", steps), ("batch", batch), ("sample_batch", own)]);
            let row = Row { network: Architecture::Dicdnet, mode: Mode::Sample };
            setup.model(row, Norm::Frobenius, 0).unwrap().config.settings.data.steps
        };
        // 0 goes once through the pairs whatever the batch.
        assert_eq!([steps("25", "4", "4"), steps("5", "4", "3"), steps("0", "4", "2")], [25, 7, 0]);
    }

    #[test]
    fn norms_are_apart_by_commas_or_spaces_and_decays_are_shares_of_the_epochs() {
        for list in ["(1,2),spectral", "spectral (1,2)", "[\"(1,2)\", \"spectral\"]"] {
            let setup = setup(&NORMS_TARGET, &[("norms", list)]);
            assert_eq!(setup.norms.iter().map(Norm::to_string).collect::<Vec<_>>(), ["spectral", "(1,2)"]);
        }
        assert_eq!(setup(&NORMS_TARGET, &[("norms", "all")]).norms.len(), 12);
        assert_eq!(milestones(&[0.6, 0.8, 0.9], 15), [9, 12, 14]);
        assert_eq!(milestones(&[0.6, 0.8, 0.9], 4), [2, 3]);
        assert!(milestones(&[0.75], 1).is_empty());
    }

    #[test]
    fn the_sample_based_penalty_may_be_measured_at_the_smallest_batch_alone() {
        let setup = setup(&TABLE, &[("sample_at_largest", "false"), ("measured_batches", "12,4,4")]);
        let batches = |mode| setup.measured(Row { network: Architecture::Dicdnet, mode }, Norm::Frobenius).how.batches;
        assert_eq!((batches(Mode::Plain), batches(Mode::Sample)), (vec![4, 12], vec![4]));
        let one = super::super::synthetic::setup(&TABLE, &[("networks", "oscnet")]).applying();
        assert_eq!(one["epochs"].as_table().unwrap().keys().collect::<Vec<_>>(), ["oscnet"]);
        assert!(one["data"].get("side").is_some());
    }
}
