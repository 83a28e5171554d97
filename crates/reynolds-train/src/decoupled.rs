//! What `[penalty]` does to the weights after the optimiser's step.
//!
//! ```text
//! step = "decoupled"   W ← prox(W) of η times the penalty, η the learning rate of that step
//! target = τ           W ← P(W) + s (W − P(W)) with the largest s ≤ 1 that keeps ‖W − P(W)‖ ≤ τ‖W‖
//! ```

use std::collections::BTreeMap;
use std::rc::Rc;

use reynolds::penalty::Form;
use reynolds::proximal::{Proximal, Target};
use reynolds_torch::proximal::{ProximalStep, Scope, TargetStep};
use reynolds_torch::tch::Tensor;
use reynolds_torch::{Binding, Error as MethodError};

use crate::config::{PenaltySettings, PenaltyStep, TargetBy};
use crate::error::{Error, Result};
use crate::task::Metrics;

/// The decoupled penalty and the target of a run.
#[derive(Debug)]
pub(crate) struct Decoupled {
    binding: Rc<Binding>,
    /// With the factor of each parameter on its strengths.
    penalty: Option<(ProximalStep, Vec<f64>)>,
    target: Option<TargetStep>,
    scope: Scope,
}

impl Decoupled {
    pub(crate) fn new(binding: Rc<Binding>, settings: &PenaltySettings) -> Result<Self> {
        // Names are checked where there is no strength to multiply, too.
        let factors = layer_factors(&binding, settings)?;
        let mut penalty = None;
        if settings.step == PenaltyStep::Decoupled && settings.has_strength() {
            let proximal = Proximal::new(settings.penalty())?;
            let proximal = if settings.scale { proximal } else { proximal.unscaled() };
            let both: Vec<[f64; 2]> = factors.iter().map(|&factor| [factor; 2]).collect();
            penalty = Some((ProximalStep::new(binding.clone(), proximal)?.per_layer(&both)?, factors));
        }
        let mut target = None;
        if let Some(tau) = settings.target {
            let step = TargetStep::new(binding.clone(), Target::new(tau)?, settings.target_scope)?;
            target = Some(match settings.target_by {
                TargetBy::Scaling => step,
                TargetBy::Dual => step.by_dual(settings.target_rate)?,
            });
        }
        Ok(Self { binding, penalty, target, scope: settings.target_scope })
    }

    pub(crate) fn set_lambda_perp(&mut self, lambda_perp: f64) -> Result<()> {
        match &mut self.penalty {
            Some((step, _)) => Ok(step.set_lambda_perp(lambda_perp)?),
            None => Ok(()),
        }
    }

    /// The learning rate of the next step.
    pub(crate) fn prepare(&mut self, rate: f64) -> Result<()> {
        if let Some((step, _)) = &mut self.penalty {
            step.prepare(rate)?;
        }
        if let Some(step) = &mut self.target {
            step.prepare(rate)?;
        }
        Ok(())
    }

    /// Changes the parameters `flat` `[len]` in place, with the prepared learning rate; does not synchronise.
    pub(crate) fn apply(&mut self, flat: &mut Tensor) -> Result<()> {
        if let Some((step, _)) = &mut self.penalty {
            step.apply_prepared(flat)?;
        }
        if let Some(step) = &mut self.target {
            step.apply_prepared(flat)?;
        }
        Ok(())
    }

    /// As [`crate::regulariser::Regulariser::reads_memory`].
    pub(crate) fn reads_memory(&self) -> bool {
        self.binding.has_kernels()
    }

