//! Batch normalisation of gated fields: one variance for all components of a field, means of its scalars alone.
//!
//! ```text
//! y = γ_f (x + b − μ)/√(σ²_f + ε) + β      μ, b, β zero but on scalars: the trivial irrep and the gates
//! σ²_f = the mean over the components of field f of their variances
//! ```
//!
//! b is the bias of the convolution before it. Minibatch statistics are constants of the tape, as in escnn: no gradient flows through
//! them. What is left is a scale for each field and a shift for each of its scalars, which [`Gate`](super::Gate) applies while it
//! multiplies, so that normalising passes over the volumes once, to measure.

use tch::Tensor;

use super::{BatchNorm, Mode};
use crate::error::{Error, Result};
use crate::parameters::{Builder, Parameters};

/// What happens to a field before its gates act: x ↦ scale·x, and a shift of its scalars.
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
    name: String,
    copies: i64,
    components: i64,
    gates: i64,
}

impl IidNorm {
    /// Adds `name.weight`, `[copies]` (γ = 1), `name.bias`, `[1 + gates, copies]` (β = 0), and the running statistics
    /// `name.running_mean`, as the bias, and `name.running_var`, as the weight. A field has so many components, gates included.
    pub fn new(builder: &mut Builder, name: &str, copies: usize, [components, gates]: [usize; 2]) -> Result<Self> {
        let scalars = [1 + gates, copies];
        builder.real(&format!("{name}.weight"), &[copies], &vec![1.0; copies])?;
        builder.real(&format!("{name}.bias"), &scalars, &vec![0.0; scalars[0] * copies])?;
        builder.statistic(&format!("{name}.running_mean"), &scalars, &vec![0.0; scalars[0] * copies])?;
        builder.statistic(&format!("{name}.running_var"), &[copies], &vec![1.0; copies])?;
        let [copies, components, gates] = [copies, components, gates].map(|count| count as i64);
        Ok(Self { name: name.into(), copies, components, gates })
    }

    /// Scale and shift of volumes `[N, components·copies, D, H, W]` to which a `bias`, `[1 + gates, copies]`, may still have to be added. In
    /// [`Mode::Train`] the running statistics follow the minibatch.
    ///
    /// # Errors
    /// [`Error::Setting`] if it trains on one number of each channel, which has no variance; [`Error::Torch`] if the shapes do not fit.
    pub fn affine(
        &self,
        parameters: &Parameters,
        volumes: &Tensor,
        bias: Option<&Tensor>,
        mode: Mode,
    ) -> Result<Affine> {
        let part = |part: &str| format!("{}.{part}", self.name);
        let (mut mean, mut variance) =
            (parameters.statistic(&part("running_mean"))?, parameters.statistic(&part("running_var"))?);
        if mode == Mode::Train {
            let (seen_mean, seen_variance) = tch::no_grad(|| self.measure(volumes))?;
            let seen_mean = match bias {
                Some(bias) => seen_mean.f_add(&bias.f_detach()?)?,
                None => seen_mean,
            };
            // Behind the tape: a batch normalisation beside this one keeps statistics of the same storage and never reads them.
            let _ = mean.f_data()?.f_lerp_(&seen_mean, BatchNorm::MOMENTUM)?;
            let _ = variance.f_data()?.f_lerp_(&seen_variance, BatchNorm::MOMENTUM)?;
            (mean, variance) = (seen_mean, seen_variance);
        }
        let deviation = variance.f_add_scalar(BatchNorm::EPSILON)?.f_rsqrt()?;
        let scale = parameters.get(&part("weight"))?.f_mul(&deviation)?;
        let offset = match bias {
            Some(bias) => bias.f_sub(&mean)?,
            None => mean.f_neg()?,
        };
        let shift = parameters.get(&part("bias"))?.f_addcmul(&offset, &scale)?;
        Ok(Affine { scale: Some(scale), shift })
    }

