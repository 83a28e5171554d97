//! The settings of the MedMNIST targets: what a table lists, and every key of `reynolds run medmnist`.

use reynolds_train::config::{self, RunConfig, Settings, at_least_one};
use reynolds_train::error::{Error, Result};
use reynolds_train::experiment::Experiment;
use serde::{Deserialize, Serialize};

use super::volume_run::VolumeRun;
use crate::medmnist::networks::Symmetry;
use crate::medmnist::rows::{Row, Strengths};
use crate::medmnist::sets::Set;
use crate::medmnist::{MedBench, MedExperiment, MedSettings};
use crate::targets::{Chosen, Numbers};

/// Keys that were called otherwise; those that a target has still are not looked up here.
const RENAMED: &[(&str, &str)] = &[
    ("epochs", "train.epochs"),
    ("precision", "train.precision"),
    ("learning_rates", "train.learning_rate"),
    ("batch", "data.batch"),
    ("train_batch", "data.batch"),
    ("width", "model.width"),
    ("nonlinearity", "model.nonlinearity"),
    ("form", "penalty.form"),
    ("lambda_g", "penalty.lambda_g"),
    ("data.train", "data.shapes.train"),
    ("data.validation", "data.shapes.validation"),
    ("data.test", "data.shapes.test"),
    ("data.breaking", "data.shapes.breaking"),
    ("data.noise", "data.shapes.noise"),
    ("data.seed", "data.shapes.seed"),
];

const STRENGTHS: &str = "finite numbers, at least 0";

/// In which order strengths are tried.
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
pub(crate) struct TableSettings {
    pub(super) sets: Chosen<Set>,
    pub(super) rows: Chosen<Row>,
    /// Models of each kind, with consecutive seeds from `seed` on.
    pub(super) seeds: u64,
    /// What is tried on sets that the paper has no strengths for.
    pub(super) tuning: Tuning,
    pub(super) learning_rates: Numbers,
    pub(super) lambda_g: Numbers,
    pub(super) lambda_perp: Numbers,
    #[serde(flatten)]
    pub(super) run: RunConfig<MedSettings>,
}

/// Of `fig-sensitivity`; `train.learning_rate` is that of sets that the paper has none for.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct SensitivitySettings {
    pub(super) sets: Chosen<Set>,
    pub(super) groups: Chosen<Symmetry>,
    pub(super) seeds: u64,
    pub(super) lambda_g: Numbers,
    pub(super) lambda_perp: Numbers,
    #[serde(flatten)]
    pub(super) run: RunConfig<MedSettings>,
}

/// Of `fig-shapes`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct ShapesSettings {
    pub(super) groups: Chosen<Symmetry>,
    pub(super) seeds: u64,
    /// How far the symmetry is broken, from 0 to 1.
    pub(super) breakings: Numbers,
    pub(super) lambda_perp: Numbers,
    #[serde(flatten)]
    pub(super) run: RunConfig<MedSettings>,
}

/// Of `table-medmnist-efficiency`; `data.batch` is that of training.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct EfficiencySettings {
    pub(super) rows: Chosen<Row>,
    /// Volumes that are evaluated together.
    pub(super) inference_batch: usize,
    pub(super) classes: usize,
    /// Steps that are measured, and those before.
    pub(super) steps: usize,
    pub(super) warmup: usize,
    #[serde(flatten)]
    pub(super) run: RunConfig<MedSettings>,
}

impl Settings for TableSettings {
    fn validate(&self) -> Result<()> {
        at_least_one("seeds", self.seeds as usize)?;
        self.learning_rates.all("learning_rates", "finite numbers above 0", |rate| rate > 0.0)?;
        self.lambda_g.all("lambda_g", STRENGTHS, |lambda| lambda >= 0.0)?;
        self.lambda_perp.all("lambda_perp", STRENGTHS, |lambda| lambda >= 0.0)?;
        let listed = [("data.set", "sets"), ("model.architecture", "rows"), ("model.group", "rows")];
        let tuned = [
            ("train.learning_rate", "learning_rates"),
            ("penalty.lambda_g", "lambda_g"),
            ("penalty.lambda_perp", "lambda_perp"),
        ];
        set_by_target(&self.run, &[listed, tuned].concat())?;
        for set in self.sets.iter() {
            for row in self.rows.iter() {
                VolumeRun::new(&self.run, set, row, self.first(row)[0]).config.validate()?;
            }
        }
        Ok(())
    }

    fn check_kind(&self, defaults: &Self) -> Result<()> {
        self.run.check_kind(&defaults.run)
    }

    fn check_parts(tree: &reynolds_train::config::Tree) -> Result<()> {
        RunConfig::<MedSettings>::check_parts(tree)
    }

    fn renamed() -> &'static [(&'static str, &'static str)] {
        RENAMED
    }
}

