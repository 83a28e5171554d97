//! The penalty of a whole network and its gradient in closed form, on the device.
//!
//! ```text
//! squared:  Σ λ_G N(P(W))² + λ_⊥ N(W − P(W))²          plain:  Σ λ_G N(P(W)) + λ_⊥ N(W − P(W))          over bound parameters
//! ```
//!
//! as [`reynolds::penalty`] defines it for one tensor. Nothing is differentiated through P: for the squared Frobenius norm the gradient is
//! 2λ_G P(W) + 2λ_⊥ (W − P(W)), added to the flat gradient of the loss after the backward pass. The value stays on the device.
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
//! let gradient = parameters.flat().zeros_like();
//! let value = penalty.add_gradient(parameters.flat(), &gradient)?;
//! assert!((value.double_value(&[]) - 0.1 * 6.0 * 5.0).abs() < 1e-12);
//! let first = Vec::<f64>::try_from(gradient.narrow(0, 0, 4))?;
//! assert_eq!(first, [0.0, 0.0, 2.0 * 0.1 * 1.0, 2.0 * 0.1 * 2.0]);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

use std::rc::Rc;

use reynolds::norm::Norm;
use reynolds::penalty::{Form, PLAIN_EPSILON, PenaltyConfig};
use tch::{Kind, Tensor};

use crate::binding::Binding;
use crate::error::{Error, Result};

/// The penalty on the parameters of a [`Binding`].
#[derive(Debug)]
pub struct Penalty {
    binding: Rc<Binding>,
    config: PenaltyConfig,
    /// κ² of every bound parameter, `[count]` in double precision: see [`PLAIN_EPSILON`].
    kappa_squared: Tensor,
}

impl Penalty {
    /// The penalty of `config` on what `binding` binds, which others may hold too.
    ///
    /// # Errors
    /// [`Error::Reynolds`] if λ_G or λ_⊥ is negative, NaN or infinite.
    pub fn new(binding: impl Into<Rc<Binding>>, config: PenaltyConfig) -> Result<Self> {
        let binding = binding.into();
        config.validate()?;
        if config.norm != Norm::Frobenius {
            return Err(Error::setting("norm", "frobenius", config.norm));
        }
        let epsilon = match binding.kind() {
            Kind::Double => f64::EPSILON,
            Kind::Float => f64::from(f32::EPSILON),
            Kind::Half => 2.0_f64.powi(-10),
            Kind::BFloat16 => 2.0_f64.powi(-7),
            other => {
                return Err(Error::setting("number type of the parameters", "floating point", format!("{other:?}")));
            }
        };
        let of = |bound: &crate::binding::Bound| {
            (32.0 * epsilon).powi(2) * bound.entry.numel() as f64 / bound.rank.max(1) as f64
        };
        let kappa_squared: Vec<f64> = binding.bound().iter().map(of).collect();
        let kappa_squared = Tensor::f_from_slice(&kappa_squared)?.f_to_device(binding.device())?;
        Ok(Self { binding, config, kappa_squared })
    }

    /// Strength and shape.
    pub fn config(&self) -> PenaltyConfig {
        self.config
    }

    /// What is held against a group.
    pub fn binding(&self) -> &Rc<Binding> {
        &self.binding
    }

    /// Changes λ_⊥, as a schedule does.
    ///
    /// # Errors
    /// As [`Penalty::new`]; the penalty is unchanged then.
    pub fn set_lambda_perp(&mut self, lambda_perp: f64) -> Result<()> {
        let config = PenaltyConfig { lambda_perp, ..self.config };
        config.validate()?;
        self.config = config;
        Ok(())
    }

    /// The penalty at the parameters `flat` `[len]`: a number on the device, which nobody has waited for.
    ///
    /// # Errors
    /// As [`Binding::project`].
    pub fn value(&self, flat: &Tensor) -> Result<Tensor> {
        let _guard = tch::no_grad_guard();
        Ok(self.frobenius(&self.binding.gather(flat)?, false)?.0)
    }

