//! How the weights a network uses come from the numbers that are trained.
//!
//! ```text
//! free          W = θ                                   what the projection penalty is for
//! constrained   W = P(θ)                                exactly equivariant
//! residual      W = P(A) + B,   θ = (A, B)              residual pathway priors: λ_A ‖P(A)‖² + λ_B ‖B‖²
//! ```
//!
//! The network only ever sees W, in its [`Parameters`]; gradients by W are pulled back to θ in closed form, P being its own adjoint:
//! ∇_A = P(∇_W) + 2λ_A P(A), ∇_B = ∇_W + 2λ_B B. So any network takes any of the three. Parameters that no plan binds are free in all.
//!
//! ```
//! use std::rc::Rc;
//! use reynolds::{group, projection::KernelSpace, rep};
//! use reynolds_torch::{Parameters, binding::Binding, tch::{Device, Kind}};
//! use reynolds_torch::parametrisation::{Parametrisation, Trained};
//! let mut builder = Parameters::builder();
//! builder.real("w", &[2, 2], &[3.0, 0.0, 1.0, 0.0])?;
//! let mut parameters = builder.build(Kind::Double, Device::Cpu)?;
//! let regular = rep::regular(&group::parse("C2")?)?;
//! let mut binding = Binding::builder(&parameters);
//! binding.real("w", &KernelSpace::dense(&regular, &regular)?)?;
//! let trained = Trained::new(Parametrisation::Constrained, &mut parameters, Some(Rc::new(binding.build()?)))?;
//! assert_eq!(Vec::<f64>::try_from(parameters.flat())?, [1.5, 0.5, 0.5, 1.5]);
//! assert_eq!(trained.theta(&parameters).size(), [4]);
//! # Ok::<(), reynolds_torch::Error>(())
//! ```

use std::rc::Rc;

use serde::{Deserialize, Serialize};
use tch::Tensor;

use crate::binding::Binding;
use crate::device::upload;
use crate::error::{Error, Result, check_nonnegative, check_size};
use crate::parameters::Parameters;

/// How the weights W are made of the trained numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Parametrisation {
    /// W = θ.
    #[default]
    Free,
    /// W = P(θ).
    Constrained,
    /// W = P(A) + B.
    Residual,
}

/// The parametrisation and the priors of residual weights.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct ParametrisationConfig {
    /// `free`: the weights W are trained. `constrained`: A is trained and W = P(A), exactly equivariant. `residual` (RPP): A and B are trained
    /// and W = P(A) + B.
    pub kind: Parametrisation,
    /// For `kind=residual`: the loss gets this times ‖P(A)‖².
    pub lambda_equivariant: f64,
    /// For `kind=residual`: the loss gets this times ‖B‖²; the larger, the more equivariant the network.
    pub lambda_residual: f64,
}

impl ParametrisationConfig {
    /// # Errors
    /// [`Error::Setting`] if a prior is negative or not finite, or not 0 where there are no residual weights.
    pub fn validate(&self) -> Result<()> {
        for (what, lambda) in
            [("lambda_equivariant", self.lambda_equivariant), ("lambda_residual", self.lambda_residual)]
        {
            check_nonnegative(what, lambda)?;
            if self.kind != Parametrisation::Residual && lambda != 0.0 {
                return Err(Error::setting(what, "0 (it is the prior of residual weights)", lambda));
            }
        }
        Ok(())
    }
}

impl From<Parametrisation> for ParametrisationConfig {
    /// Without priors.
    fn from(kind: Parametrisation) -> Self {
        Self { kind, ..Self::default() }
    }
}

/// θ, and how it makes W.
#[derive(Debug)]
pub struct Trained {
    config: ParametrisationConfig,
    weights: Weights,
}

/// W of θ; free weights are their own θ.
#[derive(Debug)]
enum Weights {
    Free,
    /// θ is flat, `[len]`.
    Constrained {
        binding: Rc<Binding>,
        theta: Tensor,
    },
    /// θ is `[2 len]` with B in the second half, and the mask of bound weights `[len]`: unbound parameters have no B.
    Residual {
        binding: Rc<Binding>,
        theta: Tensor,
        bound: Tensor,
    },
}

impl Trained {
    /// Starts from the weights as they are: W(θ) = W for free and residual weights, P(W) for constrained ones, which the parameters hold
    /// from here on.
    pub fn new(
        config: impl Into<ParametrisationConfig>,
        parameters: &mut Parameters,
        binding: Option<Rc<Binding>>,
    ) -> Result<Self> {
        let config = config.into();
        config.validate()?;
        let flat = parameters.flat();
        let binding =
            || binding.ok_or_else(|| Error::setting("parametrisation", "a plan that binds parameters", "none"));
        let weights = match config.kind {
            Parametrisation::Free => Weights::Free,
            Parametrisation::Constrained => {
                let binding = binding()?;
                Weights::Constrained { theta: binding.project(flat)?, binding }
            }
            Parametrisation::Residual => {
                let binding = binding()?;
                let rest = flat.f_sub(&binding.project(flat)?)?;
                let bound = mask(&binding, flat)?;
                Weights::Residual { theta: Tensor::f_cat(&[flat, &rest], 0)?, binding, bound }
            }
        };
        let trained = Self { config, weights };
        trained.refresh(parameters)?;
        Ok(trained)
    }

