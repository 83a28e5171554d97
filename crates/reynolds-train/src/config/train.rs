//! `[train]`: the loop's own settings.

use reynolds_torch::Precision;
use reynolds_torch::optimiser::AdamConfig;
use reynolds_torch::parametrisation::ParametrisationConfig;
use reynolds_torch::tch::Device;
use serde::{Deserialize, Serialize};

use super::{above_zero, at_least_one, at_least_zero, within};
use crate::error::{Error, Result};
use crate::metrics::Best;
use crate::schedule::Schedule;

/// Which way a metric is better.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Mode {
    /// Lower is better.
    #[default]
    Min,
    /// Higher is better.
    Max,
}

/// Which weights are used for tests and figures.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Selection {
    /// Those after the last step.
    #[default]
    Last,
    /// Those of the best validation metric.
    Best,
}

/// When a run ends before its last epoch.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Rule {
    /// After `patience` evaluations in a row without a better one.
    #[default]
    Patience,
    /// After more than `after` epochs, when the mean of the last `window` evaluations is no better than that of the `window` before.
    Plateau,
}

/// Which weights are best, and when to stop.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct EarlyStopping {
    /// The validation metric that decides which weights are best; `""` keeps no best weights.
    pub metric: String,
    /// Whether `min` or `max` of it is better.
    pub mode: Mode,
    /// A second validation metric, lower is better, between evaluations equal in the first; `""`: the earlier one wins.
    pub ties: String,
    /// `patience`: stop after `patience` evaluations without a better one. `plateau`: after more than `after` epochs, stop when the mean of the
    /// last `window` evaluations is no better than that of the `window` before.
    pub rule: Rule,
    /// For `rule=patience`: evaluations without a better one; 0 = never stop.
    pub patience: usize,
    /// For `rule=plateau`: epochs before a plateau may end the run.
    pub after: usize,
    /// For `rule=plateau`: evaluations on each side of the comparison.
    pub window: usize,
    /// Smallest difference that counts as better.
    pub min_delta: f64,
}

impl Default for EarlyStopping {
    fn default() -> Self {
        Self {
            metric: "loss".into(),
            mode: Mode::Min,
            ties: String::new(),
            rule: Rule::Patience,
            patience: 0,
            after: 100,
            window: 5,
            min_delta: 0.0,
        }
    }
}

impl EarlyStopping {
    fn validate(&self, weights: Selection) -> Result<()> {
        at_least_zero("train.early_stopping.min_delta", self.min_delta)?;
        within("train.early_stopping.window", self.window, 1..=10_000)?;
        let wanted = [
            (self.patience > 0, "a metric (patience is set)"),
            (self.rule == Rule::Plateau, "a metric, for rule = \"plateau\""),
            (!self.ties.is_empty(), "a metric (ties is set)"),
            (weights == Selection::Best, "a metric, for weights = \"best\""),
        ];
        match wanted.into_iter().find(|(wanted, _)| *wanted && self.metric.is_empty()) {
            Some((_, expected)) => Err(Error::config("train.early_stopping.metric", expected, "\"\"")),
            None => Ok(()),
        }
    }

    /// Whether `value` beats `best`.
    fn improves(&self, value: f64, best: f64) -> bool {
        match self.mode {
            Mode::Min => value < best - self.min_delta,
            Mode::Max => value > best + self.min_delta,
        }
    }

    /// Whether an evaluation beats the best so far: by the metric, or at equal values by the second one.
    pub(crate) fn beats(&self, value: f64, tie: Option<f64>, best: &Best) -> bool {
        let equal_but_better = || value == best.value && tie.zip(best.tie).is_some_and(|(new, old)| new < old);
        self.improves(value, best.value) || equal_but_better()
    }

    /// Adds an evaluation to those that the rule uses, oldest first.
    pub(crate) fn remember(&self, recent: &mut Vec<f64>, value: f64) {
        if self.rule == Rule::Plateau {
            recent.push(value);
            recent.drain(..recent.len().saturating_sub(2 * self.window));
        }
    }

    /// Whether a run ends after `epochs`, with `stale` evaluations since the best and the `recent` ones.
    pub(crate) fn is_time(&self, epochs: usize, stale: usize, recent: &[f64]) -> bool {
        match self.rule {
            Rule::Patience => self.patience > 0 && stale >= self.patience,
            Rule::Plateau => {
                let mean = |values: &[f64]| values.iter().sum::<f64>() / values.len() as f64;
                let due = recent.len() == 2 * self.window && epochs > self.after;
                due && !self.improves(mean(&recent[self.window..]), mean(&recent[..self.window]))
            }
        }
    }
}

