//! The settings of the CT targets as the budgets have them, and the run of each row.
//!
//! ```text
//! table-ct     modes + Costs + seeds, networks, …, run: every key of `reynolds run ct`
//! table-norms  norms + Costs + the same
//! fig-ct       modes         + the same
//! ```
//!
//! The run has the settings of every mode at once; the model of a row keeps those of its own mode.

use std::collections::BTreeMap;
use std::ops::Range;

use super::row::{Mode, Row};
use super::run::CtRun;
use crate::ct::modes::sample_weight;
use crate::ct::networks::Architecture;
use crate::ct::{CtExperiment, CtSettings};
use crate::targets::{Budget, Chosen, Named, refuse_set};
use reynolds::norm::Norm;
use reynolds::penalty::Form;
use reynolds_torch::Precision;
use reynolds_train::config::{self, RunConfig, Settings, at_least_one, at_least_zero};
use reynolds_train::error::{Error, Result};
use reynolds_train::experiment::Experiment;
use reynolds_train::schedule::{Schedule, Shape};
use serde::{Deserialize, Serialize};

/// Former keys of all three targets.
pub(super) const RENAMED: &[(&str, &str)] = &[
    ("steps", "data.steps"),
    ("batch", "data.batch"),
    ("patch", "data.patch"),
    ("learning_rate", "train.learning_rate"),
    ("precision", "train.precision"),
    ("stages", "model.stages"),
    ("blocks", "model.blocks"),
    ("held", "model.regularised"),
    ("lambda_perp", "penalty.lambda_perp"),
    ("form", "penalty.form"),
    ("rpp", "train.parametrisation"),
    ("rpp.equivariant", "train.parametrisation.lambda_equivariant"),
    ("rpp.residual", "train.parametrisation.lambda_residual"),
];

/// Settings of a run that every row overwrites, and the key of the target that decides them.
const OF_ROWS: [(&str, &str); 3] =
    [("model.architecture", "networks"), ("projected", "modes"), ("train.parametrisation.kind", "modes")];

/// The measurement of costs.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct Costs {
    /// Whether costs are measured; `None` for a target that has none of these keys.
    pub(super) efficiency: Option<bool>,
    /// Pixels along a side of an image.
    pub(super) measured_side: usize,
    pub(super) measured_steps: usize,
    /// Images of a minibatch, increasing.
    pub(super) measured_batches: Vec<usize>,
    pub(super) measured_precision: Precision,
    /// Whether the sample-based penalty is measured at every batch, not only at the smallest.
    pub(super) sample_at_largest: bool,
}

/// All settings of a target.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct TargetSettings {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) modes: Option<Chosen<Mode>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) norms: Option<Chosen<Norm>>,
    #[serde(flatten, skip_serializing_if = "Costs::is_none")]
    pub(super) costs: Costs,
    /// Models of each row, with consecutive seeds from `seed` on.
    pub(super) seeds: u64,
    pub(super) networks: Chosen<Architecture>,
    /// Images of a minibatch of the sample-based rows, which have as many images an epoch as the others.
    pub(super) sample_batch: usize,
    /// The learning rate falls at these shares of the epochs; none = as `train.schedule` says.
    pub(super) decay_at: Vec<f64>,
    /// Of a network that is trained longer or shorter than the others; 0 = `train.epochs`.
    pub(super) epochs: BTreeMap<Architecture, usize>,
    /// Of a network with a weight of its own; 0 = `sample.weight`.
    pub(super) sample_weight: BTreeMap<Architecture, f64>,
    #[serde(flatten)]
    pub(super) run: RunConfig<CtSettings>,
}

