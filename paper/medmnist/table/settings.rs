//! The settings of the MedMNIST targets: their own keys, and every key of `reynolds run medmnist`.

use super::*;
use crate::targets::refuse_set;
use reynolds_train::config::{self, Settings, at_least_one, within};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct TargetSettings<O> {
    #[serde(flatten)]
    pub(super) own: O,
    #[serde(flatten)]
    pub(super) run: RunConfig<MedSettings>,
}

pub(crate) trait Own: Serialize + DeserializeOwned + Clone + PartialEq + std::fmt::Debug + Sync {
    /// Keys of a run that the target sets, and which of its own decide them.
    const SETS: &'static [(&'static str, &'static str)];

    /// Checks these keys, and the runs that come of them.
    fn check(&self, run: &RunConfig<MedSettings>) -> Result<()>;
}

impl<O: Own> Settings for TargetSettings<O> {
    fn validate(&self) -> Result<()> {
        refuse_set(&self.run, &MedExperiment.defaults(), O::SETS)?;
        self.own.check(&self.run)
    }

    /// Not looked up for keys that the target has.
    fn renamed() -> &'static [(&'static str, &'static str)] {
        &[
            ("epochs", "train.epochs"),
            ("precision", "train.precision"),
            ("learning_rates", "train.learning_rate"),
            ("batch", "data.batch"),
            ("train_batch", "data.batch"),
            ("width", "model.width"),
            ("classes", "data.set"),
            ("nonlinearity", "model.nonlinearity"),
            ("form", "penalty.form"),
            ("lambda_g", "penalty.lambda_g"),
            ("data.train", "data.shapes.train"),
            ("data.validation", "data.shapes.validation"),
            ("data.test", "data.shapes.test"),
            ("data.breaking", "data.shapes.breaking"),
            ("data.noise", "data.shapes.noise"),
            ("data.seed", "data.shapes.seed"),
        ]
    }
}

impl<O: Own> TargetSettings<O> {
    /// The target's own keys, the epochs, and what differs from the defaults of a run.
    pub(super) fn shown(&self) -> Vec<(String, String)> {
        let usual = config::lines(&MedExperiment.defaults());
        let lines = config::lines(self).into_iter();
        lines.filter(|line| line.0 == "train.epochs" || !usual.contains(line)).collect()
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Tuning {
    /// Learning rates first, then λ at the best of them.
    Staged,
    /// All of both.
    Grid,
}

/// Of `table-medmnist` and `fig-confusion`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct Table {
    pub(super) sets: Chosen<Set>,
    pub(super) rows: Chosen<Row>,
    /// Models of each kind, with consecutive seeds from `seed` on.
    pub(super) seeds: u64,
    /// On sets without published strengths, as are the lists below.
    pub(super) tuning: Tuning,
    pub(super) learning_rates: Numbers,
    pub(super) lambda_g: Numbers,
    pub(super) lambda_perp: Numbers,
}

/// Of `fig-sensitivity`; `train.learning_rate` is that of sets without a published one.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct Sensitivity {
    pub(super) sets: Chosen<Set>,
    pub(super) groups: Chosen<Symmetry>,
    pub(super) seeds: u64,
    pub(super) lambda_g: Numbers,
    pub(super) lambda_perp: Numbers,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct Shapes {
    pub(super) groups: Chosen<Symmetry>,
    pub(super) seeds: u64,
    pub(super) breakings: Numbers,
    pub(super) lambda_perp: Numbers,
}

/// Of `table-medmnist-efficiency`; `data.batch` is that of training.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct Efficiency {
    pub(super) rows: Chosen<Row>,
    /// Minibatch of an evaluation.
    pub(super) inference_batch: usize,
    /// Steps measured, and steps before them.
    pub(super) steps: usize,
    pub(super) warmup: usize,
}

impl Own for Table {
    const SETS: &'static [(&'static str, &'static str)] = &[
        ("data.set", "sets"),
        ("model.architecture", "rows"),
        ("model.group", "rows"),
        ("train.learning_rate", "learning_rates"),
        ("penalty.lambda_g", "lambda_g"),
        ("penalty.lambda_perp", "lambda_perp"),
    ];

    fn check(&self, run: &RunConfig<MedSettings>) -> Result<()> {
        at_least_one("seeds", self.seeds as usize)?;
        self.learning_rates.all("learning_rates", "finite numbers above 0", |rate| rate > 0.0)?;
        not_negative(&[("lambda_g", &self.lambda_g), ("lambda_perp", &self.lambda_perp)])?;
        let all = self.sets.iter().flat_map(|set| self.rows.iter().map(move |row| (set, row)));
        all.map(|(set, row)| VolumeRun::new(run, set, row, self.first(row)[0]))
            .try_for_each(|run| run.config.validate())
    }
}

impl Own for Sensitivity {
    const SETS: &'static [(&'static str, &'static str)] = &[
        ("data.set", "sets"),
        ("model.architecture", "ours"),
        ("model.group", "groups"),
        ("penalty.lambda_g", "lambda_g"),
        ("penalty.lambda_perp", "lambda_perp"),
    ];

    fn check(&self, run: &RunConfig<MedSettings>) -> Result<()> {
        at_least_one("seeds", self.seeds as usize)?;
        not_negative(&[("lambda_g", &self.lambda_g), ("lambda_perp", &self.lambda_perp)])?;
        self.models(run).iter().try_for_each(|run| run.config.validate())
    }
}

impl Own for Shapes {
    const SETS: &'static [(&'static str, &'static str)] = &[
        ("data.set", "shapes"),
        ("data.shapes.breaking", "breakings"),
        ("model.architecture", "ours and the SCNN"),
        ("model.group", "groups"),
        ("penalty.lambda_perp", "lambda_perp"),
    ];

    fn check(&self, run: &RunConfig<MedSettings>) -> Result<()> {
        at_least_one("seeds", self.seeds as usize)?;
        self.breakings.all("breakings", "numbers from 0 to 1", |breaking| (0.0..=1.0).contains(&breaking))?;
        not_negative(&[("lambda_perp", &self.lambda_perp)])?;
        run.validate()
    }
}

impl Own for Efficiency {
    const SETS: &'static [(&'static str, &'static str)] = &[
        ("model.architecture", "rows"),
        ("model.group", "rows"),
        ("train.learning_rate", "rows"),
        ("penalty.lambda_g", "rows"),
        ("penalty.lambda_perp", "rows"),
    ];

    fn check(&self, run: &RunConfig<MedSettings>) -> Result<()> {
        within("inference_batch", self.inference_batch, 2..=4096)?;
        self.rows.iter().try_for_each(|row| self.bench(run, row).validate())
    }
}

fn not_negative(lambdas: &[(&str, &Numbers)]) -> Result<()> {
    let from_zero = |lambda| lambda >= 0.0;
    lambdas.iter().try_for_each(|(key, lambdas)| lambdas.all(key, "finite numbers, at least 0", from_zero))
}

/// λ_G × λ_⊥ at one learning rate, by λ_G, then λ_⊥ increasing.
pub(super) fn grid(learning_rate: f64, lambda_g: &Numbers, lambda_perp: &Numbers) -> Vec<Strengths> {
    let perps = lambda_perp.increasing();
    let of = |&lambda_g: &f64| perps.iter().map(move |&lambda_perp| Strengths { learning_rate, lambda_g, lambda_perp });
    lambda_g.as_slice().iter().flat_map(of).collect()
}
