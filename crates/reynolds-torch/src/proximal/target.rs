//! A residual ‖W − P(W)‖/‖W‖ in place of a strength.

use std::rc::Rc;

use reynolds::proximal::Target;
use tch::{Kind, Tensor};

use super::{Rescaling, Rule, check_step};
use crate::binding::Binding;
use crate::error::{Error, Result};

/// Of what the residual is at most τ.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Scope {
    /// Of every bound parameter.
    #[default]
    Layer,
    /// Of all of them together.
    Network,
}

/// Keeps ‖W − P(W)‖ ≤ τ‖W‖ after every step: W − P(W) is scaled down, P(W) stays.
#[derive(Debug)]
pub struct TargetStep {
    binding: Rc<Binding>,
    target: Target,
    scope: Scope,
    strengths: Tensor,
}

impl TargetStep {
    /// # Errors
    /// [`Error::Parameter`] if P has rank 0 on a parameter, or, with [`Scope::Network`], on all: nothing is equivariant there but W = 0.
    pub fn new(binding: impl Into<Rc<Binding>>, target: Target, scope: Scope) -> Result<Self> {
        let binding = binding.into();
        let strengths = zeros(&binding, scope)?;
        Ok(Self { binding, target, scope, strengths })
    }

    /// The parameters that are kept near equivariance.
    pub fn binding(&self) -> &Rc<Binding> {
        &self.binding
    }

    /// The step on the parameters `flat` `[len]`, in place; does not synchronise. The step size η is for [`TargetStep::strengths`] alone.
    ///
    /// # Errors
    /// [`Error::Setting`] if η is negative or not finite, or `flat` is not a tensor of these parameters.
    pub fn apply(&mut self, flat: &Tensor, step: f64) -> Result<()> {
        check_step(step)?;
        let (slope, network) = (self.target.slope(), self.scope == Scope::Network);
        let rule = Rule::Target { slope, step, network, strengths: &self.strengths };
        self.binding.rescale(flat, &Rescaling::ByRule(&rule))
    }

    /// The λ_⊥ of the squared form that the last step amounts to for each bound parameter, (1/s − 1)/2η: `[count]` in double precision, on
    /// the device. Infinite where s = 0; without meaning at η = 0.
    pub fn strengths(&self) -> &Tensor {
        &self.strengths
    }

    /// Takes the strengths of a checkpoint over.
    ///
    /// # Errors
    /// [`Error::Setting`] if they are not those of as many parameters.
    pub fn restore(&mut self, strengths: &Tensor) -> Result<()> {
        restore(&self.strengths, strengths)
    }
}

/// Reaches the same residual by a strength that grows while the residual is above τ and falls while it is below.
///
/// ```text
/// λ_⊥ ← max(0, λ_⊥ + rate · (‖W − P(W)‖/‖W‖ − τ)),   then W ← P(W) + (W − P(W)) / (1 + 2ηλ_⊥)
/// ```
///
/// A control beside [`TargetStep`], after arXiv 2505.13631.
#[derive(Debug)]
pub struct DualStep {
    binding: Rc<Binding>,
    target: Target,
    scope: Scope,
    rate: f64,
    strengths: Tensor,
}

impl DualStep {
    /// From λ_⊥ = 0.
    ///
    /// # Errors
    /// As [`TargetStep::new`]; [`Error::Setting`] unless the rate is a finite number above 0.
    pub fn new(binding: impl Into<Rc<Binding>>, target: Target, scope: Scope, rate: f64) -> Result<Self> {
        if !(rate.is_finite() && rate > 0.0) {
            return Err(Error::setting("rate of the dual update", "a finite number above 0", rate));
        }
        let binding = binding.into();
        let strengths = zeros(&binding, scope)?;
        Ok(Self { binding, target, scope, rate, strengths })
    }

    /// The parameters that are regularised.
    pub fn binding(&self) -> &Rc<Binding> {
        &self.binding
    }

    /// The update of λ_⊥ and the step with the step size η on the parameters `flat` `[len]`, in place; does not synchronise.
    ///
    /// # Errors
    /// [`Error::Setting`] if η is negative or not finite, or `flat` is not a tensor of these parameters.
    pub fn apply(&mut self, flat: &Tensor, step: f64) -> Result<()> {
        check_step(step)?;
        let (tau, rate, network) = (self.target.tau(), self.rate, self.scope == Scope::Network);
        let rule = Rule::Dual { tau, rate, step, network, strengths: &self.strengths };
        self.binding.rescale(flat, &Rescaling::ByRule(&rule))
    }

    /// λ_⊥ of each bound parameter: `[count]` in double precision, on the device.
    pub fn strengths(&self) -> &Tensor {
        &self.strengths
    }

    /// Takes a checkpoint's λ_⊥ over.
    ///
    /// # Errors
    /// [`Error::Setting`] if it is not that of as many parameters.
    pub fn restore(&mut self, strengths: &Tensor) -> Result<()> {
        restore(&self.strengths, strengths)
    }
}

fn restore(ours: &Tensor, strengths: &Tensor) -> Result<()> {
    if strengths.size() != ours.size() {
        return Err(Error::setting("strengths", format!("{:?}", ours.size()), format!("{:?}", strengths.size())));
    }
    ours.shallow_clone().f_copy_(strengths)?;
    Ok(())
}

/// A strength of 0 for every parameter, if each can be brought to a residual below 1.
fn zeros(binding: &Binding, scope: Scope) -> Result<Tensor> {
    let bound = binding.bound();
    let dead = bound.iter().find(|bound| bound.rank == 0);
    if let Some(dead) = dead.filter(|_| scope == Scope::Layer || bound.iter().all(|bound| bound.rank == 0)) {
        let expected = "a projection of rank at least 1 under a target";
        return Err(Error::parameter(&dead.entry.name, expected, "rank 0"));
    }
    Ok(Tensor::f_zeros([bound.len() as i64], (Kind::Double, binding.device()))?)
}
