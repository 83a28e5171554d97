//! What the loop adds to the gradient of the task loss, once per step of the optimiser.

use reynolds_torch::Penalty;
use reynolds_torch::tch::Tensor;

use crate::error::Result;

/// A penalty on the flat parameters with a gradient of its own.
pub trait Regulariser {
    /// Adds the gradient at `flat` to `gradient`, both `[len]`, in place. Never waits for the device.
    fn add_gradient(&self, flat: &Tensor, gradient: &mut Tensor) -> Result<()>;

    /// The penalty at `flat`, a scalar on the device: asked for once an epoch.
    fn value(&self, flat: &Tensor) -> Result<Tensor>;

    /// λ_⊥ from now on; an error if it is negative or not finite.
    fn set_lambda_perp(&mut self, lambda_perp: f64) -> Result<()>;
}

impl Regulariser for Penalty {
    fn add_gradient(&self, flat: &Tensor, gradient: &mut Tensor) -> Result<()> {
        Ok(Penalty::add_gradient(self, flat, gradient)?)
    }

    fn value(&self, flat: &Tensor) -> Result<Tensor> {
        Ok(Penalty::value(self, flat)?)
    }

    fn set_lambda_perp(&mut self, lambda_perp: f64) -> Result<()> {
        Ok(Penalty::set_lambda_perp(self, lambda_perp)?)
    }
}
