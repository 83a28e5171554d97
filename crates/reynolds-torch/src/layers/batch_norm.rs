//! Batch normalisation whose statistics are shared inside a field.
//!
//! ```text
//! y = γ_f (x − μ_f)/√(σ²_f + ε) + β_f      μ_f, σ²_f over the minibatch, the image and the d channels of field f
//! ```
//!
//! With d = 1 this is the ordinary one, of images or volumes. With the d = |G| channels of a regular field it commutes with the group.

use tch::Tensor;

use super::{Mode, normalise};
use crate::error::{Error, Result};
use crate::parameters::{Builder, Parameters};

/// `[N, fields · d, H, W]` or `[N, fields · d, D, H, W]` → the same; with d = 1 also `[N, fields]`.
#[derive(Debug, Clone)]
pub struct BatchNorm {
    name: String,
    fields: i64,
    field_dim: i64,
}

impl BatchNorm {
    /// ε.
    pub const EPSILON: f64 = 1e-5;
    /// The weight of the newest minibatch in the running statistics.
    pub const MOMENTUM: f64 = 0.1;

    /// Adds `name.weight` (γ = 1) and `name.bias` (β = 0), `[fields]`, and the running statistics `name.running_mean` and
    /// `name.running_var`. A field is `field_dim` channels in a row.
    pub fn new(builder: &mut Builder, name: &str, fields: usize, field_dim: usize) -> Result<Self> {
        builder.real(&format!("{name}.weight"), &[fields], &vec![1.0; fields])?;
        builder.real(&format!("{name}.bias"), &[fields], &vec![0.0; fields])?;
        builder.statistic(&format!("{name}.running_mean"), &[fields], &vec![0.0; fields])?;
        builder.statistic(&format!("{name}.running_var"), &[fields], &vec![1.0; fields])?;
        Ok(Self { name: name.into(), fields: fields as i64, field_dim: field_dim as i64 })
    }

    /// Kernel and bias, on the tape, of the one convolution that does what a convolution with `kernel`, `[fields · d, …]`, and `bias`,
    /// `[fields · d]`, and then this layer in [`Mode::Evaluate`] do, with the parameters and running statistics of now.
    pub fn fold(&self, parameters: &Parameters, kernel: &Tensor, bias: &Tensor) -> Result<[Tensor; 2]> {
        let part = |part: &str| format!("{}.{part}", self.name);
        let spread = |numbers: &Tensor| match self.field_dim {
            1 => Ok(numbers.shallow_clone()),
            times => numbers.f_repeat_interleave_self_int(times, 0, None),
        };
        let variance = parameters.statistic(&part("running_var"))?.f_add_scalar(Self::EPSILON)?;
        let scale = spread(&parameters.get(&part("weight"))?.f_mul(&variance.f_rsqrt()?)?)?;
        let centred = bias.f_sub(&spread(&parameters.statistic(&part("running_mean"))?)?)?;
        let shift = centred.f_mul(&scale)?.f_add(&spread(&parameters.get(&part("bias"))?)?)?;
        let mut shape = vec![1; kernel.dim()];
        shape[0] = -1;
        Ok([kernel.f_mul(&scale.f_view(shape.as_slice())?)?, shift])
    }

    /// Normalises `input + shift` with a shift `[fields]` of a layer with d = 1, in [`Mode::Train`]: the normalisation takes the shift off
    /// again, so that it is not added in the first place, and its gradient is zero; the running mean is that of the sum.
    pub fn train_shifted(&self, parameters: &Parameters, input: &Tensor, shift: &Tensor) -> Result<Tensor> {
        let output = self.forward(parameters, input, Mode::Train)?;
        let _guard = tch::no_grad_guard();
        // As libtorch itself does behind the tape, which keeps running statistics and never reads them in training.
        let mut mean = parameters.statistic(&format!("{}.running_mean", self.name))?.f_data()?;
        let _ = mean.f_add_(&shift.f_to_kind(mean.kind())?.f_mul_scalar(Self::MOMENTUM)?)?;
        Ok(output)
    }