    /// The penalty at `flat`, each parameter with its own strengths; `None` if there is a target alone. It may be larger than any number where
    /// the step is not. Synchronises.
    pub(crate) fn value(&self, flat: &Tensor) -> Result<Option<f64>> {
        let Some((step, factors)) = &self.penalty else { return Ok(None) };
        let proximal = step.proximal();
        let (form, whole) = (proximal.penalty().form, proximal.penalty().whole);
        let term = |lambda: f64, energy: f64| match (energy == 0.0, form) {
            (true, _) => 0.0,
            (_, Form::Plain) => lambda * energy.sqrt(),
            (_, Form::Squared) => lambda * energy,
        };
        let energies = self.binding.energies(flat)?;
        let each = self.binding.bound().iter().zip(factors).zip(&energies).map(|((bound, factor), (_, energies))| {
            let rank = bound.rank * if bound.entry.complex { 2 } else { 1 };
            let (lambda_g, lambda_perp) = proximal.strengths(bound.entry.len(), rank);
            let held = energies.equivariant + if whole { energies.perp } else { 0.0 };
            term(factor * lambda_g, held) + term(factor * lambda_perp, energies.perp)
        });
        Ok(Some(each.sum()))
    }

    /// ‖W − P(W)‖/‖W‖ over all regularised parameters, and the λ_⊥ that the target amounted to in a step with this learning rate.
    pub(crate) fn metrics(&self, flat: &Tensor, rate: f64) -> Result<Metrics> {
        let mut metrics = Metrics::from([("residual".into(), self.binding.residual(flat)?.relative)]);
        let Some(target) = &self.target else { return Ok(metrics) };
        if rate == 0.0 && !target.is_dual() {
            return Ok(metrics);
        }
        let strengths = Vec::<f64>::try_from(target.strengths())?;
        match self.scope {
            Scope::Network => drop(metrics.insert("lambda_perp".into(), strengths[0])),
            Scope::Layer => {
                let names = self.binding.bound().iter().map(|bound| format!("{}/lambda_perp", bound.entry.name));
                metrics.extend(names.zip(strengths));
            }
        }
        Ok(metrics)
    }

    /// Parameters that the plain form made exactly equivariant at every step since this one.
    pub(crate) fn exact_since(&self) -> Result<BTreeMap<String, usize>> {
        let Some((step, _)) = &self.penalty else { return Ok(BTreeMap::new()) };
        let names = self.binding.bound().iter().map(|bound| bound.entry.name.clone());
        let since = Vec::<i64>::try_from(step.exact_since())?;
        Ok(names.zip(since).filter_map(|(name, since)| Some((name, usize::try_from(since).ok()?))).collect())
    }

    /// Named tensors to checkpoint, for resuming.
    pub(crate) fn state(&self) -> BTreeMap<String, Tensor> {
        let exact = self.penalty.as_ref().map(|(step, _)| ("exact_since", step.exact_since()));
        let strengths = self.target.as_ref().map(|target| ("strengths", target.strengths()));
        exact.into_iter().chain(strengths).map(|(name, tensor)| (name.into(), tensor.shallow_clone())).collect()
    }

    /// Takes the state of a checkpoint over, after this many steps.
    pub(crate) fn restore(&mut self, state: &BTreeMap<String, Tensor>, steps: i64) -> Result<()> {
        let find = |name: &str| {
            let missing = || MethodError::Setting {
                what: "state of the penalty".into(),
                expected: name.into(),
                found: "none".into(),
            };
            state.get(name).ok_or_else(missing)
        };
        if let Some((step, _)) = &mut self.penalty {
            step.restore(find("exact_since")?, steps)?;
        }
        if let Some(step) = &mut self.target {
            step.restore(find("strengths")?)?;
        }
        Ok(())
    }
}

/// The factor of each bound parameter: that of `penalty.per_layer`, else 1.
fn layer_factors(binding: &Binding, settings: &PenaltySettings) -> Result<Vec<f64>> {
    let names: Vec<&str> = binding.bound().iter().map(|bound| bound.entry.name.as_str()).collect();
    let mut factors = vec![1.0; names.len()];
    for (name, factor) in settings.layer_factors()? {
        let Some(number) = names.iter().position(|known| *known == name) else {
            let expected = format!("a regularised parameter ({})", names.join(", "));
            return Err(Error::config("penalty.per_layer", expected, format!("\"{name}\"")));
        };
        factors[number] = factor;
    }
    Ok(factors)
}
