//! λ_⊥ that grows while a network trains.
//!
//! ```text
//! λ_⊥(t) = λ_⊥ · f(t),   f from `start` at t = 0 to 1 at t = `epochs`, then 1
//! linear:  f(t) = start + (1 − start) t/epochs
//! cosine:  f(t) = start + (1 − start) (1 − cos(π t/epochs))/2
//! ```
//!
//! ```
//! use reynolds_torch::anneal::{Anneal, Shape};
//! let anneal = Anneal { shape: Shape::Linear, start: 0.5, epochs: 10.0 };
//! assert_eq!([0.0, 5.0, 10.0, 99.0].map(|t| anneal.factor(t)), [0.5, 0.75, 1.0, 1.0]);
//! ```

use std::f64::consts::PI;

use serde::{Deserialize, Serialize};

use crate::error::{Error, Result, check_nonnegative};

/// The shape of the growth.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Shape {
    /// 1 throughout.
    #[default]
    Constant,
    /// At an even rate.
    Linear,
    /// Slowly, fast, slowly.
    Cosine,
}

/// The factor on λ_⊥ over time.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Anneal {
    /// λ_⊥ over the epochs: `constant`, or `linear` or `cosine` from `start`·λ_⊥ to λ_⊥.
    pub shape: Shape,
    /// The factor on λ_⊥ at the beginning, usually from 0 to 1; above 1 it falls.
    pub start: f64,
    /// Epochs until λ_⊥ has its full strength.
    pub epochs: f64,
}

impl Default for Anneal {
    fn default() -> Self {
        Self { shape: Shape::Constant, start: 0.0, epochs: 0.0 }
    }
}

impl Anneal {
    /// # Errors
    /// [`Error::Setting`] if `start` or `epochs` is negative or not finite, or a shape that grows is given no epochs.
    pub fn validate(&self) -> Result<()> {
        for (what, value) in [("start", self.start), ("epochs", self.epochs)] {
            check_nonnegative(what, value)?;
        }
        if self.shape != Shape::Constant && self.epochs == 0.0 {
            return Err(Error::setting("epochs", "a number above 0 where the shape is not constant", self.epochs));
        }
        Ok(())
    }

    /// f(t) at `time` in epochs, parts of an epoch included.
    pub fn factor(&self, time: f64) -> f64 {
        let part = (time / self.epochs).clamp(0.0, 1.0);
        match self.shape {
            Shape::Constant => 1.0,
            _ if time >= self.epochs => 1.0,
            Shape::Linear => self.start + (1.0 - self.start) * part,
            Shape::Cosine => self.start + (1.0 - self.start) * 0.5 * (1.0 - (PI * part).cos()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_cosine_is_half_way_at_half_time_and_a_constant_is_one() {
        let anneal = Anneal { shape: Shape::Cosine, start: 0.2, epochs: 8.0 };
        // (1 − cos(π/4))/2 of the way at a quarter of the time.
        for (time, way) in [(0.0, 0.0), (4.0, 0.5), (2.0, 0.146_446_609_406_726_24), (8.0, 1.0)] {
            assert!((anneal.factor(time) - (0.2 + 0.8 * way)).abs() < 1e-15);
            assert_eq!(Anneal::default().factor(time), 1.0);
        }
    }

    #[test]
    fn a_growing_factor_needs_epochs() {
        let valid = |shape, start, epochs| Anneal { shape, start, epochs }.validate().is_ok();
        assert!(valid(Shape::Cosine, 0.0, 1.0) && !valid(Shape::Linear, 0.0, 0.0));
        assert!(!valid(Shape::Linear, -0.1, 1.0) && !valid(Shape::Linear, f64::NAN, 1.0));
    }
}