    /// Normalises; in [`Mode::Train`] the running statistics follow the minibatch.
    ///
    /// # Errors
    /// [`Error::Setting`] if it trains on one number of each field, which has no variance; [`Error::Torch`] if the shapes do not fit.
    pub fn forward(&self, parameters: &Parameters, input: &Tensor, mode: Mode) -> Result<Tensor> {
        let size = input.size();
        let numbers = input.numel() as i64 / self.fields.max(1);
        if mode == Mode::Train && numbers < 2 {
            let expected = format!("samples enough to normalise {} with two numbers or more of each field", self.name);
            return Err(Error::setting("batch", expected, numbers));
        }
        let part = |part: &str| format!("{}.{part}", self.name);
        let shared = match self.field_dim {
            1 => input.shallow_clone(),
            _ => input.f_reshape([&[size[0], self.fields, self.field_dim * size[2]], &size[3..]].concat())?,
        };
        let (scale, shift) = (parameters.get(&part("weight"))?, parameters.get(&part("bias"))?);
        let [mean, variance] = [part("running_mean"), part("running_var")];
        let (mean, variance) = (parameters.statistic(&mean)?, parameters.statistic(&variance)?);
        let (output, ..) = match mode {
            Mode::Train => normalise(&shared, [&scale, &shift], Some([&mean, &variance]))?,
            // libtorch's own kernels, as in training.
            Mode::Evaluate => shared.f_native_batch_norm(
                Some(&scale),
                Some(&shift),
                Some(&mean),
                Some(&variance),
                false,
                Self::MOMENTUM,
                Self::EPSILON,
            )?,
        };
        Ok(if self.field_dim == 1 { output } else { output.f_reshape(size.as_slice())? })
    }
}

#[cfg(test)]
mod tests {
    use reynolds::random::Random;
    use tch::{Device, Kind};

    use super::*;

    fn input(channels: i64) -> Tensor {
        let mut random = Random::new(3);
        let numbers: Vec<f64> = (0..2 * channels * 9).map(|_| 2.0 + 3.0 * random.normal()).collect();
        Tensor::from_slice(&numbers).view([2, channels, 3, 3])
    }

    fn layer(fields: usize, field_dim: usize) -> (BatchNorm, Parameters) {
        let mut builder = Parameters::builder();
        let layer = BatchNorm::new(&mut builder, "bn", fields, field_dim).unwrap();
        (layer, builder.build(Kind::Double, Device::Cpu).unwrap())
    }

    #[test]
    fn training_normalises_each_field_and_evaluation_uses_what_was_seen() {
        let (layer, parameters) = layer(2, 4);
        let input = input(8);
        let output = layer.forward(&parameters, &input, Mode::Train).unwrap();
        for field in 0..2 {
            let values = output.detach().narrow(1, 4 * field, 4);
            assert!(f64::try_from(values.mean(Kind::Double)).unwrap().abs() < 1e-12);
            // The variance is v/(v + ε) with v ≈ 9.
            assert!((f64::try_from(values.var(false)).unwrap() - 1.0).abs() < 1e-5);
            let seen = f64::try_from(parameters.statistic("bn.running_mean").unwrap().get(field)).unwrap();
            let mean = f64::try_from(input.narrow(1, 4 * field, 4).mean(Kind::Double)).unwrap();
            assert!((seen - 0.1 * mean).abs() < 1e-12);
            let seen = f64::try_from(parameters.statistic("bn.running_var").unwrap().get(field)).unwrap();
            let unbiased = f64::try_from(input.narrow(1, 4 * field, 4).var(true)).unwrap();
            assert!((seen - (0.9 + 0.1 * unbiased)).abs() < 1e-12);
        }
        let mean = parameters.statistic("bn.running_mean").unwrap().copy();
        let once = layer.forward(&parameters, &input, Mode::Evaluate).unwrap();
        assert_eq!(mean, parameters.statistic("bn.running_mean").unwrap());
        assert!(f64::try_from((once - output).abs().max()).unwrap() > 0.1);
    }

