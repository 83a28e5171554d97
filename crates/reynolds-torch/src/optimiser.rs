//! Adam and AdamW on one flat tensor.
//!
//! ```text
//! m ← β₁m + (1−β₁)g      v ← β₂v + (1−β₂)g²      w ← w − η (m/(1−β₁ᵗ)) / (√(v/(1−β₂ᵗ)) + ε)
//! ```
//!
//! A dozen element-wise operations a step for the whole network. AdamW shrinks w by 1 − ηλ first; Adam adds λw to g.

use serde::{Deserialize, Serialize};
use tch::Tensor;

use crate::error::{Error, Result, check_nonnegative, check_size};
use crate::numbers::Numbers;

/// The kind of weight decay.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Method {
    /// Added to the gradient.
    #[default]
    Adam,
    /// Decoupled from the gradient.
    AdamW,
}

/// Settings of [`Adam`]; the learning rate is given at each step.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct AdamConfig {
    /// `adam` (weight decay is added to the gradient) or `adamw` (decoupled weight decay).
    pub method: Method,
    /// β₁, decay of the mean gradient.
    pub beta1: f64,
    /// β₂, decay of the mean squared gradient.
    pub beta2: f64,
    /// ε, added to the root of the mean squared gradient.
    pub epsilon: f64,
    /// Strength of the weight decay.
    pub weight_decay: f64,
}

impl Default for AdamConfig {
    fn default() -> Self {
        Self { method: Method::Adam, beta1: 0.9, beta2: 0.999, epsilon: 1e-8, weight_decay: 0.0 }
    }
}

impl AdamConfig {
    /// # Errors
    /// [`Error::Setting`] if a β is not in [0, 1), ε is not above 0, or the decay is negative.
    pub fn validate(&self) -> Result<()> {
        for (what, beta) in [("beta1", self.beta1), ("beta2", self.beta2)] {
            if !(0.0..1.0).contains(&beta) {
                return Err(Error::setting(what, "a number from 0 up to, but not, 1", beta));
            }
        }
        if !(self.epsilon.is_finite() && self.epsilon > 0.0) {
            return Err(Error::setting("epsilon", "a finite number above 0", self.epsilon));
        }
        check_nonnegative("weight_decay", self.weight_decay)
    }
}

/// Adam with its two moments and the number of steps taken.
#[derive(Debug)]
pub struct Adam {
    config: AdamConfig,
    first: Tensor,
    second: Tensor,
    steps: i64,
    /// 1 − ηλ, √(1−β₂ᵗ) and −η/(1−β₁ᵗ) of the prepared step, in the type of the weights.
    numbers: Numbers,
}

impl Adam {
    /// Before the first step on `weights` `[len]`.
    pub fn new(config: AdamConfig, weights: &Tensor) -> Result<Self> {
        config.validate()?;
        let numbers = Numbers::of_kind(&[1.0, 1.0, 0.0], weights.kind(), weights.device())?;
        Ok(Self { config, first: weights.f_zeros_like()?, second: weights.f_zeros_like()?, steps: 0, numbers })
    }

    /// First moment, second moment, steps taken: the state of a checkpoint.
    pub fn state(&self) -> (&Tensor, &Tensor, i64) {
        (&self.first, &self.second, self.steps)
    }

    /// Takes a checkpoint's state over.
    pub fn restore(&mut self, first: &Tensor, second: &Tensor, steps: i64) -> Result<()> {
        check_size("first moment", &self.first, first)?;
        check_size("second moment", &self.first, second)?;
        if steps < 0 {
            return Err(Error::setting("steps", "at least 0", steps));
        }
        self.first.f_copy_(first)?;
        self.second.f_copy_(second)?;
        self.steps = steps;
        Ok(())
    }

    /// One step on `weights` along `gradient`, both `[len]`, in place.
    pub fn step(&mut self, weights: &mut Tensor, gradient: &Tensor, learning_rate: f64) -> Result<()> {
        self.prepare(learning_rate)?;
        self.step_prepared(weights, gradient).inspect_err(|_| self.steps -= 1)
    }

    /// The first half of [`Adam::step`]: writes the next step's rate and bias corrections to where the step reads them. Then a captured
    /// [`Adam::step_prepared`] can be replayed.
    pub fn prepare(&mut self, learning_rate: f64) -> Result<()> {
        let AdamConfig { beta1, beta2, weight_decay, .. } = self.config;
        self.steps += 1;
        let steps = self.steps as f64;
        let (correction1, correction2) = (1.0 - beta1.powf(steps), (1.0 - beta2.powf(steps)).sqrt());
        self.numbers.set(&[1.0 - learning_rate * weight_decay, correction2, -learning_rate / correction1])
    }

    /// The second half of [`Adam::step`].
    pub fn step_prepared(&mut self, weights: &mut Tensor, gradient: &Tensor) -> Result<()> {
        check_size("weights", &self.first, weights)?;
        check_size("gradient", &self.first, gradient)?;
        let _guard = tch::no_grad_guard();
        let AdamConfig { method, beta1, beta2, epsilon, weight_decay } = self.config;
        let [decay, correction2, rate] = [0, 1, 2].map(|nth| self.numbers.memory().get(nth));
        let mut gradient = gradient.shallow_clone();
        if weight_decay > 0.0 {
            match method {
                Method::Adam => gradient = gradient.f_add(&weights.f_mul_scalar(weight_decay)?)?,
                Method::AdamW => drop(weights.f_mul_(&decay)?),
            }
        }
        // m + (1−β₁)(g − m), as PyTorch rounds it.
        let _ = self.first.f_lerp_(&gradient, 1.0 - beta1)?;
        let _ = self.second.f_mul_scalar_(beta2)?.f_addcmul_(&gradient, &(&gradient * (1.0 - beta2)))?;
        let root = self.second.f_sqrt()?.f_div_(&correction2)?.f_add_scalar_(epsilon)?;
        let update = self.first.f_div(&root)?.f_mul_(&rate)?;
        let _ = weights.f_add_(&update)?;
        Ok(())
    }
}
