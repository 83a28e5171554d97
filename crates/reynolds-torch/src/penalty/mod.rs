//! The penalty of a whole network and its gradient in closed form, on the device.
//!
//! ```text
//! squared:  Σ λ_G N(P(W))² + λ_⊥ N(W − P(W))²          plain:  Σ λ_G N(P(W)) + λ_⊥ N(W − P(W))          over bound parameters
//! ```
//!
//! as [`reynolds::penalty`] defines it for one tensor. Nothing is differentiated through P: for the squared Frobenius norm the gradient is
//! 2λ_G P(W) + 2λ_⊥ (W − P(W)), added to the flat gradient of the loss after the backward pass. Other norms take one projection more, of
//! their subgradient. [`Penalty::on_tape`] is the same number as a term of the loss.
//!
//! ```
//! use reynolds::{group, irreps::Irreps, penalty::PenaltyConfig, projection::KernelSpace};
//! use reynolds_torch::{Binding, Parameters, Penalty, tch::{Device, Kind}};
//! // Harmonics m = −1, 0, 1 of SO(2): P keeps the diagonal.
//! let harmonics = "1x(-1..1)".parse::<Irreps>()?.complex_rep(&group::parse("SO2")?)?;
//! let mut builder = Parameters::builder();
//! builder.complex("w", &[3, 3], &[(1.0, 2.0); 9])?;
//! let parameters = builder.build(Kind::Double, Device::Cpu)?;
//! let mut binding = Binding::builder(&parameters);
//! binding.complex("w", &KernelSpace::dense(&harmonics, &harmonics)?)?;
//! let config = PenaltyConfig { lambda_g: 0.0, lambda_perp: 0.1, ..PenaltyConfig::default() };
//! let penalty = Penalty::new(binding.build()?, config)?;
//! let mut gradient = parameters.flat().zeros_like();
//! let value = penalty.add_gradient_with_value(parameters.flat(), &mut gradient)?;
//! assert!((value.double_value(&[]) - 0.1 * 6.0 * 5.0).abs() < 1e-12);
//! let first = Vec::<f64>::try_from(gradient.narrow(0, 0, 4))?;
//! assert_eq!(first, [0.0, 0.0, 2.0 * 0.1 * 1.0, 2.0 * 0.1 * 2.0]);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod frobenius;
mod general;

use std::rc::Rc;

use reynolds::norm::Norm;
use reynolds::penalty::{Form, PenaltyConfig};
use tch::{Kind, Tensor};

use crate::binding::{Binding, Bound};
use crate::device::upload;
use crate::error::{Error, Result};
use crate::matrices::Matrices;
use crate::norm;
use crate::numbers::Numbers;
use crate::parameters::{Entry, Parameters};
use frobenius::slopes;

/// The penalty and, if it was asked for, its gradient by the numbers it was measured on.
type ValueAndSlope = (Tensor, Option<Tensor>);

/// The penalty on the parameters of a [`Binding`].
#[derive(Debug)]
pub struct Penalty {
    binding: Rc<Binding>,
    config: PenaltyConfig,
    /// a and b of the squared form.
    slopes: Numbers,
    matrices: Matrices,
    /// κ² of every bound parameter, `[count]` in double precision: see [`reynolds::penalty::PLAIN_EPSILON`]. In the order of the matrices for
    /// norms other than Frobenius.
    kappa_squared: Tensor,
}

impl Penalty {
    /// The penalty of `config` on what `binding` binds, which others may hold too.
    pub fn new(binding: impl Into<Rc<Binding>>, config: PenaltyConfig) -> Result<Self> {
        let binding = binding.into();
        config.validate()?;
        let entries: Vec<&Entry> = binding.bound().iter().map(|bound| &bound.entry).collect();
        let matrices = Matrices::new(&entries, binding.device())?;
        let factor = 32.0 * norm::epsilon(binding.kind());
        let kappa_squared = |bound: &Bound| factor * factor * bound.entry.numel() as f64 / bound.rank.max(1) as f64;
        let kappa_squared: Vec<f64> = match config.norm {
            Norm::Frobenius => binding.bound().iter().map(kappa_squared).collect(),
            _ => matrices.numbers().iter().map(|&number| kappa_squared(&binding.bound()[number])).collect(),
        };
        let kappa_squared = upload(&kappa_squared, Kind::Double, binding.device())?;
        let slopes = Numbers::new(&slopes(&config), binding.device())?;
        Ok(Self { binding, config, slopes, matrices, kappa_squared })
    }

    /// Strength and shape.
    pub fn config(&self) -> PenaltyConfig {
        self.config
    }

