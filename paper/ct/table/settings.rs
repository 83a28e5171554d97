//! The settings of the CT targets: their own keys beside those of `reynolds run ct`, and the runs that are made of them.
//!
//! ```text
//! table-ct     Modes + Costs + Training { seeds, networks, …, run: every key of a run }
//! table-norms  Norms + Costs + Training
//! fig-ct       Modes         + Training
//! ```
//!
//! The run has the settings of every mode at once; a model of a row is a clone of it that keeps those of its own mode.

use reynolds::norm::Norm;
use reynolds_torch::Precision;
use reynolds_torch::parametrisation::Parametrisation;
use reynolds_train::config::{self, RunConfig, Settings, at_least_one, at_least_zero, part};
use reynolds_train::error::{Error, Result};
use reynolds_train::experiment::Experiment;
use reynolds_train::schedule::Shape;
use serde::{Deserialize, Serialize};

use super::row::{Mode, NETWORKS, PerNetwork, Row};
use super::run::CtRun;
use crate::ct::networks::Architecture;
use crate::ct::{CtExperiment, CtSettings};
use crate::targets::{Chosen, Named};

/// Old keys of all three targets.
const RENAMED: &[(&str, &str)] = &[
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

/// The rows of `table-ct` and `fig-ct`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct Modes {
    pub(super) modes: Chosen<Mode>,
}

/// The rows of `table-norms`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct Norms {
    pub(super) norms: Chosen<Norm>,
}

/// No costs: a figure has none.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct Free {}

/// All settings of a target.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct TargetSettings<Rows, Costs> {
    #[serde(flatten)]
    pub(super) rows: Rows,
    #[serde(flatten)]
    pub(super) costs: Costs,
    #[serde(flatten)]
    pub(super) training: Training,
}

impl Settings for Training {
    fn validate(&self) -> Result<()> {
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

    fn check_kind(&self, defaults: &Self) -> Result<()> {
        self.run.check_kind(&defaults.run)
    }

    fn check_parts(tree: &toml::Table) -> Result<()> {
        RunConfig::<CtSettings>::check_parts(tree)?;
        part::<Self>(tree, |_| true).map(drop)
    }

    fn renamed() -> &'static [(&'static str, &'static str)] {
        RENAMED
    }
}

impl Training {
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
            return Err(Error::config("projected", "false, for the mode \"projected\" is a row of its own", true));
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

    /// From `seed` on.
    pub(super) fn all_seeds(&self) -> std::ops::Range<u64> {
        self.run.seed..self.run.seed.saturating_add(self.seeds)
    }

    /// These modes of every network, with the norm of the projection penalty.
    fn rows(&self, modes: &[Mode]) -> Vec<(Row, Norm)> {
        let norm = self.run.penalty.norm;
        let of = |network: Architecture| modes.iter().map(move |&mode| (Row { network, mode }, norm));
        self.networks.iter().flat_map(of).collect()
    }

    /// A model of a row; the norm is that of the projection penalty.
    pub(super) fn model(&self, row: Row, norm: Norm, seed: u64) -> CtRun {
        let mut run = self.run.clone();
        run.seed = seed;
        run.settings.model.architecture = row.network;
        run.penalty.norm = norm;
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

    /// Those of these lines that a reader is shown: the target's own, without networks that are not asked for, and what differs from the
    /// defaults of the experiment.
    pub(super) fn shown(&self, lines: Vec<(String, String)>) -> Vec<(String, String)> {
        let of_run: Vec<String> = config::lines(&self.run).into_iter().map(|(key, _)| key).collect();
        let changed = config::changed(&self.run, &CtExperiment.defaults());
        let asked = |key: &str| {
            let named = NETWORKS.into_iter().find(|network| key.ends_with(&format!(".{}", network.name())));
            named.is_none_or(|network| self.networks.contains(network))
        };
        let own = |line: &(String, String)| !of_run.contains(&line.0) && asked(&line.0);
        lines.into_iter().filter(|line| own(line) || changed.contains(line)).collect()
    }
}

impl Settings for Costs {
    fn validate(&self) -> Result<()> {
        if !self.efficiency {
            return Ok(());
        }
        at_least_one("measured_side", self.measured_side)?;
        at_least_one("measured_steps", self.measured_steps)?;
        let batches = &self.measured_batches;
        if batches.is_empty() || batches[0] == 0 || !batches.is_sorted_by(|a, b| a < b) {
            return Err(Error::config("measured_batches", "increasing numbers, at least 1", format!("{batches:?}")));
        }
        Ok(())
    }
}

impl Settings for Modes {}
impl Settings for Norms {}
impl Settings for Free {}

impl<Rows: Settings, Costs: Settings> Settings for TargetSettings<Rows, Costs> {
    fn validate(&self) -> Result<()> {
        self.rows.validate()?;
        self.costs.validate()?;
        self.training.validate()
    }

    fn check_kind(&self, defaults: &Self) -> Result<()> {
        self.training.check_kind(&defaults.training)
    }

    fn check_parts(tree: &toml::Table) -> Result<()> {
        Training::check_parts(tree)?;
        part::<Rows>(tree, |_| true)?;
        part::<Costs>(tree, |_| true).map(drop)
    }

    fn renamed() -> &'static [(&'static str, &'static str)] {
        RENAMED
    }
}

impl TargetSettings<Modes, Costs> {
    /// The rows that are asked for, network by network.
    pub(super) fn rows(&self) -> Vec<(Row, Norm)> {
        self.training.rows(self.rows.modes.as_slice())
    }
}

impl TargetSettings<Modes, Free> {
    /// The rows that are asked for and the plain ones, whose models keep what every network sees.
    pub(super) fn rows(&self) -> Vec<(Row, Norm)> {
        let with_plain = |mode: &Mode| *mode == Mode::Plain || self.rows.modes.contains(*mode);
        self.training.rows(&Mode::ALL.iter().copied().filter(with_plain).collect::<Vec<_>>())
    }
}

impl TargetSettings<Norms, Costs> {
    /// Each network without the penalty, then every norm.
    pub(super) fn rows(&self) -> Vec<(Row, Norm)> {
        let of = |network: Architecture| {
            let plain = (Row { network, mode: Mode::Plain }, Norm::Frobenius);
            let norms = self.rows.norms.iter().map(move |norm| (Row { network, mode: Mode::Penalty }, norm));
            std::iter::once(plain).chain(norms)
        };
        self.training.networks.iter().flat_map(of).collect()
    }
}

/// Epochs of these shares of all of them, increasing; those that are none of their own fall together.
fn milestones(shares: &[f64], epochs: usize) -> Vec<usize> {
    let mut milestones: Vec<usize> = shares.iter().map(|share| (share * epochs as f64).round() as usize).collect();
    milestones.retain(|&epoch| epoch > 0 && epoch < epochs);
    milestones.sort_unstable();
    milestones.dedup();
    milestones
}
