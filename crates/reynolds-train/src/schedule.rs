//! The learning rate over time.
//!
//! ```text
//! e = epochs done, E = epochs in all, η = learning_rate
//! constant      η
//! multi_step    η γ^(number of milestones ≤ e)
//! exponential   η γ^e
//! cosine        η_min + (η − η_min)(1 + cos(π e/E))/2
//! ```
//!
//! Each changes at the end of an epoch. Over the first `warmup_steps` steps of the optimiser all are multiplied by (s + 1)/warmup_steps,
//! s = 0, 1, …

use std::f64::consts::PI;

use serde::{Deserialize, Serialize};

use crate::config::{above_zero, at_least_zero};
use crate::error::{Error, Result};

/// One of the formulas above.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Shape {
    /// η.
    #[default]
    Constant,
    /// A factor γ at each milestone.
    MultiStep,
    /// A factor γ at each epoch.
    Exponential,
    /// Half a cosine, from η to the minimum.
    Cosine,
}

/// `[train.schedule]`. A shape uses only the keys of its formula.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Schedule {
    /// Learning rate: `constant`, `multi_step` (times `gamma` at each of `milestones`), `exponential` (times `gamma` an epoch), `cosine` (down
    /// to `minimum`).
    pub shape: Shape,
    /// For `shape=multi_step`: epochs, increasing.
    pub milestones: Vec<usize>,
    /// For `shape=multi_step` and `exponential`: the factor.
    pub gamma: f64,
    /// For `shape=cosine`: the learning rate at the end.
    pub minimum: f64,
    /// Optimiser steps over which the learning rate rises from 0; 0 = none.
    pub warmup_steps: usize,
}

impl Default for Schedule {
    fn default() -> Self {
        Self { shape: Shape::Constant, milestones: Vec::new(), gamma: 0.1, minimum: 0.0, warmup_steps: 0 }
    }
}

impl Schedule {
    /// Checks ranges.
    pub fn validate(&self) -> Result<()> {
        above_zero("train.schedule.gamma", self.gamma)?;
        at_least_zero("train.schedule.minimum", self.minimum)?;
        if !self.milestones.is_sorted_by(|a, b| a < b) {
            let found = format!("{:?}", self.milestones);
            return Err(Error::config("train.schedule.milestones", "increasing epochs", found));
        }
        if self.shape == Shape::MultiStep && self.milestones.is_empty() {
            return Err(Error::config("train.schedule.milestones", "at least one for the shape multi_step", "none"));
        }
        Ok(())
    }

    /// The learning rate in epoch `epoch` of `epochs`, both counted from 0, at the optimiser's step `step` of the whole run, from 0.
    pub fn rate(&self, base: f64, epoch: usize, epochs: usize, step: usize) -> f64 {
        let rate = match self.shape {
            Shape::Constant => base,
            Shape::MultiStep => base * power(self.gamma, self.milestones.iter().filter(|&&at| at <= epoch).count()),
            Shape::Exponential => base * power(self.gamma, epoch),
            Shape::Cosine => {
                let part = epoch as f64 / epochs.max(1) as f64;
                self.minimum + (base - self.minimum) * 0.5 * (1.0 + (PI * part).cos())
            }
        };
        if step < self.warmup_steps { rate * (step + 1) as f64 / self.warmup_steps as f64 } else { rate }
    }
}

fn power(base: f64, exponent: usize) -> f64 {
    base.powf(exponent as f64)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rates<const N: usize>(schedule: &Schedule, base: f64, epochs: usize, of: [usize; N]) -> [f64; N] {
        of.map(|epoch| schedule.rate(base, epoch, epochs, 0))
    }

    #[test]
    fn rates_follow_the_formula_of_their_shape() {
        let close = |found: [f64; 4], expected: [f64; 4]| {
            let near = found.iter().zip(expected).all(|(a, b)| (a - b).abs() <= 1e-15 * b.abs().max(1.0));
            assert!(near, "{found:?} {expected:?}");
        };
        let schedule = Schedule { shape: Shape::MultiStep, milestones: vec![3, 5], gamma: 0.5, ..Schedule::default() };
        assert_eq!(rates(&schedule, 0.8, 7, [0, 1, 2, 3, 4, 5, 6]), [0.8, 0.8, 0.8, 0.4, 0.4, 0.2, 0.2]);
        let schedule = Schedule { shape: Shape::Exponential, gamma: 0.9, ..Schedule::default() };
        close(rates(&schedule, 0.1, 50, [0, 1, 2, 5]), [0.1, 0.09, 0.081, 0.059049]);
        // cos(π/3) = 1/2: three quarters of the way up.
        let schedule = Schedule { shape: Shape::Cosine, minimum: 0.01, ..Schedule::default() };
        close(rates(&schedule, 0.1, 90, [0, 30, 45, 90]), [0.1, 0.01 + 0.09 * 0.75, 0.055, 0.01]);
        // Warm-up rises by equal steps to the full rate.
        let schedule = Schedule { warmup_steps: 4, ..Schedule::default() };
        assert_eq!([0, 1, 2, 3, 4].map(|step| schedule.rate(1.0, 0, 1, step)), [0.25, 0.5, 0.75, 1.0, 1.0]);
    }
}
