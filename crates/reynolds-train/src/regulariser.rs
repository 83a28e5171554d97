//! What `[penalty]` does in a step of the loop: a gradient beside that of the task loss, or a change of the weights afterwards.

use std::collections::BTreeMap;

use reynolds_torch::tch::{self, Kind, Tensor};
use reynolds_torch::{Parameters, Penalty};

use crate::config::{PenaltySettings, PenaltyStep};
use crate::decoupled::Decoupled;
use crate::error::Result;
use crate::task::{Metrics, Task};

/// A penalty on parameters with a gradient of its own.
pub trait Regulariser {
    /// Adds the gradient to `gradient`, flat `[len]`, in place; does not synchronise.
    fn add_gradient(&self, parameters: &Parameters, gradient: &mut Tensor) -> Result<()>;

    /// The penalty, a 0-d tensor.
    fn value(&self, parameters: &Parameters) -> Result<Tensor>;

    /// Changes λ_⊥; an error if it is negative or not finite.
    fn set_lambda_perp(&mut self, lambda_perp: f64) -> Result<()>;

    /// Whether a step that was captured in a CUDA graph sees later changes of λ_⊥; if not, it is captured again after each.
    fn reads_memory(&self) -> bool {
        false
    }
}

impl Regulariser for Penalty {
    fn add_gradient(&self, parameters: &Parameters, gradient: &mut Tensor) -> Result<()> {
        Ok(Penalty::add_gradient(self, parameters.flat(), gradient)?)
    }

    fn value(&self, parameters: &Parameters) -> Result<Tensor> {
        Ok(Penalty::value(self, parameters.flat())?)
    }

    fn set_lambda_perp(&mut self, lambda_perp: f64) -> Result<()> {
        Ok(Penalty::set_lambda_perp(self, lambda_perp)?)
    }

    fn reads_memory(&self) -> bool {
        Penalty::reads_memory(self)
    }
}

/// All that `[penalty]` does in a step of the optimiser.
pub struct Regularisation {
    gradient: Option<Box<dyn Regulariser>>,
    after: Option<Decoupled>,
}

impl Regularisation {
    /// What the settings ask for; `None` if the task has no regularised parameters.
    ///
    /// # Errors
    /// [`crate::Error::Config`] for a decoupled step or a target where the regularised weights are no parameters themselves.
    pub fn new(task: &dyn Task, settings: &PenaltySettings) -> Result<Option<Self>> {
        let decoupled = settings.step == PenaltyStep::Decoupled;
        let (mut gradient, mut after) = (None, None);
        if settings.has_strength() && !decoupled {
            gradient = task.regulariser(settings.penalty())?;
            if gradient.is_none() {
                return Ok(None);
            }
        }
        if decoupled || settings.has_target() {
            let Some(binding) = task.binding()? else {
                if task.regulariser(settings.penalty())?.is_some() {
                    settings.check_assembled()?;
                }
                return Ok(None);
            };
            after = Some(Decoupled::new(binding, settings)?);
        }
        Ok(Some(Self { gradient, after }))
    }

    /// λ_⊥ from now on.
    pub fn set_lambda_perp(&mut self, lambda_perp: f64) -> Result<()> {
        if let Some(gradient) = &mut self.gradient {
            gradient.set_lambda_perp(lambda_perp)?;
        }
        self.after.as_mut().map_or(Ok(()), |after| after.set_lambda_perp(lambda_perp))
    }

    /// λ_⊥ and the learning rate of the next step, before its first operation.
    pub fn prepare(&mut self, lambda_perp: f64, rate: f64) -> Result<()> {
        self.set_lambda_perp(lambda_perp)?;
        self.after.as_mut().map_or(Ok(()), |after| after.prepare(rate))
    }

    /// What a captured step has of λ_⊥ and the learning rate for good: only whether they are 0 where it reads them from memory.
    pub(crate) fn baked(&self, lambda_perp: f64, rate: f64) -> [f64; 2] {
        let is_set = |number: f64| f64::from(u8::from(number != 0.0));
        let gradient = self.gradient.as_ref().is_none_or(|gradient| gradient.reads_memory());
        let after = self.after.as_ref().is_none_or(Decoupled::reads_memory);
        let lambda_perp = if gradient && after { is_set(lambda_perp) } else { lambda_perp };
        [lambda_perp, if after { is_set(rate) } else { rate }]
    }

    /// Before the optimiser's step: adds the gradient to `gradient`, flat `[len]`, in place. Does not synchronise.
    pub fn add_gradient(&self, parameters: &Parameters, gradient: &mut Tensor) -> Result<()> {
        let _guard = tch::no_grad_guard();
        self.gradient.as_ref().map_or(Ok(()), |regulariser| regulariser.add_gradient(parameters, gradient))
    }

    /// After the optimiser's step with the prepared learning rate: changes `flat` `[len]` in place. Does not synchronise.
    pub fn after_step(&mut self, flat: &mut Tensor) -> Result<()> {
        self.after.as_mut().map_or(Ok(()), |after| after.apply(flat))
    }

    /// The penalty, a 0-d tensor in double precision; `None` if there is a target alone.
    pub(crate) fn value(&self, parameters: &Parameters) -> Result<Option<Tensor>> {
        let _guard = tch::no_grad_guard();
        match (&self.gradient, &self.after) {
            (Some(gradient), _) => Ok(Some(gradient.value(parameters)?.f_to_kind(Kind::Double)?)),
            (None, Some(after)) => {
                let on_device = |value| Tensor::f_full([0_i64; 0], value, (Kind::Double, parameters.device()));
                Ok(after.value(parameters.flat())?.map(on_device).transpose()?)
            }
            (None, None) => Ok(None),
        }
    }

    /// What a record has beside the penalty, after a step with this learning rate.
    pub(crate) fn metrics(&self, flat: &Tensor, rate: f64) -> Result<Metrics> {
        self.after.as_ref().map_or(Ok(Metrics::new()), |after| after.metrics(flat, rate))
    }

    /// Parameters that are exactly equivariant since this step.
    pub(crate) fn exact_since(&self) -> Result<BTreeMap<String, usize>> {
        self.after.as_ref().map_or(Ok(BTreeMap::new()), Decoupled::exact_since)
    }

    /// What a checkpoint keeps.
    pub(crate) fn state(&self) -> BTreeMap<String, Tensor> {
        self.after.as_ref().map(Decoupled::state).unwrap_or_default()
    }

    /// Takes the state of a checkpoint over, after this many steps.
    pub(crate) fn restore(&mut self, state: &BTreeMap<String, Tensor>, steps: i64) -> Result<()> {
        self.after.as_mut().map_or(Ok(()), |after| after.restore(state, steps))
    }
}
