//! The penalty as a step of its own after the optimiser's, on the device: stable at every strength, and as equivariant as one likes.
//!
//! ```text
//! squared  W ← P(W) / (1 + 2ηλ_G) + (W − P(W)) / (1 + 2ηλ_⊥)
//! plain    W ← P(W) max(0, 1 − ηλ_G/‖P(W)‖) + (W − P(W)) max(0, 1 − ηλ_⊥/‖W − P(W)‖)        parameter by parameter
//! target   W ← P(W) + s (W − P(W)),  s = min(1, τ‖P(W)‖ / (√(1 − τ²) ‖W − P(W)‖))
//! ```
//!
//! as [`reynolds::proximal`] defines it for one tensor, with η the learning rate of that step. It is for parameters in a flat storage. A
//! weight that is assembled from factors has no storage of its own, so that no [`Binding`] of parameters holds it and no step is offered for
//! it: a step on the factors would not be the proximal map of the penalty.
//!
//! ```
//! use reynolds::{penalty::PenaltyConfig, plan::SymmetryPlan, proximal::{Proximal, Target}};
//! use reynolds_torch::{Binding, Parameters, ProximalStep, tch::{Device, Kind}};
//! use reynolds_torch::proximal::{Scope, TargetStep};
//! let weights: Vec<f64> = (0..144).map(|i| f64::from(i).sin()).collect();
//! let mut builder = Parameters::builder();
//! builder.real("conv.weight", &[4, 4, 3, 3], &weights)?;
//! let mut parameters = builder.build(Kind::Double, Device::Cpu)?;
//! let plan = "group = \"C4\"\n[[layer]]\nname = \"conv.weight\"\ndomain = \"regular\"\ncodomain = \"regular\"";
//! let binding = std::rc::Rc::new(Binding::of_plan(&parameters, &SymmetryPlan::from_toml(plan)?)?);
//!
//! let before = binding.residual(parameters.flat())?.absolute;
//! let mut step = ProximalStep::new(binding.clone(), Proximal::new(PenaltyConfig::perp(5.0))?)?;
//! step.apply(parameters.flat_mut(), 0.1)?; // after the optimiser's step with η = 0.1
//! assert!((binding.residual(parameters.flat())?.absolute - before / 2.0).abs() < 1e-12);
//!
//! let mut target = TargetStep::new(binding.clone(), Target::new(0.05)?, Scope::Layer)?;
//! target.apply(parameters.flat_mut(), 0.1)?;
//! assert!((binding.residual(parameters.flat())?.relative - 0.05).abs() < 1e-12);
//! # Ok::<(), reynolds_torch::Error>(())
//! ```

mod rule;
mod target;

use std::rc::Rc;

use reynolds::penalty::Form;
use reynolds::proximal::Proximal;
use tch::{Kind, Tensor};

pub use target::{Scope, TargetStep};

use crate::binding::{Binding, Bound};
use crate::device::upload;
use crate::error::{Error, Result, check_nonnegative};
use crate::numbers::Numbers;
pub(crate) use rule::{Rescaling, Rule};

/// The proximal step of a penalty on the parameters of a [`Binding`].
#[derive(Debug)]
pub struct ProximalStep {
    binding: Rc<Binding>,
    proximal: Proximal,
    /// λ_G and λ_⊥ of each parameter are those of the penalty times these, `[2, count]` in double precision.
    scales: Tensor,
    /// Whether all scales are 1.
    uniform: bool,
    exact_since: Tensor,
    calls: i64,
    /// η of the prepared step, and what follows from it: a and b of all parameters, or 2ηλ_G and 2ηλ_⊥, or ηλ_G, ηλ_⊥ and the number of the call.
    step: f64,
    numbers: Numbers,
}

impl ProximalStep {
    /// The step of `proximal`, whose norm is the Frobenius norm, on what `binding` binds, which others may hold too.
    pub fn new(binding: impl Into<Rc<Binding>>, proximal: Proximal) -> Result<Self> {
        let binding = binding.into();
        let count = binding.bound().len() as i64;
        let exact_since = Tensor::f_full([count], -1, (Kind::Int64, binding.device()))?;
        let scales = Tensor::f_ones([2, count], (Kind::Double, binding.device()))?;
        let numbers = Numbers::new(&[1.0, 1.0, 0.0], binding.device())?;
        let step = Self { binding, proximal, scales, uniform: true, exact_since, calls: 0, step: 0.0, numbers };
        let ones = vec![[1.0; 2]; count as usize];
        step.per_layer(&ones)
    }

    /// Multiplies λ_G and λ_⊥ of each bound parameter, in the order of [`Binding::bound`].
    ///
    /// # Errors
    /// [`Error::Setting`] if there are not as many pairs as bound parameters, or a factor is negative or not finite, that of the parameter's
    /// size included.
    pub fn per_layer(mut self, factors: &[[f64; 2]]) -> Result<Self> {
        let bound = self.binding.bound();
        if factors.len() != bound.len() {
            return Err(Error::setting("factors of λ_G and λ_⊥", format!("{} pairs", bound.len()), factors.len()));
        }
        let sizes = bound.iter().map(|bound| sizes(&self.proximal, bound));
        let scales: Vec<[f64; 2]> = sizes.zip(factors).map(|(size, by)| [size[0] * by[0], size[1] * by[1]]).collect();
        let each = factors.iter().chain(&scales).flatten();
        each.copied().try_for_each(|factor| check_nonnegative("factor of λ_G or λ_⊥", factor))?;
        let rows = [0, 1].map(|part| scales.iter().map(|scale| scale[part]).collect::<Vec<f64>>());
        self.uniform = scales.iter().all(|scale| *scale == [1.0; 2]);
        self.scales = upload(&rows.concat(), Kind::Double, self.binding.device())?.f_view([2, -1])?;
        Ok(self)
    }