    /// Adds the penalty's gradient at `flat` `[len]` to `gradient` `[len]` in place and returns the penalty.
    ///
    /// # Errors
    /// As [`Binding::project`]; [`Error::Torch`] if `gradient` has another length.
    pub fn add_gradient(&self, flat: &Tensor, gradient: &Tensor) -> Result<Tensor> {
        let _guard = tch::no_grad_guard();
        let (value, slope) = self.frobenius(&self.binding.gather(flat)?, true)?;
        if let Some(slope) = slope {
            self.binding.add_to(gradient, &slope)?;
        }
        Ok(value)
    }

    fn frobenius(&self, weights: &Tensor, wanted: bool) -> Result<(Tensor, Option<Tensor>)> {
        let projected = self.binding.apply(weights)?;
        let perp = weights.f_sub(&projected)?;
        let parts = Parts { weights, projected: &projected, perp: &perp };
        match self.config.form {
            Form::Squared => self.squared(&parts, wanted),
            Form::Plain => self.plain(&parts, wanted),
        }
    }

    /// a P(W) + b (W − P(W)) with a, b the same for all parameters. The smaller of them multiplies W and the difference one part, so
    /// that nothing cancels and a = b is weight decay to the last bit.
    fn squared(&self, parts: &Parts<'_>, wanted: bool) -> Result<(Tensor, Option<Tensor>)> {
        let PenaltyConfig { lambda_g, lambda_perp, whole, .. } = self.config;
        let first = if whole { parts.weights } else { parts.projected };
        let mut value = parts.perp.f_dot(parts.perp)?.f_mul_scalar_(lambda_perp)?;
        value = value.f_add_(&first.f_dot(first)?.f_mul_scalar_(lambda_g)?)?;
        if !wanted {
            return Ok((value, None));
        }
        let (a, b) = if whole { (lambda_g, lambda_g + lambda_perp) } else { (lambda_g, lambda_perp) };
        let (a, b) = (2.0 * a, 2.0 * b);
        let mut slope = parts.weights.f_mul_scalar(a.min(b))?;
        if a != b {
            let larger = if a > b { parts.projected } else { parts.perp };
            slope = slope.f_add_(&larger.f_mul_scalar((a - b).abs())?)?;
        }
        Ok((value, Some(slope)))
    }

    /// a P(W) + b (W − P(W)) with a, b of each parameter.
    fn plain(&self, parts: &Parts<'_>, wanted: bool) -> Result<(Tensor, Option<Tensor>)> {
        let PenaltyConfig { lambda_g, lambda_perp, whole, .. } = self.config;
        let segments = &self.binding.segments;
        let energies = segments.energies(&[parts.projected, parts.perp])?;
        let (equivariant, perp) = (energies.f_get(0)?, energies.f_get(1)?);
        let total = equivariant.f_add(&perp)?;
        let epsilon = total.f_mul(&self.kappa_squared)?.f_clamp_min(PLAIN_EPSILON)?;
        let first = if whole { total } else { equivariant };
        let (on_first, on_perp) = (first.f_add(&epsilon)?.f_sqrt()?, perp.f_add(&epsilon)?.f_sqrt()?);
        let kind = self.binding.kind();
        let value = on_first.f_mul_scalar(lambda_g)?.f_add(&on_perp.f_mul_scalar(lambda_perp)?)?;
        let value = value.f_sum(Kind::Double)?.f_to_kind(kind)?;
        if !wanted {
            return Ok((value, None));
        }
        let coefficient =
            |root: &Tensor, lambda: f64| segments.spread(&root.f_reciprocal()?.f_mul_scalar(lambda)?.f_to_kind(kind)?);
        let first = if whole { parts.weights } else { parts.projected };
        let slope = first.f_mul(&coefficient(&on_first, lambda_g)?)?;
        let slope = slope.f_addcmul(parts.perp, &coefficient(&on_perp, lambda_perp)?)?;
        Ok((value, Some(slope)))
    }
}

/// The bound numbers, and their two parts.
struct Parts<'a> {
    weights: &'a Tensor,
    projected: &'a Tensor,
    perp: &'a Tensor,
}