/// `table-ct`: three networks in five modes, each mode with its published strength.
pub(super) fn table(budget: Budget) -> TargetSettings {
    let mut run = CtExperiment.defaults();
    [Mode::Sample, Mode::Rpp, Mode::Penalty].iter().for_each(|mode| mode.add_to(&mut run));
    run.train.schedule = Schedule { gamma: run.train.schedule.gamma, ..Schedule::default() };
    let data = &mut run.settings.data;
    let (seeds, sample_batch, decay_at, dicdnet, measured);
    match budget {
        Budget::Quick => {
            (data.side, data.train, data.validation, data.test) = (64, 48, 8, 16);
            (data.steps, data.batch, data.patch, run.train.epochs) = (25, 4, 32, 4);
            (seeds, sample_batch, decay_at, dicdnet, measured) = (1, 4, vec![0.75], 0, (32, 2));
        }
        Budget::Standard => {
            (data.side, data.train, data.validation, data.test) = (256, 240, 16, 60);
            (data.steps, data.batch, data.patch, run.train.epochs) = (100, 16, 64, 4);
            (seeds, sample_batch, decay_at, dicdnet, measured) = (1, 16, vec![0.6, 0.8, 0.9], 15, (256, 20));
        }
        Budget::Full => {
            (data.side, data.train, data.validation, data.test) = (512, 6000, 60, 200);
            (data.steps, data.batch, data.patch, run.train.epochs) = (500, 12, 256, 80);
            (seeds, sample_batch, decay_at, dicdnet, measured) = (3, 4, vec![0.625], 0, (256, 50));
        }
    }
    let costs = Costs {
        efficiency: Some(true),
        measured_side: measured.0,
        measured_steps: measured.1,
        measured_batches: vec![4, 12],
        measured_precision: Precision::F32,
        sample_at_largest: true,
    };
    TargetSettings {
        modes: Some(Chosen::all()),
        norms: None,
        costs,
        seeds,
        networks: Chosen::all(),
        sample_batch,
        decay_at,
        epochs: Architecture::ALL.into_iter().zip([0, dicdnet, 0]).collect(),
        sample_weight: Architecture::ALL.into_iter().zip([sample_weight(Architecture::Acdnet), 0.0, 0.0]).collect(),
        run,
    }
}

/// `table-norms`: DICDNet under every norm, not squared, as in the paper's ablation.
pub(super) fn norms(budget: Budget) -> TargetSettings {
    let networks = Chosen::new(&[Architecture::Dicdnet]);
    let mut settings = TargetSettings { modes: None, norms: Some(Chosen::all()), networks, ..table(budget) };
    settings.run.penalty.form = Form::Plain;
    settings
}

/// `fig-ct`: the modes that the paper shows.
pub(super) fn figure(budget: Budget) -> TargetSettings {
    let modes = Some(Chosen::new(&[Mode::Plain, Mode::Sample, Mode::Penalty]));
    TargetSettings { modes, costs: Costs::default(), ..table(budget) }
}

impl Costs {
    fn is_none(&self) -> bool {
        self.efficiency.is_none()
    }
}

impl Settings for TargetSettings {
    fn validate(&self) -> Result<()> {
        if let Some(costs) = self.measured() {
            at_least_one("measured_side", costs.measured_side)?;
            at_least_one("measured_steps", costs.measured_steps)?;
            let batches = &costs.measured_batches;
            if batches.is_empty() || batches[0] == 0 || !batches.is_sorted_by(|a, b| a < b) {
                return Err(Error::config(
                    "measured_batches",
                    "increasing numbers, at least 1",
                    format!("{batches:?}"),
                ));
            }
        }
        at_least_one("seeds", self.seeds as usize)?;
        at_least_one("sample_batch", self.sample_batch)?;
        for (network, &weight) in &self.sample_weight {
            at_least_zero(&format!("sample_weight.{}", network.name()), weight)?;
        }
        if let Some(share) = self.decay_at.iter().find(|share| !(**share > 0.0 && **share <= 1.0)) {
            return Err(Error::config("decay_at", "numbers above 0, at most 1", share));
        }
        refuse_set(&self.run, &table(Budget::Quick).run, &OF_ROWS)?;
        if self.norms.is_some() {
            refuse_set(&self.run, &table(Budget::Quick).run, &[("penalty.norm", "norms")])?;
        }
        let schedule = &self.run.train.schedule;
        if !self.decay_at.is_empty() && (schedule.shape != Shape::Constant || !schedule.milestones.is_empty()) {
            let expected = "[], for `train.schedule` says how the learning rate falls";
            return Err(Error::config("decay_at", expected, format!("{:?}", self.decay_at)));
        }
        self.run.validate()
    }