    /// The parameters that are regularised.
    pub fn binding(&self) -> &Rc<Binding> {
        &self.binding
    }

    /// Strengths and shape.
    pub fn proximal(&self) -> Proximal {
        self.proximal
    }

    /// Changes λ_⊥, as a schedule does; does not synchronise.
    pub fn set_lambda_perp(&mut self, lambda_perp: f64) -> Result<()> {
        self.proximal = self.proximal.with_lambda_perp(lambda_perp)?;
        Ok(())
    }

    /// The step with the step size η on the parameters `flat` `[len]`, in place; does not synchronise. At η = 0 it does nothing.
    ///
    /// # Errors
    /// [`Error::Setting`] if η is negative or not finite, or `flat` is not a tensor of these parameters.
    pub fn apply(&mut self, flat: &mut Tensor, step: f64) -> Result<()> {
        self.prepare(step)?;
        self.apply_prepared(flat).inspect_err(|_| self.calls -= 1)
    }

    /// The first half of [`ProximalStep::apply`]: writes what follows from η to where the step reads it. Then a captured
    /// [`ProximalStep::apply_prepared`] can be replayed.
    pub fn prepare(&mut self, step: f64) -> Result<()> {
        check_nonnegative("step size", step)?;
        let penalty = self.proximal.penalty();
        let (by_g, by_perp) = (step * penalty.lambda_g, step * penalty.lambda_perp);
        let both = [2.0 * by_g, 2.0 * by_perp];
        self.calls += 1;
        self.step = step;
        self.numbers.set(&match penalty.form {
            Form::Plain => [by_g, by_perp, self.calls as f64],
            Form::Squared if self.uniform => {
                let perp = both[1] + if penalty.whole { both[0] } else { 0.0 };
                [1.0 / (1.0 + both[0]), 1.0 / (1.0 + perp), 0.0]
            }
            Form::Squared => [both[0], both[1], 0.0],
        })
    }

    /// The second half of [`ProximalStep::apply`].
    pub fn apply_prepared(&mut self, flat: &mut Tensor) -> Result<()> {
        let penalty = self.proximal.penalty();
        match penalty.form {
            _ if self.step == 0.0 => Ok(()),
            Form::Squared if self.uniform => self.binding.rescale(flat, &Rescaling::Even(&self.numbers)),
            Form::Squared => {
                let factors = &self.squared(penalty.whole)?;
                self.binding.rescale(flat, &Rescaling::Each { factors, perp_alone: penalty.lambda_g == 0.0 })
            }
            Form::Plain if (penalty.lambda_g, penalty.lambda_perp) == (0.0, 0.0) => {
                let _ = self.exact_since.f_fill_(-1)?;
                Ok(())
            }
            Form::Plain => {
                let (by, scales, exact_since) = (&self.numbers, &self.scales, &self.exact_since);
                let rule = Rule::Plain { by, scales, whole: penalty.whole, exact_since };
                self.binding.rescale(flat, &Rescaling::ByRule(&rule))
            }
        }
    }

    /// 1/(1 + 2ηλ) of each parameter, `[2, count]`.
    fn squared(&self, whole: bool) -> Result<Tensor> {
        let [on_g, on_perp] = [0, 1].map(|part| self.scales.get(part) * self.numbers.memory().get(part));
        let on_perp = if whole { on_perp.f_add(&on_g)? } else { on_perp };
        Ok(Tensor::f_stack(&[on_g, on_perp], 0)?.f_add_scalar_(1.0)?.f_reciprocal()?)
    }

    /// The number of the call since which the plain form's threshold of W − P(W) made it exactly 0 at every call, −1 for other parameters and
    /// where W became 0: `[count]` (int64) in the order of [`Binding::bound`], on the device. The first call is number 1; calls with η = 0
    /// change nothing.
    pub fn exact_since(&self) -> &Tensor {
        &self.exact_since
    }

    /// Calls of [`ProximalStep::apply`] so far.
    pub fn calls(&self) -> i64 {
        self.calls
    }

    /// Takes a checkpoint's state over.
    ///
    /// # Errors
    /// [`Error::Setting`] if it is not that of as many parameters, or a number of calls is negative.
    pub fn restore(&mut self, exact_since: &Tensor, calls: i64) -> Result<()> {
        if exact_since.size() != self.exact_since.size() || exact_since.kind() != Kind::Int64 {
            let describe = |tensor: &Tensor| format!("{:?} of {:?}", tensor.size(), tensor.kind());
            return Err(Error::setting("exact_since", describe(&self.exact_since), describe(exact_since)));
        }
        if calls < 0 {
            return Err(Error::setting("calls", "at least 0", calls));
        }
        self.exact_since.f_copy_(exact_since)?;
        self.calls = calls;
        Ok(())
    }
}

/// Factors of λ_G and λ_⊥ for the size of a parameter.
fn sizes(proximal: &Proximal, bound: &Bound) -> [f64; 2] {
    let penalty = proximal.penalty();
    if penalty.form == Form::Squared || !proximal.is_scaled() {
        return [1.0; 2];
    }
    let (len, rank) = (bound.entry.len(), bound.rank * if bound.entry.complex { 2 } else { 1 });
    [if penalty.whole { len } else { rank }, len - rank].map(|count| (count as f64).sqrt())
}
