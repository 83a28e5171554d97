//! Batch normalisation of gated fields: one variance for all components of a field, means of its scalars alone.
//!
//! ```text
//! y = γ_f (x + b − μ)/√(σ²_f + ε) + β      μ, b, β zero but on scalars: the trivial irrep and the gates
//! σ²_f = the mean over the components of field f of their variances
//! ```
//!
//! b is the bias of the convolution before it. Minibatch statistics are constants of the tape, as in escnn: no gradient flows through
//! them. What is left is a scale for each field and a shift for each of its scalars, which [`Gate`](super::Gate) applies while it
//! multiplies, so that normalising reads the volumes once, to measure.

use tch::Tensor;

use super::batch_norm::NormParameters;
use super::{BatchNorm, Mode};
use crate::error::Result;
use crate::parameters::{Builder, Parameters};

/// An affine map of a field before its gates act: x ↦ scale·x, and a shift of its scalars.
#[derive(Debug)]
pub struct Affine {
    /// `[copies]`, one a field; none: 1.
    pub scale: Option<Tensor>,
    /// `[1 + gates, copies]`: of the trivial irrep, of the gates.
    pub shift: Tensor,
}

/// Statistics of fields with a trivial irrep first and gates last, channels by components, then by copies.
#[derive(Debug, Clone)]
pub struct IidNorm {
    held: NormParameters,
    copies: i64,
    components: i64,
    gates: i64,
}

impl IidNorm {
    /// Adds `name.weight`, `[copies]` (γ = 1), `name.bias`, `[1 + gates, copies]` (β = 0), and the running statistics
    /// `name.running_mean`, as the bias, and `name.running_var`, as the weight. `components` counts gates too.
    pub fn new(builder: &mut Builder, name: &str, copies: usize, [components, gates]: [usize; 2]) -> Result<Self> {
        let held = NormParameters::new(builder, name, &[copies], &[1 + gates, copies])?;
        let [copies, components, gates] = [copies, components, gates].map(|count| count as i64);
        Ok(Self { held, copies, components, gates })
    }

    /// Scale and shift of volumes `[N, components·copies, D, H, W]` to which a `bias`, `[1 + gates, copies]`, may still have to be added. In
    /// [`Mode::Train`] the running statistics follow the minibatch.
    ///
    /// # Errors
    /// [`Error::Setting`](crate::Error::Setting) if it trains on one number of each channel, which has no variance.
    pub fn affine(
        &self,
        parameters: &Parameters,
        volumes: &Tensor,
        bias: Option<&Tensor>,
        mode: Mode,
    ) -> Result<Affine> {
        let [weight, shift, mut mean, mut variance] = self.held.get(parameters)?;
        if mode == Mode::Train {
            let (seen_mean, seen_variance) = tch::no_grad(|| self.measure(volumes))?;
            let seen_mean = match bias {
                Some(bias) => seen_mean.f_add(&bias.f_detach()?)?,
                None => seen_mean,
            };
            // Off the tape: running statistics are never read in training.
            let _ = mean.f_data()?.f_lerp_(&seen_mean, BatchNorm::MOMENTUM)?;
            let _ = variance.f_data()?.f_lerp_(&seen_variance, BatchNorm::MOMENTUM)?;
            (mean, variance) = (seen_mean, seen_variance);
        }
        let deviation = variance.f_add_scalar(BatchNorm::EPSILON)?.f_rsqrt()?;
        let scale = weight.f_mul(&deviation)?;
        let offset = match bias {
            Some(bias) => bias.f_sub(&mean)?,
            None => mean.f_neg()?,
        };
        Ok(Affine { shift: shift.f_addcmul(&offset, &scale)?, scale: Some(scale) })
    }