    /// The trained numbers θ, of checkpoints: flat `[len]`, or `[2 len]` for residual weights.
    pub fn theta<'a>(&'a self, parameters: &'a Parameters) -> &'a Tensor {
        match &self.weights {
            Weights::Free => parameters.flat(),
            Weights::Constrained { theta, .. } | Weights::Residual { theta, .. } => theta,
        }
    }

    /// θ for the optimiser to change; [`Trained::refresh`] takes W there afterwards.
    pub fn theta_mut<'a>(&'a mut self, parameters: &'a mut Parameters) -> &'a mut Tensor {
        match &mut self.weights {
            Weights::Free => parameters.flat_mut(),
            Weights::Constrained { theta, .. } | Weights::Residual { theta, .. } => theta,
        }
    }

    /// Whether θ is W itself.
    pub fn is_free(&self) -> bool {
        matches!(self.weights, Weights::Free)
    }

    /// Takes θ of a checkpoint over, and W with it.
    pub fn restore(&mut self, theta: &Tensor, parameters: &mut Parameters) -> Result<()> {
        let ours = self.theta_mut(parameters);
        check_size("trained numbers", ours, theta)?;
        let _guard = tch::no_grad_guard();
        ours.f_copy_(theta)?;
        self.refresh(parameters)
    }

    /// W ← W(θ), after θ has changed.
    pub fn refresh(&self, parameters: &mut Parameters) -> Result<()> {
        match &self.weights {
            Weights::Free => Ok(()),
            Weights::Constrained { binding, theta } => parameters.assign(&binding.project(theta)?),
            Weights::Residual { binding, theta, bound } => {
                let [a, b] = halves(theta, bound)?;
                parameters.assign(&binding.project(&a)?.f_add(&b)?)
            }
        }
    }

    /// The gradient by θ from the gradient by W, with that of the priors.
    pub fn pull_back(&self, gradient: Tensor) -> Result<Tensor> {
        match &self.weights {
            Weights::Free => Ok(gradient),
            Weights::Constrained { binding, .. } => binding.project(&gradient),
            Weights::Residual { binding, theta, bound } => {
                let ParametrisationConfig { lambda_equivariant, lambda_residual, .. } = self.config;
                let [a, b] = halves(theta, bound)?;
                let prior = binding.project(&a)?.f_mul(bound)?.f_mul_scalar(2.0 * lambda_equivariant)?;
                let by_a = binding.project(&gradient)?.f_add(&prior)?;
                let by_b = gradient.f_mul(bound)?.f_add(&b.f_mul_scalar(2.0 * lambda_residual)?)?;
                Ok(Tensor::f_cat(&[by_a, by_b], 0)?)
            }
        }
    }

    /// λ_A ‖P(A)‖² + λ_B ‖B‖², a scalar on the device; `None` for the other parametrisations.
    pub fn prior(&self) -> Result<Option<Tensor>> {
        let Weights::Residual { binding, theta, bound } = &self.weights else { return Ok(None) };
        let ParametrisationConfig { lambda_equivariant, lambda_residual, .. } = self.config;
        let [a, b] = halves(theta, bound)?;
        let equivariant = binding.project(&a)?.f_mul(bound)?;
        Ok(Some(equivariant.f_dot(&equivariant)? * lambda_equivariant + b.f_dot(&b)? * lambda_residual))
    }
}

/// A and B of residual weights.
fn halves(theta: &Tensor, bound: &Tensor) -> Result<[Tensor; 2]> {
    let len = theta.size()[0] / 2;
    Ok([theta.f_narrow(0, 0, len)?, theta.f_narrow(0, len, len)?.f_mul(bound)?])
}

/// 1 for every number that is bound, 0 for the others: `[len]`.
fn mask(binding: &Binding, flat: &Tensor) -> Result<Tensor> {
    let mut ones = vec![0.0_f32; flat.size()[0] as usize];
    for bound in binding.bound() {
        ones[bound.entry.start..bound.entry.start + bound.entry.len()].fill(1.0);
    }
    upload(&ones, flat.kind(), flat.device())
}

#[cfg(test)]
mod tests {
    use reynolds::plan::SymmetryPlan;
    use tch::{Device, Kind};

    use super::*;
    use crate::optimiser::{Adam, AdamConfig};
    use crate::testing::{built, largest, normal};