    /// The parameters that are regularised.
    pub fn binding(&self) -> &Rc<Binding> {
        &self.binding
    }

    /// Whether a captured step sees later changes of λ_⊥: it is read by kernels, from the device's memory.
    pub fn reads_memory(&self) -> bool {
        self.is_squared() && self.binding.has_kernels()
    }

    /// Changes λ_⊥, as a schedule does.
    pub fn set_lambda_perp(&mut self, lambda_perp: f64) -> Result<()> {
        let config = PenaltyConfig { lambda_perp, ..self.config };
        config.validate()?;
        self.config = config;
        self.slopes.set(&slopes(&config))
    }

    /// The penalty at the parameters `flat` `[len]`: a 0-d tensor; does not synchronise.
    pub fn value(&self, flat: &Tensor) -> Result<Tensor> {
        let _guard = tch::no_grad_guard();
        if self.is_squared()
            && let Some(one_pass) = self.binding.one_pass(flat)?
            && let Some(value) = one_pass.measured(None, flat, &self.slopes)?
        {
            return Ok(value);
        }
        Ok(self.evaluate(&self.binding.gather(flat)?, false)?.0)
    }

    /// Adds the penalty's gradient at `flat` `[len]` to `gradient` `[len]` in place and returns the penalty. Once a step: after
    /// accumulation and unscaling, before clipping.
    pub fn add_gradient_with_value(&self, flat: &Tensor, gradient: &mut Tensor) -> Result<Tensor> {
        let _guard = tch::no_grad_guard();
        check(flat, gradient)?;
        if self.is_squared()
            && let Some(one_pass) = self.binding.one_pass(flat)?
            && let Some(value) = one_pass.measured(Some(gradient), flat, &self.slopes)?
        {
            return Ok(value);
        }
        let (value, slope) = self.value_and_slope(&self.binding.gather(flat)?)?;
        self.binding.selection.add_to(gradient, &slope)?;
        Ok(value)
    }

    /// [`Penalty::add_gradient_with_value`] without the value: half the operations where no single pass does both.
    pub fn add_gradient(&self, flat: &Tensor, gradient: &mut Tensor) -> Result<()> {
        let _guard = tch::no_grad_guard();
        check(flat, gradient)?;
        let squared = self.is_squared();
        if squared
            && let Some(one_pass) = self.binding.one_pass(flat)?
            && one_pass.add_to(gradient, flat, &self.slopes)?
        {
            return Ok(());
        }
        let weights = self.binding.gather(flat)?;
        match self.binding.selection.view(gradient)? {
            Some(sum) if squared => self.add_squared(&weights, sum),
            _ => self.binding.selection.add_to(gradient, &self.value_and_slope(&weights)?.1),
        }
    }

    fn is_squared(&self) -> bool {
        (self.config.norm, self.config.form) == (Norm::Frobenius, Form::Squared)
    }

    /// The penalty as a scalar on the tape, to be added to the loss: slower than [`Penalty::add_gradient_with_value`], with the same gradient.
    pub fn on_tape(&self, parameters: &Parameters) -> Result<Tensor> {
        self.differentiable(&parameters.on_tape()?)
    }

    /// The penalty of a flat tensor `[len]`, differentiable if the tensor is on the tape.
    pub fn differentiable(&self, flat: &Tensor) -> Result<Tensor> {
        Ok(self.evaluate(&self.binding.gather(flat)?, false)?.0)
    }

    /// The penalty and its gradient by the bound numbers `weights`.
    pub(crate) fn value_and_slope(&self, weights: &Tensor) -> Result<(Tensor, Tensor)> {
        let (value, slope) = self.evaluate(weights, true)?;
        Ok((value, slope.expect("a slope that was asked for")))
    }

    /// The penalty of the bound numbers and, if wanted, its gradient: then nothing is on the tape, and tensors are changed in place.
    fn evaluate(&self, weights: &Tensor, wanted: bool) -> Result<ValueAndSlope> {
        let projected = self.binding.projector.apply(weights)?;
        match (self.config.norm, self.config.form) {
            (Norm::Frobenius, Form::Squared) => self.squared(weights, projected, wanted),
            (Norm::Frobenius, Form::Plain) => self.plain(weights, projected, wanted),
            _ => self.general(weights, &projected, wanted),
        }
    }
}

fn check(flat: &Tensor, gradient: &Tensor) -> Result<()> {
    if gradient.size() == flat.size() && gradient.kind() == flat.kind() {
        return Ok(());
    }
    let describe = |tensor: &Tensor| format!("{:?} of {:?}", tensor.size(), tensor.kind());
    Err(Error::setting("flat gradient", describe(flat), describe(gradient)))
}