/// `[train]`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct TrainConfig {
    /// Passes over the data.
    pub epochs: usize,
    /// Learning rate before the schedule.
    pub learning_rate: f64,
    /// Minibatches whose gradients are averaged for one step of the optimiser.
    pub accumulate: usize,
    /// Largest Euclidean norm of the whole gradient, penalty included; 0 = no clipping.
    pub clip: f64,
    /// `f32`, or `bf16` on CUDA.
    pub precision: Precision,
    /// Epochs between two evaluations on the validation split; the last epoch always has one.
    pub evaluate_every: usize,
    /// Epochs between two checkpoints; the last epoch always has one.
    pub checkpoint_every: usize,
    /// Optimiser steps between checks of the loss for NaN; 0 = once an epoch. A check synchronises with the device.
    pub look_every: usize,
    /// Capture steps and evaluations on CUDA in CUDA graphs and replay them, so that small ones do not wait for launches; a step that cannot be captured says
    /// why.
    pub graph: bool,
    /// CPU threads; 0 = all.
    pub threads: usize,
    /// Weights for tests and figures: after the `last` step, or those `best` on validation.
    pub weights: Selection,
    /// Free, constrained or residual weights.
    pub parametrisation: ParametrisationConfig,
    /// Adam or AdamW.
    pub optimiser: AdamConfig,
    /// The learning rate over time.
    pub schedule: Schedule,
    /// The best weights, and when to stop.
    pub early_stopping: EarlyStopping,
}

impl Default for TrainConfig {
    fn default() -> Self {
        Self {
            epochs: 100,
            learning_rate: 1e-3,
            accumulate: 1,
            clip: 0.0,
            precision: Precision::F32,
            evaluate_every: 1,
            checkpoint_every: 10,
            look_every: 0,
            graph: true,
            threads: 0,
            weights: Selection::Last,
            parametrisation: ParametrisationConfig::default(),
            optimiser: AdamConfig::default(),
            schedule: Schedule::default(),
            early_stopping: EarlyStopping::default(),
        }
    }
}

impl TrainConfig {
    /// Checks ranges.
    pub fn validate(&self) -> Result<()> {
        at_least_one("train.epochs", self.epochs)?;
        at_least_one("train.accumulate", self.accumulate)?;
        at_least_one("train.evaluate_every", self.evaluate_every)?;
        at_least_one("train.checkpoint_every", self.checkpoint_every)?;
        above_zero("train.learning_rate", self.learning_rate)?;
        at_least_zero("train.clip", self.clip)?;
        if self.threads > 1024 {
            return Err(Error::config("train.threads", "at most 1024", self.threads));
        }
        self.optimiser.validate().map_err(|error| under("train.optimiser", error))?;
        self.parametrisation.validate().map_err(|error| under("train.parametrisation", error))?;
        self.schedule.validate()?;
        self.early_stopping.validate(self.weights)
    }

    /// Refuses bf16 on anything but CUDA.
    pub fn check_device(&self, device: Device) -> Result<()> {
        self.precision.check(device).map_err(|error| under("train", error))
    }
}

/// Adds the dotted key of the table to an error about one of its settings.
pub fn under(table: &str, error: reynolds_torch::Error) -> Error {
    match error {
        reynolds_torch::Error::Setting { what, expected, found } => {
            Error::config(format!("{table}.{what}"), expected, found)
        }
        other => other.into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The epoch after which a run with these evaluations ends.
    fn ends(stopping: &EarlyStopping, values: &[f64]) -> Option<usize> {
        let mut recent = Vec::new();
        values.iter().enumerate().map(|(number, value)| (number + 1, *value)).find_map(|(epochs, value)| {
            stopping.remember(&mut recent, value);
            stopping.is_time(epochs, 0, &recent).then_some(epochs)
        })
    }

    #[test]
    fn a_plateau_is_two_windows_of_which_the_later_is_no_better() {
        let stopping = |after: usize, mode: Mode| EarlyStopping {
            rule: Rule::Plateau,
            after,
            window: 2,
            mode,
            ..EarlyStopping::default()
        };
        // Means of two: (5, 4 | 3, 2), (4, 3 | 2, 4), (3, 2 | 4, 3): the third is the first that is no better.
        let values = [5.0, 4.0, 3.0, 2.0, 4.0, 3.0, 1.0, 0.0];
        assert_eq!(ends(&stopping(0, Mode::Min), &values), Some(6));
        // More than so many epochs must be done; by then it falls again.
        assert_eq!(ends(&stopping(6, Mode::Min), &values), None);
        let negated = values.map(|value| -value);
        assert_eq!(ends(&stopping(5, Mode::Max), &negated), Some(6));
        // Equal means are a plateau, and no run ends before there are two windows.
        assert_eq!(ends(&stopping(0, Mode::Min), &[1.0; 4]), Some(4));
        assert_eq!(ends(&stopping(0, Mode::Min), &[1.0; 3]), None);
    }

    #[test]
    fn patience_is_the_rule_unless_another_is_asked_for() {
        let stopping = EarlyStopping { patience: 2, ..EarlyStopping::default() };
        assert!(!stopping.is_time(500, 1, &[1.0; 10]) && stopping.is_time(1, 2, &[]));
        assert!(!EarlyStopping::default().is_time(500, 400, &[1.0; 10]));
    }
}