    #[test]
    fn one_number_of_a_field_is_refused_in_training_and_changes_nothing() {
        let single = input(8).narrow(0, 0, 1).narrow(2, 0, 1).narrow(3, 0, 1).contiguous();
        let (plain, parameters) = layer(8, 1);
        let before = parameters.statistics().copy();
        let message = plain.forward(&parameters, &single, Mode::Train).unwrap_err().to_string();
        assert!(message.starts_with("batch: expected samples enough to normalise bn"), "{message}");
        assert_eq!(before, *parameters.statistics());
        assert!(plain.forward(&parameters, &single, Mode::Evaluate).is_ok());
        // Four channels of a field are four numbers.
        let (fields, parameters) = layer(2, 4);
        let _ = fields.forward(&parameters, &single, Mode::Train).unwrap();
        assert!(f64::try_from(parameters.statistics().isfinite().all().to_kind(Kind::Double)).unwrap() == 1.0);
    }

    #[test]
    fn it_commutes_with_a_permutation_inside_the_fields() {
        let (layer, parameters) = layer(2, 4);
        let (input, turn) = (input(8), Tensor::from_slice(&[3_i64, 0, 1, 2, 7, 4, 5, 6]));
        let first = layer.forward(&parameters, &input.index_select(1, &turn), Mode::Train).unwrap();
        let second = layer.forward(&parameters, &input, Mode::Train).unwrap().index_select(1, &turn);
        assert!(f64::try_from((first - second).abs().max()).unwrap() < 1e-12);
    }

    #[test]
    fn volumes_are_normalised_by_field() {
        let (layer, parameters) = layer(2, 4);
        let input = input(8).view([1, 8, 2, 3, 3]);
        let output = layer.forward(&parameters, &input, Mode::Train).unwrap();
        assert_eq!(output.size(), input.size());
        assert!(f64::try_from(output.detach().narrow(1, 4, 4).mean(Kind::Double)).unwrap().abs() < 1e-12);
    }

    #[test]
    fn a_shift_before_it_is_seen_by_the_running_mean_alone() {
        let (first, second) = (layer(8, 1), layer(8, 1));
        let (input, shift) = (input(8), Tensor::arange(8, (Kind::Double, Device::Cpu)).cos());
        let expected = first.0.forward(&first.1, &(&input + shift.view([8, 1, 1])), Mode::Train).unwrap();
        let found = second.0.train_shifted(&second.1, &input, &shift).unwrap();
        assert!(f64::try_from((expected - found).abs().max()).unwrap() < 1e-12);
        assert!(f64::try_from((first.1.statistics() - second.1.statistics()).abs().max()).unwrap() < 1e-14);
    }

    #[test]
    fn folded_into_a_convolution_it_is_evaluated_with_it() {
        let (norm, parameters) = layer(2, 4);
        let (volumes, kernel) = (input(8), input(8).narrow(0, 0, 1).view([8, 1, 3, 3]).repeat([1, 8, 1, 1]));
        let bias = Tensor::arange(8, (Kind::Double, Device::Cpu)).cos();
        let _ = norm.forward(&parameters, &volumes, Mode::Train).unwrap();
        parameters.assign(&Tensor::from_slice(&[0.5, -2.0, 0.25, 3.0])).unwrap();
        let convolve = |kernel: &Tensor, bias: &Tensor| volumes.conv2d(kernel, Some(bias), [1, 1], [1, 1], [1, 1], 1);
        let expected = norm.forward(&parameters, &convolve(&kernel, &bias), Mode::Evaluate).unwrap();
        let [kernel, shift] = norm.fold(&parameters, &kernel, &bias).unwrap();
        let error = f64::try_from((convolve(&kernel, &shift) - &expected).abs().max()).unwrap();
        assert!(error < 1e-12 * f64::try_from(expected.abs().max()).unwrap(), "{error:e}");
    }

    #[test]
    fn a_rollout_through_one_layer_has_a_gradient() {
        let (layer, parameters) = layer(8, 1);
        let mut frame = input(8);
        for _ in 0..3 {
            frame = layer.forward(&parameters, &frame, Mode::Train).unwrap().relu();
        }
        let gradient = parameters.gradient(&frame.square().sum(Kind::Double)).unwrap();
        assert!(f64::try_from(gradient.abs().max()).unwrap() > 1e-6);
    }
}
