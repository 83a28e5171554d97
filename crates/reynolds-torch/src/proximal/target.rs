//! A residual ‖W − P(W)‖/‖W‖ in place of a strength.

use std::rc::Rc;

use reynolds::proximal::Target;
use tch::{Kind, Tensor};

use super::{Rescaling, Rule};
use crate::binding::Binding;
use crate::error::{Error, Result, check_nonnegative, check_size};
use crate::numbers::Numbers;

/// Which residual is at most τ.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Scope {
    /// That of every bound parameter.
    #[default]
    Layer,
    /// That of all bound parameters together.
    Network,
}

/// Keeps ‖W − P(W)‖ ≤ τ‖W‖ after every step: W − P(W) is scaled down, P(W) stays.
#[derive(Debug)]
pub struct TargetStep {
    binding: Rc<Binding>,
    target: Target,
    scope: Scope,
    /// Rate of the dual update; `None` scales W − P(W) down instead.
    rate: Option<f64>,
    strengths: Tensor,
    /// η of the prepared step.
    step: Numbers,
}

impl TargetStep {
    /// # Errors
    /// [`Error::Parameter`] if P has rank 0 on a parameter, or, with [`Scope::Network`], on all: nothing is equivariant there but W = 0.
    pub fn new(binding: impl Into<Rc<Binding>>, target: Target, scope: Scope) -> Result<Self> {
        let binding = binding.into();
        let strengths = zeros(&binding, scope)?;
        let step = Numbers::new(&[0.0], binding.device())?;
        Ok(Self { binding, target, scope, rate: None, strengths, step })
    }

    /// Reaches the same residual by a strength that starts at 0, grows while the residual is above τ and falls while it is below: a control
    /// beside the scaling, after arXiv 2505.13631.
    ///
    /// ```text
    /// λ_⊥ ← max(0, λ_⊥ + rate · (‖W − P(W)‖/‖W‖ − τ)),   then W ← P(W) + (W − P(W)) / (1 + 2ηλ_⊥)
    /// ```
    ///
    /// # Errors
    /// [`Error::Setting`] unless the rate is a finite number above 0.
    pub fn by_dual(self, rate: f64) -> Result<Self> {
        if rate.is_finite() && rate > 0.0 {
            return Ok(Self { rate: Some(rate), ..self });
        }
        Err(Error::setting("rate of the dual update", "a finite number above 0", rate))
    }

    /// Whether [`TargetStep::by_dual`] was asked for.
    pub fn is_dual(&self) -> bool {
        self.rate.is_some()
    }

    /// The step with the step size η on the parameters `flat` `[len]`, in place; does not synchronise. The result depends on η with
    /// [`TargetStep::by_dual`] alone, else only [`TargetStep::strengths`] do.
    ///
    /// # Errors
    /// [`Error::Setting`] if η is negative or not finite, or `flat` is not a tensor of these parameters.
    pub fn apply(&mut self, flat: &mut Tensor, step: f64) -> Result<()> {
        self.prepare(step)?;
        self.apply_prepared(flat)
    }

    /// The first half of [`TargetStep::apply`], as [`super::ProximalStep::prepare`].
    pub fn prepare(&mut self, step: f64) -> Result<()> {
        check_nonnegative("step size", step)?;
        self.step.set(&[step])
    }

    /// The second half of [`TargetStep::apply`].
    pub fn apply_prepared(&mut self, flat: &mut Tensor) -> Result<()> {
        let (network, strengths, step) = (self.scope == Scope::Network, &self.strengths, &self.step);
        let rule = match self.rate {
            None => Rule::Target { slope: self.target.slope(), step, network, strengths },
            Some(rate) => Rule::Dual { tau: self.target.tau(), rate, step, network, strengths },
        };
        self.binding.rescale(flat, &Rescaling::ByRule(&rule))
    }

    /// The λ_⊥ of each bound parameter, `[count]` in double precision, on the device: that of the dual update, or the one of the squared form
    /// that the last step amounts to, (1/s − 1)/2η, which is infinite at s = 0 and means nothing at η = 0.
    pub fn strengths(&self) -> &Tensor {
        &self.strengths
    }

    /// Takes the strengths of a checkpoint over.
    ///
    /// # Errors
    /// [`Error::Setting`] if the number of parameters differs.
    pub fn restore(&mut self, strengths: &Tensor) -> Result<()> {
        check_size("strengths", &self.strengths, strengths)?;
        self.strengths.f_copy_(strengths)?;
        Ok(())
    }
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