    /// Means of the scalars, `[1 + gates, copies]`, and unbiased variances of the fields, `[copies]`, in the type of the parameters.
    fn measure(&self, volumes: &Tensor) -> Result<(Tensor, Tensor)> {
        let numbers = volumes.numel() as i64 / (self.components * self.copies).max(1);
        self.held.check(numbers, "channel")?;
        let (mean, variance) = volumes.f_detach()?.f_batch_norm_update_stats(None::<Tensor>, None::<Tensor>, 0.0)?;
        let [mean, variance] = [mean, variance].map(|of| of.f_view([self.components, self.copies]));
        let (mean, variance) = (mean?, variance?);
        let irreps = self.components - self.gates;
        let mean = Tensor::f_cat(&[mean.f_narrow(0, 0, 1)?, mean.f_narrow(0, irreps, self.gates)?], 0)?;
        let unbiased = numbers as f64 / (numbers - 1) as f64;
        Ok((mean, variance.f_mean_dim(0, false, None)?.f_mul_scalar(unbiased)?))
    }
}

#[cfg(test)]
mod tests {
    use tch::Kind;

    use super::*;
    use crate::testing::{built, largest, normal};

    /// Two copies of a scalar and a vector, with a gate each, after a bias.
    fn layer() -> (IidNorm, Parameters) {
        built(|builder| {
            builder.real("bias", &[3, 2], &[0.1, -0.2, 0.3, 0.4, -0.5, 0.6])?;
            IidNorm::new(builder, "norm", 2, [6, 2])
        })
    }

    #[test]
    fn training_takes_means_off_scalars_and_one_variance_off_a_field() {
        let (norm, parameters) = layer();
        let volumes = normal(&[3, 12, 2, 3, 4], 1) * 2.0 + 0.5;
        let bias = parameters.get("bias").unwrap();
        let affine = norm.affine(&parameters, &volumes, Some(&bias), Mode::Train).unwrap();
        // [component, copy, numbers], the bias added to component 0 and the gates, 4 and 5.
        let fields = volumes.view([3, 6, 2, 24]).permute([1, 2, 0, 3]).reshape([6, 2, 72]);
        let variance = fields.var_dim(-1, true, false).mean_dim(0, false, None::<Kind>);
        let scale = (&variance + 1e-5).rsqrt();
        let scalars = fields.index_select(0, &Tensor::from_slice(&[0_i64, 4, 5]));
        let mean = scalars.mean_dim(-1, false, None::<Kind>);
        let running = |name: &str| parameters.statistic(&format!("norm.{name}")).unwrap();
        // The bias has no effect and yet a gradient, for the mean is a constant of the tape: the scale of its field.
        let gradient = Tensor::run_backward(&[affine.shift.sum(Kind::Double)], &[&bias], true, false);
        for error in [
            affine.scale.unwrap() - &scale,
            affine.shift + &mean * &scale,
            running("running_mean") - (&mean + &bias) * 0.1,
            running("running_var") - (variance * 0.1 + 0.9),
            &gradient[0] - scale.view([1, 2]),
        ] {
            assert!(largest(&error) < 1e-14);
        }
    }

    #[test]
    fn evaluation_takes_off_what_was_seen_and_changes_nothing() {
        let (norm, parameters) = layer();
        let [_, _, mut mean, mut variance] = norm.held.get(&parameters).unwrap();
        mean.copy_(&normal(&[3, 2], 2));
        variance.copy_(&normal(&[2], 3).square());
        let (before, single) = (parameters.statistics().copy(), normal(&[1, 12, 1, 1, 1], 1));
        let bias = parameters.get("bias").unwrap();
        let affine = norm.affine(&parameters, &single, Some(&bias), Mode::Evaluate).unwrap();
        let scale = (variance + 1e-5).rsqrt();
        let shift = (&bias - mean) * &scale;
        assert!(largest(&(affine.scale.unwrap() - &scale)) < 1e-14 && largest(&(affine.shift - shift)) < 1e-14);
        // In training one number of a channel has no variance.
        let message = norm.affine(&parameters, &single, None, Mode::Train).unwrap_err().to_string();
        assert!(message.starts_with("batch: expected samples enough to normalise norm"), "{message}");
        assert_eq!(before, *parameters.statistics());
    }
}
