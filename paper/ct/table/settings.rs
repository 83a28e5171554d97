//! The settings of the CT targets, and the run of each row.
//!
//! ```text
//! table-ct     modes + Costs + Training { seeds, networks, …, run: every key of `reynolds run ct` }
//! table-norms  norms + Costs + Training
//! fig-ct       modes         + Training
//! ```
//!
//! Keys that a target has not are unknown to it. The run has the settings of every mode at once; a model of a row is a clone of it that keeps those of its own mode.

use reynolds::norm::Norm;
use reynolds_torch::Precision;
use reynolds_torch::parametrisation::Parametrisation;
use reynolds_train::config::{self, RunConfig, Settings, at_least_one, at_least_zero};
use reynolds_train::error::{Error, Result};
use reynolds_train::experiment::Experiment;
use reynolds_train::schedule::Shape;
use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize};

use super::row::{Mode, NETWORKS, Row};
use super::run::CtRun;
use crate::ct::networks::Architecture;
use crate::ct::{CtExperiment, CtSettings};
use crate::targets::{Chosen, Named};

/// Old keys of all three targets.
pub(super) const RENAMED: &[(&str, &str)] = &[
    ("steps", "data.steps"),
    ("batch", "data.batch"),
    ("patch", "data.patch"),
    ("learning_rate", "train.learning_rate"),
    ("precision", "train.precision"),
    ("stages", "model.stages"),
    ("blocks", "model.blocks"),
    ("held", "model.held"),
    ("lambda_perp", "penalty.lambda_perp"),
    ("form", "penalty.form"),
    ("rpp", "train.parametrisation"),
    ("rpp.equivariant", "train.parametrisation.lambda_equivariant"),
    ("rpp.residual", "train.parametrisation.lambda_residual"),
];

/// What is measured besides.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct Costs {
    /// Whether costs are measured.
    pub(super) efficiency: bool,
    /// Pixels along a side of an image.
    pub(super) measured_side: usize,
    pub(super) measured_steps: usize,
    /// Images of a minibatch, increasing.
    pub(super) measured_batches: Vec<usize>,
    pub(super) measured_precision: Precision,
    /// Whether the sample-based penalty is measured at every batch, and not at the smallest alone.
    pub(super) sample_at_largest: bool,
}

/// Costs that are there and cannot be read are an error; left to itself serde takes them for none.
fn costs_if_any<'de, D: Deserializer<'de>>(deserializer: D) -> std::result::Result<Option<Costs>, D::Error> {
    let tree = toml::Table::deserialize(deserializer)?;
    let costs = tree.contains_key("efficiency").then(|| tree.try_into());
    costs.transpose().map_err(|error: toml::de::Error| D::Error::custom(error.message()))
}

/// What is trained, whichever rows are asked for.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct Training {
    /// Models of each row, with consecutive seeds from `seed` on.
    pub(super) seeds: u64,
    pub(super) networks: Chosen<Architecture>,
    /// Images of a minibatch of the sample-based rows, which have as many images an epoch as the others.
    pub(super) sample_batch: usize,
    /// The learning rate falls at these shares of the epochs; none = `train.schedule` holds.
    pub(super) decay_at: Vec<f64>,
    /// Of a network that is trained longer or shorter than the others; 0 = `train.epochs`.
    pub(super) epochs: PerNetwork<usize>,
    /// Of a network with a weight of its own; 0 = `sample.weight`.
    pub(super) sample_weight: PerNetwork<f64>,
    #[serde(flatten)]
    pub(super) run: RunConfig<CtSettings>,
}

/// A number for each network.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct PerNetwork<T> {
    pub(super) acdnet: T,
    pub(super) dicdnet: T,
    pub(super) oscnet: T,
}

impl<T: Copy> PerNetwork<T> {
    fn of(&self, network: Architecture) -> T {
        match network {
            Architecture::Acdnet => self.acdnet,
            Architecture::Dicdnet => self.dicdnet,
            Architecture::Oscnet => self.oscnet,
        }
    }
}

/// All settings of a target; what it has not, none of its keys is.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct TargetSettings {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) modes: Option<Chosen<Mode>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) norms: Option<Chosen<Norm>>,
    #[serde(flatten, deserialize_with = "costs_if_any")]
    pub(super) costs: Option<Costs>,
    #[serde(flatten)]
    pub(super) training: Training,
}

impl Settings for TargetSettings {
    fn validate(&self) -> Result<()> {
        self.measured().map_or(Ok(()), Costs::check)?;
        let norm = self.training.run.penalty.norm;
        if self.norms.is_some() && norm != Norm::default() {
            let expected = format!("\"{}\", for `norms` says which", Norm::default());
            return Err(Error::config("penalty.norm", expected, format!("\"{norm}\"")));
        }
        self.training.check()
    }

    fn renamed() -> &'static [(&'static str, &'static str)] {
        RENAMED
    }
}

impl TargetSettings {
    /// A figure, whose plain models keep what every network sees.
    fn is_figure(&self) -> bool {
        self.costs.is_none()
    }