    fn renamed() -> &'static [(&'static str, &'static str)] {
        RENAMED
    }
}

impl TargetSettings {
    /// Whether this is the figure, whose plain models keep what every network sees.
    fn is_figure(&self) -> bool {
        self.costs.is_none()
    }

    /// Network by network: its modes, or itself without the penalty and then under every norm.
    pub(super) fn rows(&self) -> Vec<Row> {
        let is_asked = |modes: &Chosen<Mode>, mode| modes.contains(mode) || self.is_figure() && mode == Mode::Plain;
        let mut ways: Vec<(Mode, Norm)> = Vec::new();
        if let Some(modes) = &self.modes {
            let asked = Mode::ALL.iter().filter(|mode| is_asked(modes, **mode));
            ways.extend(asked.map(|&mode| (mode, self.run.penalty.norm)));
        }
        if let Some(norms) = &self.norms {
            ways.push((Mode::Plain, Norm::default()));
            ways.extend(norms.iter().map(|norm| (Mode::Penalty, norm)));
        }
        let of = |network| ways.iter().map(move |&(mode, norm)| Row { network, mode, norm });
        self.networks.iter().flat_map(of).collect()
    }

    /// Seeds of each row; of a figure the first alone.
    pub(super) fn seeds(&self) -> Range<u64> {
        let (first, count) = (self.run.seed, if self.is_figure() { 1 } else { self.seeds });
        first..first.saturating_add(count)
    }

    /// What is measured, if anything.
    pub(super) fn measured(&self) -> Option<&Costs> {
        Some(&self.costs).filter(|costs| costs.efficiency == Some(true))
    }

    /// What a reader is shown: the target's own keys, without networks that are not asked for, and what differs from the defaults of the
    /// experiment.
    pub(super) fn shown(&self) -> Vec<(String, String)> {
        let of_run: Vec<String> = config::lines(&self.run).into_iter().map(|(key, _)| key).collect();
        let changed = config::changed(&self.run, &CtExperiment.defaults());
        let is_asked = |key: &str| {
            let named = Architecture::ALL.into_iter().find(|network| key.ends_with(&format!(".{}", network.name())));
            named.is_none_or(|network| self.networks.contains(network))
        };
        let is_own = |line: &(String, String)| !of_run.contains(&line.0) && is_asked(&line.0);
        config::lines(self).into_iter().filter(|line| is_own(line) || changed.contains(line)).collect()
    }

    /// A model of a row.
    pub(super) fn model(&self, row: Row, seed: u64) -> CtRun {
        let mut run = self.run.clone();
        run.seed = seed;
        run.settings.model.architecture = row.network;
        run.penalty.norm = row.norm;
        if let Some(&epochs) = self.epochs.get(&row.network).filter(|epochs| **epochs > 0) {
            run.train.epochs = epochs;
        }
        if let Some(&weight) = self.sample_weight.get(&row.network).filter(|weight| **weight > 0.0) {
            run.settings.sample.weight = weight;
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

/// The epochs at these shares of all of them, increasing, each once; without the first and the last.
pub(super) fn milestones(shares: &[f64], epochs: usize) -> Vec<usize> {
    let mut milestones: Vec<usize> = shares.iter().map(|share| (share * epochs as f64).round() as usize).collect();
    milestones.retain(|&epoch| epoch > 0 && epoch < epochs);
    milestones.sort_unstable();
    milestones.dedup();
    milestones
}