    /// Means of the scalars, `[1 + gates, copies]`, and unbiased variances of the fields, `[copies]`, in the type of the parameters.
    fn measure(&self, volumes: &Tensor) -> Result<(Tensor, Tensor)> {
        let numbers = volumes.numel() as i64 / (self.components * self.copies).max(1);
        if numbers < 2 {
            let expected =
                format!("samples enough to normalise {} with two numbers or more of each channel", self.name);
            return Err(Error::setting("batch", expected, numbers));
        }
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
    use reynolds::random::Random;
    use tch::{Device, Kind};

    use super::*;

    fn numbers(shape: &[i64], seed: u64) -> Tensor {
        let mut random = Random::new(seed);
        let numbers: Vec<f64> = (0..shape.iter().product::<i64>()).map(|_| 0.5 + 2.0 * random.normal()).collect();
        Tensor::from_slice(&numbers).view(shape)
    }

    /// Two copies of a scalar and a vector, with a gate each.
    fn layer() -> (IidNorm, Parameters) {
        let mut builder = Parameters::builder();
        let norm = IidNorm::new(&mut builder, "norm", 2, [6, 2]).unwrap();
        builder.real("bias", &[3, 2], &[0.1, -0.2, 0.3, 0.4, -0.5, 0.6]).unwrap();
        (norm, builder.build(Kind::Double, Device::Cpu).unwrap())
    }

    fn largest(tensor: &Tensor) -> f64 {
        f64::try_from(tensor.detach().abs().max()).unwrap()
    }

    #[test]
    fn training_takes_means_off_scalars_and_one_variance_off_a_field() {
        let (norm, parameters) = layer();
        let volumes = numbers(&[3, 12, 2, 3, 4], 1);
        let bias = parameters.get("bias").unwrap();
        let affine = norm.affine(&parameters, &volumes, Some(&bias), Mode::Train).unwrap();
        // [component, copy, numbers], the bias added to component 0 and the gates, 4 and 5.
        let fields = volumes.view([3, 6, 2, 24]).permute([1, 2, 0, 3]).reshape([6, 2, 72]);
        let variance = fields.var_dim(-1, true, false).mean_dim(0, false, None::<Kind>);
        let scale = (&variance + 1e-5).rsqrt();
        let scalars = fields.index_select(0, &Tensor::from_slice(&[0_i64, 4, 5]));
        let mean = scalars.mean_dim(-1, false, None::<Kind>);
        assert!(largest(&(affine.scale.as_ref().unwrap() - &scale)) < 1e-14);
        assert!(largest(&(&affine.shift + &mean * &scale)) < 1e-14);
        let running = |name: &str| parameters.statistic(&format!("norm.{name}")).unwrap();
        assert!(largest(&(running("running_mean") - (&mean + &bias) * 0.1)) < 1e-14);
        assert!(largest(&(running("running_var") - (variance * 0.1 + 0.9))) < 1e-14);
        // The bias has no effect and yet a gradient, for the mean is a constant of the tape: the scale of its field.
        let gradient = Tensor::run_backward(&[affine.shift.sum(Kind::Double)], &[&bias], false, false);
        assert!(largest(&(&gradient[0] - scale.view([1, 2]))) < 1e-14);
    }

    #[test]
    fn evaluation_takes_off_what_was_seen_and_changes_nothing() {
        let (norm, parameters) = layer();
        parameters.statistic("norm.running_mean").unwrap().copy_(&numbers(&[3, 2], 2));
        parameters.statistic("norm.running_var").unwrap().copy_(&numbers(&[2], 3).square());
        let before = parameters.statistics().copy();
        let bias = parameters.get("bias").unwrap();
        let affine = norm.affine(&parameters, &numbers(&[1, 12, 1, 1, 1], 1), Some(&bias), Mode::Evaluate).unwrap();
        assert_eq!(before, *parameters.statistics());
        let scale = (parameters.statistic("norm.running_var").unwrap() + 1e-5).rsqrt();
        let shift = (&bias - parameters.statistic("norm.running_mean").unwrap()) * &scale;
        assert!(largest(&(affine.scale.unwrap() - &scale)) < 1e-14 && largest(&(affine.shift - shift)) < 1e-14);
    }

    #[test]
    fn one_number_of_a_channel_is_refused_in_training_and_changes_nothing() {
        let (norm, parameters) = layer();
        let before = parameters.statistics().copy();
        let message =
            norm.affine(&parameters, &numbers(&[1, 12, 1, 1, 1], 1), None, Mode::Train).unwrap_err().to_string();
        assert!(message.starts_with("batch: expected samples enough to normalise norm"), "{message}");
        assert_eq!(before, *parameters.statistics());
    }
}