    /// A C4 convolution with a bias that is not bound.
    fn network() -> (Parameters, Rc<Binding>) {
        let ((), mut parameters) = built(|builder| {
            builder.real("bias", &[8], &[0.0; 8])?;
            builder.real("kernel", &[8, 8, 3, 3], &[0.0; 576])
        });
        parameters.assign(&normal(&[584], 2)).unwrap();
        let plan = "group = \"C4\"\n[[layer]]\nname = \"kernel\"\ndomain = \"2 regular\"\ncodomain = \"2 regular\"\nbias = false";
        let binding = Binding::of_plan(&parameters, &SymmetryPlan::from_toml(plan).unwrap()).unwrap();
        assert_eq!(binding.bound().len(), 1);
        (parameters, Rc::new(binding))
    }

    fn loss(parameters: &Parameters) -> Tensor {
        let ramp = Tensor::arange(576, (Kind::Double, Device::Cpu)).view([8, 8, 3, 3]) / 100.0;
        let kernel = (parameters.get("kernel").unwrap() * ramp).sin().sum(Kind::Double);
        kernel + (parameters.get("bias").unwrap() - 1.0).square().sum(Kind::Double)
    }

    fn train(trained: &mut Trained, parameters: &mut Parameters, steps: usize) {
        let mut adam = Adam::new(AdamConfig::default(), trained.theta(parameters)).unwrap();
        for step in 0..steps {
            let gradient = trained.pull_back(parameters.gradient(&loss(parameters)).unwrap()).unwrap();
            let rate = 0.05 * (1.0 - step as f64 / steps as f64);
            adam.step(trained.theta_mut(parameters), &gradient, rate).unwrap();
            trained.refresh(parameters).unwrap();
        }
    }

    fn residual(lambda_equivariant: f64, lambda_residual: f64) -> ParametrisationConfig {
        ParametrisationConfig { kind: Parametrisation::Residual, lambda_equivariant, lambda_residual }
    }

    #[test]
    fn gradients_are_those_of_finite_differences() {
        for parametrisation in [Parametrisation::Free.into(), Parametrisation::Constrained.into(), residual(0.2, 0.7)] {
            let (mut parameters, binding) = network();
            let mut trained = Trained::new(parametrisation, &mut parameters, Some(binding)).unwrap();
            let gradient = trained.pull_back(parameters.gradient(&loss(&parameters)).unwrap()).unwrap();
            let start = trained.theta(&parameters).copy();
            for index in (0..start.size()[0]).step_by(7) {
                let mut at = |step: f64| {
                    let moved = start.copy();
                    let _ = moved.get(index).g_add_scalar_(step);
                    trained.restore(&moved, &mut parameters).unwrap();
                    let prior = trained.prior().unwrap().map_or(0.0, |prior| prior.double_value(&[]));
                    loss(&parameters).double_value(&[]) + prior
                };
                let difference = (at(1e-6) - at(-1e-6)) / 2e-6;
                let closed = gradient.double_value(&[index]);
                assert!((difference - closed).abs() < 1e-6, "{parametrisation:?} {index}: {difference} {closed}");
            }
        }
    }

    #[test]
    fn a_constrained_network_has_no_defect_after_any_number_of_steps() {
        let (mut parameters, binding) = network();
        let mut trained = Trained::new(Parametrisation::Constrained, &mut parameters, Some(binding.clone())).unwrap();
        let before = parameters.flat().copy();
        train(&mut trained, &mut parameters, 20);
        assert!(largest(&(before - parameters.flat())) > 0.1);
        assert_eq!(*parameters.flat(), binding.project(parameters.flat()).unwrap());
    }

    #[test]
    fn a_residual_network_starts_where_the_free_one_does_and_a_strong_prior_makes_it_equivariant() {
        let (mut parameters, binding) = network();
        let before = parameters.flat().copy();
        let mut trained = Trained::new(residual(0.0, 1e3), &mut parameters, Some(binding.clone())).unwrap();
        assert!(largest(&(before - parameters.flat())) < 1e-14);
        train(&mut trained, &mut parameters, 600);
        assert!(largest(&(parameters.flat() - binding.project(parameters.flat()).unwrap())) < 0.01);
        // The bias is bound by nothing: it is free to reach 1.
        assert!(largest(&(parameters.get("bias").unwrap() - 1.0)) < 0.05);
    }

    #[test]
    fn what_cannot_be_constrained_is_an_error() {
        let (mut parameters, binding) = network();
        assert!(Trained::new(Parametrisation::Constrained, &mut parameters, None).is_err());
        let unused = ParametrisationConfig { lambda_residual: 1.0, ..ParametrisationConfig::default() };
        for bad in [residual(0.0, -1.0), residual(f64::NAN, 0.0), unused] {
            assert!(Trained::new(bad, &mut parameters, Some(binding.clone())).is_err(), "{bad:?}");
        }
    }
}
