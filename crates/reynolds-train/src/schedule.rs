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
//!
//! ```
//! use reynolds_train::schedule::{Schedule, Shape};
//! let schedule = Schedule { shape: Shape::MultiStep, milestones: vec![2, 4], gamma: 0.1, ..Schedule::default() };
//! assert_eq!(schedule.rate(1.0, 1, 10, 0), 1.0);
//! assert_eq!(schedule.rate(1.0, 2, 10, 0), 0.1);
//! ```

use std::f64::consts::PI;

use serde::{Deserialize, Serialize};

use crate::config::at_least_zero;
use crate::error::{Error, Result};

/// Which formula.
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

/// `[train.schedule]`. A shape looks only at the keys of its formula.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Schedule {
    /// "constant", "multi_step", "exponential" or "cosine".
    pub shape: Shape,
    /// Epochs, increasing.
    pub milestones: Vec<usize>,
    /// γ.
    pub gamma: f64,
    /// η_min.
    pub minimum: f64,
    /// Steps of the optimiser over which the rate rises to its full height; 0 = none.
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
        if !(self.gamma.is_finite() && self.gamma > 0.0) {
            return Err(Error::config("train.schedule.gamma", "a finite number above 0", self.gamma));
        }
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

    fn close(a: f64, b: f64) {
        assert!((a - b).abs() <= 1e-15 * b.abs().max(1.0), "{a} {b}");
    }

    #[test]
    fn multi_step_falls_at_each_milestone() {
        let schedule = Schedule { shape: Shape::MultiStep, milestones: vec![3, 5], gamma: 0.5, ..Schedule::default() };
        let rates: Vec<f64> = (0..7).map(|epoch| schedule.rate(0.8, epoch, 7, 0)).collect();
        assert_eq!(rates, [0.8, 0.8, 0.8, 0.4, 0.4, 0.2, 0.2]);
    }

    #[test]
    fn exponential_is_a_geometric_series() {
        let schedule = Schedule { shape: Shape::Exponential, gamma: 0.9, ..Schedule::default() };
        let mut expected = 0.1;
        for epoch in 0..50 {
            close(schedule.rate(0.1, epoch, 50, 0), expected);
            expected *= 0.9;
        }
    }

    #[test]
    fn cosine_starts_at_the_rate_and_ends_at_the_minimum() {
        let schedule = Schedule { shape: Shape::Cosine, minimum: 0.01, ..Schedule::default() };
        close(schedule.rate(0.1, 0, 100, 0), 0.1);
        close(schedule.rate(0.1, 50, 100, 0), 0.055);
        // cos(π/3) = 1/2: three quarters of the way up.
        close(schedule.rate(0.1, 30, 90, 0), 0.01 + 0.09 * 0.75);
        close(schedule.rate(0.1, 100, 100, 0), 0.01);
    }

    #[test]
    fn warm_up_rises_by_equal_steps_to_the_full_rate() {
        let schedule = Schedule { warmup_steps: 4, ..Schedule::default() };
        let rates: Vec<f64> = (0..6).map(|step| schedule.rate(1.0, 0, 1, step)).collect();
        assert_eq!(rates, [0.25, 0.5, 0.75, 1.0, 1.0, 1.0]);
    }

    #[test]
    fn milestones_out_of_order_are_an_error_that_shows_them() {
        let schedule = Schedule { milestones: vec![5, 3], ..Schedule::default() };
        let message = schedule.validate().unwrap_err().to_string();
        assert_eq!(message, "config: train.schedule.milestones: expected increasing epochs, found [5, 3]");
    }
}