    /// Network by network: its modes, or itself without the penalty and then under every norm.
    pub(super) fn rows(&self) -> Vec<Row> {
        let norm = self.training.run.penalty.norm;
        let modes = self.modes.iter().flat_map(|modes| {
            let asked = |mode: &Mode| modes.contains(*mode) || self.is_figure() && *mode == Mode::Plain;
            Mode::ALL.iter().copied().filter(asked).map(|mode| (mode, norm)).collect::<Vec<_>>()
        });
        let norms = self.norms.iter().flat_map(|norms| {
            let plain = std::iter::once((Mode::Plain, Norm::default()));
            plain.chain(norms.iter().map(|norm| (Mode::Penalty, norm)))
        });
        let ways: Vec<(Mode, Norm)> = modes.chain(norms).collect();
        let of = |network| ways.iter().map(move |&(mode, norm)| Row { network, mode, norm });
        self.training.networks.iter().flat_map(of).collect()
    }

    /// Models of each row; of a figure the first alone.
    pub(super) fn seeds(&self) -> std::ops::Range<u64> {
        let (first, count) = (self.training.run.seed, if self.is_figure() { 1 } else { self.training.seeds });
        first..first.saturating_add(count)
    }

    /// What is measured, if anything.
    pub(super) fn measured(&self) -> Option<&Costs> {
        self.costs.as_ref().filter(|costs| costs.efficiency)
    }

    /// What a reader is shown: the target's own keys, without networks that are not asked for, and what differs from the defaults of the
    /// experiment.
    pub(super) fn shown(&self) -> Vec<(String, String)> {
        let of_run: Vec<String> = config::lines(&self.training.run).into_iter().map(|(key, _)| key).collect();
        let changed = config::changed(&self.training.run, &CtExperiment.defaults());
        let asked = |key: &str| {
            let named = NETWORKS.into_iter().find(|network| key.ends_with(&format!(".{}", network.name())));
            named.is_none_or(|network| self.training.networks.contains(network))
        };
        let own = |line: &(String, String)| !of_run.contains(&line.0) && asked(&line.0);
        config::lines(self).into_iter().filter(|line| own(line) || changed.contains(line)).collect()
    }
}

impl Costs {
    fn check(&self) -> Result<()> {
        at_least_one("measured_side", self.measured_side)?;
        at_least_one("measured_steps", self.measured_steps)?;
        let batches = &self.measured_batches;
        if batches.is_empty() || batches[0] == 0 || !batches.is_sorted_by(|a, b| a < b) {
            return Err(Error::config("measured_batches", "increasing numbers, at least 1", format!("{batches:?}")));
        }
        Ok(())
    }
}

impl Training {
    fn check(&self) -> Result<()> {
        at_least_one("seeds", self.seeds as usize)?;
        at_least_one("sample_batch", self.sample_batch)?;
        for network in NETWORKS {
            at_least_zero(&format!("sample_weight.{}", network.name()), self.sample_weight.of(network))?;
        }
        if let Some(share) = self.decay_at.iter().find(|share| !(**share > 0.0 && **share <= 1.0)) {
            return Err(Error::config("decay_at", "numbers above 0, at most 1", share));
        }
        self.check_what_rows_decide()?;
        self.run.validate()
    }

    /// Refuses settings of the run that every row would overwrite.
    fn check_what_rows_decide(&self) -> Result<()> {
        let CtSettings { projected, model, .. } = &self.run.settings;
        let (kind, schedule) = (self.run.train.parametrisation.kind, &self.run.train.schedule);
        let usual = Architecture::default();
        if model.architecture != usual {
            let expected = format!("\"{}\", for `networks` says which are trained", usual.name());
            return Err(Error::config("model.architecture", expected, format!("\"{}\"", model.architecture.name())));
        }
        if *projected {
            return Err(Error::config("projected", "false (the mode \"projected\" is a row of its own)", true));
        }
        if kind != Parametrisation::Residual {
            let expected = "\"residual\", which only the rows of RPP have";
            return Err(Error::config("train.parametrisation.kind", expected, format!("{kind:?}").to_lowercase()));
        }
        if !self.decay_at.is_empty() && (schedule.shape != Shape::Constant || !schedule.milestones.is_empty()) {
            let expected = "[], for `train.schedule` says how the learning rate falls";
            return Err(Error::config("decay_at", expected, format!("{:?}", self.decay_at)));
        }
        Ok(())
    }

    /// A model of a row.
    pub(super) fn model(&self, row: Row, seed: u64) -> CtRun {
        let mut run = self.run.clone();
        run.seed = seed;
        run.settings.model.architecture = row.network;
        run.penalty.norm = row.norm;
        if self.epochs.of(row.network) > 0 {
            run.train.epochs = self.epochs.of(row.network);
        }
        if self.sample_weight.of(row.network) > 0.0 {
            run.settings.sample.weight = self.sample_weight.of(row.network);
        }
        if row.mode == Mode::Sample {
            // As many images an epoch as the other rows.
            let data = &mut run.settings.data;
            data.steps = data.steps.saturating_mul(data.batch).div_ceil(self.sample_batch);
            data.batch = self.sample_batch;
        }
        let milestones = milestones(&self.decay_at, run.train.epochs);
        if !milestones.is_empty() {
            (run.train.schedule.shape, run.train.schedule.milestones) = (Shape::MultiStep, milestones);
        }
        row.mode.alone_in(&mut run);
        CtRun { row, run, drawn: seed == self.run.seed, shared: Default::default() }
    }
}

/// Epochs of these shares of all of them, increasing; those that are none of their own fall together.
pub(super) fn milestones(shares: &[f64], epochs: usize) -> Vec<usize> {
    let mut milestones: Vec<usize> = shares.iter().map(|share| (share * epochs as f64).round() as usize).collect();
    milestones.retain(|&epoch| epoch > 0 && epoch < epochs);
    milestones.sort_unstable();
    milestones.dedup();
    milestones
}