impl Settings for SensitivitySettings {
    fn validate(&self) -> Result<()> {
        at_least_one("seeds", self.seeds as usize)?;
        self.lambda_g.all("lambda_g", STRENGTHS, |lambda| lambda >= 0.0)?;
        self.lambda_perp.all("lambda_perp", STRENGTHS, |lambda| lambda >= 0.0)?;
        let own = [("data.set", "sets"), ("model.architecture", "ours"), ("model.group", "groups")];
        let lists = [("penalty.lambda_g", "lambda_g"), ("penalty.lambda_perp", "lambda_perp")];
        set_by_target(&self.run, &[&own[..], &lists].concat())?;
        let run = |set, group| VolumeRun::new(&self.run, set, Row::ours(group), self.strengths(set, group)[0]);
        self.maps().into_iter().try_for_each(|(set, group)| run(set, group).config.validate())
    }

    fn check_kind(&self, defaults: &Self) -> Result<()> {
        self.run.check_kind(&defaults.run)
    }

    fn check_parts(tree: &reynolds_train::config::Tree) -> Result<()> {
        RunConfig::<MedSettings>::check_parts(tree)
    }

    fn renamed() -> &'static [(&'static str, &'static str)] {
        RENAMED
    }
}

impl Settings for ShapesSettings {
    fn validate(&self) -> Result<()> {
        at_least_one("seeds", self.seeds as usize)?;
        self.breakings.all("breakings", "numbers from 0 to 1", |breaking| (0.0..=1.0).contains(&breaking))?;
        self.lambda_perp.all("lambda_perp", STRENGTHS, |lambda| lambda >= 0.0)?;
        set_by_target(
            &self.run,
            &[
                ("data.set", "shapes"),
                ("data.shapes.breaking", "breakings"),
                ("model.architecture", "ours and the SCNN"),
                ("model.group", "groups"),
                ("penalty.lambda_perp", "lambda_perp"),
            ],
        )?;
        self.run.validate()
    }

    fn check_kind(&self, defaults: &Self) -> Result<()> {
        self.run.check_kind(&defaults.run)
    }

    fn check_parts(tree: &reynolds_train::config::Tree) -> Result<()> {
        RunConfig::<MedSettings>::check_parts(tree)
    }

    fn renamed() -> &'static [(&'static str, &'static str)] {
        RENAMED
    }
}

impl Settings for EfficiencySettings {
    fn validate(&self) -> Result<()> {
        if !(2..=4096).contains(&self.inference_batch) {
            return Err(Error::config("inference_batch", "from 2 to 4096", self.inference_batch));
        }
        let listed = [("model.architecture", "rows"), ("model.group", "rows")];
        let strengths = ["train.learning_rate", "penalty.lambda_g", "penalty.lambda_perp"];
        set_by_target(&self.run, &[&listed[..], &strengths.map(|key| (key, "rows"))].concat())?;
        self.rows.iter().try_for_each(|row| self.bench(row).validate())
    }

    fn check_kind(&self, defaults: &Self) -> Result<()> {
        self.run.check_kind(&defaults.run)
    }

    fn check_parts(tree: &reynolds_train::config::Tree) -> Result<()> {
        RunConfig::<MedSettings>::check_parts(tree)
    }

    fn renamed() -> &'static [(&'static str, &'static str)] {
        RENAMED
    }
}

impl EfficiencySettings {
    /// What is measured of a row, at the minibatch of training.
    pub(super) fn bench(&self, row: Row) -> MedBench {
        let run = row.run(&self.run, row.measured_strengths());
        let Self { classes, steps, warmup, .. } = *self;
        MedBench { classes, steps, warmup, pairs: 0, without_penalty: false, run }
    }
}

impl ShapesSettings {
    /// Of the SCNN, and of ours with this λ_⊥.
    pub(super) fn strengths(&self, lambda_perp: f64) -> Strengths {
        let (learning_rate, lambda_g) = (self.run.train.learning_rate, self.run.penalty.lambda_g);
        Strengths { learning_rate, lambda_g, lambda_perp }
    }
}

/// Refuses settings of a run that would change nothing, for the target sets them: keys, and what decides them.
fn set_by_target(run: &RunConfig<MedSettings>, keys: &[(&str, &str)]) -> Result<()> {
    for (key, value) in config::changed(run, &MedExperiment.defaults()) {
        if let Some((_, by)) = keys.iter().find(|(other, _)| *other == key) {
            return Err(Error::config(key, format!("its default, for the target sets it ({by})"), value));
        }
    }
    Ok(())
}

/// What a reader is shown: the target's own keys, the epochs, and what differs from a run's defaults.
pub(super) fn shown<S: Settings>(settings: &S) -> Vec<(String, String)> {
    let usual = config::lines(&MedExperiment.defaults());
    let lines = config::lines(settings).into_iter();
    lines.filter(|line| line.0 == "train.epochs" || !usual.contains(line)).collect()
}
