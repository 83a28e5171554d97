//! The settings of the SO(2) figures: how many seeds, and those of the run that each model is.

use reynolds_train::config::{RunConfig, Settings, at_least_one};
use reynolds_train::error::Result;
use reynolds_train::experiment::Experiment;
use serde::{Deserialize, Serialize};

use super::{PlaneData, PlaneExperiment, PlaneSettings};
use crate::targets::Budget;

/// `seeds`, and every key of `reynolds run so2` or `reynolds run rings`. A figure sets itself what it varies, such as λ.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(bound = "D: PlaneData")]
pub struct FigureSettings<D: PlaneData> {
    /// Number of models of each kind, with consecutive seeds from `seed` on.
    pub seeds: u64,
    #[serde(flatten)]
    pub run: RunConfig<PlaneSettings<D>>,
}

impl<D: PlaneData> Settings for FigureSettings<D> {
    fn validate(&self) -> Result<()> {
        at_least_one("seeds", self.seeds as usize)?;
        self.run.validate()
    }

    fn renamed() -> &'static [(&'static str, &'static str)] {
        &[("epochs", "train.epochs")]
    }
}

impl<D: PlaneData> FigureSettings<D> {
    /// Seeds by the budget, all else as a run has it.
    pub fn of_budget(budget: Budget) -> Self {
        Self { seeds: budget.seeds(), run: PlaneExperiment::new().defaults() }
    }

    /// From `seed` on.
    pub fn all_seeds(&self) -> std::ops::Range<u64> {
        self.run.seed..self.run.seed.saturating_add(self.seeds)
    }
}
