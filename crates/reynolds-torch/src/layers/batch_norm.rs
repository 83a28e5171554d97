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

/// The parameters and running statistics of a normalisation.
#[derive(Debug, Clone)]
pub(super) struct NormParameters {
    name: String,
}

impl NormParameters {
    /// Adds `name.weight` (γ = 1) and `name.running_var`, of shape `fields`, `name.bias` (β = 0) and `name.running_mean`, of shape `scalars`.
    pub(super) fn new(builder: &mut Builder, name: &str, fields: &[usize], scalars: &[usize]) -> Result<Self> {
        let filled = |shape: &[usize], value: f64| vec![value; shape.iter().product()];
        builder.real(&format!("{name}.weight"), fields, &filled(fields, 1.0))?;
        builder.real(&format!("{name}.bias"), scalars, &filled(scalars, 0.0))?;
        builder.statistic(&format!("{name}.running_mean"), scalars, &filled(scalars, 0.0))?;
        builder.statistic(&format!("{name}.running_var"), fields, &filled(fields, 1.0))?;
        Ok(Self { name: name.into() })
    }

    /// γ, β and the running μ and σ².
    pub(super) fn get(&self, parameters: &Parameters) -> Result<[Tensor; 4]> {
        let part = |part: &str| format!("{}.{part}", self.name);
        let [mean, variance] = [part("running_mean"), part("running_var")];
        Ok([
            parameters.get(&part("weight"))?,
            parameters.get(&part("bias"))?,
            parameters.statistic(&mean)?,
            parameters.statistic(&variance)?,
        ])
    }

    /// Refuses too few numbers for a variance.
    pub(super) fn check(&self, numbers: i64, of: &str) -> Result<()> {
        if numbers >= 2 {
            return Ok(());
        }
        let expected = format!("samples enough to normalise {} with two numbers or more of each {of}", self.name);
        Err(Error::setting("batch", expected, numbers))
    }
}

/// `[N, fields · d, H, W]` or `[N, fields · d, D, H, W]` → the same; with d = 1 also `[N, fields]`.
#[derive(Debug, Clone)]
pub struct BatchNorm {
    held: NormParameters,
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
        let held = NormParameters::new(builder, name, &[fields], &[fields])?;
        Ok(Self { held, fields: fields as i64, field_dim: field_dim as i64 })
    }

    /// Kernel and bias, on the tape, of the one convolution that does what a convolution with `kernel`, `[fields · d, …]`, and `bias`,
    /// `[fields · d]`, followed by this layer in [`Mode::Evaluate`] does.
    pub fn fold(&self, parameters: &Parameters, kernel: &Tensor, bias: &Tensor) -> Result<[Tensor; 2]> {
        let spread = |numbers: &Tensor| match self.field_dim {
            1 => Ok(numbers.shallow_clone()),
            times => numbers.f_repeat_interleave_self_int(times, 0, None),
        };
        let [weight, shift, mean, variance] = self.held.get(parameters)?;
        let scale = spread(&weight.f_mul(&variance.f_add_scalar(Self::EPSILON)?.f_rsqrt()?)?)?;
        let shift = bias.f_sub(&spread(&mean)?)?.f_mul(&scale)?.f_add(&spread(&shift)?)?;
        let mut shape = vec![1; kernel.dim()];
        shape[0] = -1;
        Ok([kernel.f_mul(&scale.f_view(shape.as_slice())?)?, shift])
    }

    /// Normalises `input + shift` with a shift `[fields]` of a layer with d = 1, in [`Mode::Train`]. The normalisation takes the shift off
    /// again, so it is not added in the first place and its gradient is zero; the running mean is that of the sum.
    pub fn train_shifted(&self, parameters: &Parameters, input: &Tensor, shift: &Tensor) -> Result<Tensor> {
        let output = self.forward(parameters, input, Mode::Train)?;
        let _guard = tch::no_grad_guard();
        let [_, _, mean, _] = self.held.get(parameters)?;
        // Off the tape, as libtorch itself does: running statistics are never read in training.
        let _ = mean.f_data()?.f_add_(&shift.f_to_kind(mean.kind())?.f_mul_scalar(Self::MOMENTUM)?)?;
        Ok(output)
    }

    /// Normalises; in [`Mode::Train`] the running statistics follow the minibatch.
    ///
    /// # Errors
    /// [`Error::Setting`] if it trains on one number of each field, which has no variance; [`Error::Torch`] if the shapes do not fit.
    pub fn forward(&self, parameters: &Parameters, input: &Tensor, mode: Mode) -> Result<Tensor> {
        let size = input.size();
        if mode == Mode::Train {
            self.held.check(input.numel() as i64 / self.fields.max(1), "field")?;
        }
        let shared = match self.field_dim {
            1 => input.shallow_clone(),
            _ => input.f_reshape([&[size[0], self.fields, self.field_dim * size[2]], &size[3..]].concat())?,
        };
        let [scale, shift, mean, variance] = self.held.get(parameters)?;
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
    use tch::{Device, Kind};

    use super::*;
    use crate::testing::{built, largest, normal};

    fn input() -> Tensor {
        normal(&[2, 8, 3, 3], 3) * 3.0 + 2.0
    }

    fn layer(fields: usize, field_dim: usize) -> (BatchNorm, Parameters) {
        built(|builder| BatchNorm::new(builder, "bn", fields, field_dim))
    }

    fn train((layer, parameters): &(BatchNorm, Parameters), input: &Tensor) -> Tensor {
        layer.forward(parameters, input, Mode::Train).unwrap()
    }

    #[test]
    fn training_normalises_each_field_and_evaluation_uses_what_was_seen() {
        for shape in [&[2, 8, 3, 3][..], &[1, 8, 2, 3, 3]] {
            let (layer, input) = (layer(2, 4), input().view(shape));
            let output = train(&layer, &input).detach();
            let mean = |tensor: &Tensor| tensor.mean(Kind::Double).double_value(&[]);
            let seen = |name: &str, field: i64| layer.1.statistic(name).unwrap().double_value(&[field]);
            for field in 0..2 {
                let [before, after] = [&input, &output].map(|of| of.narrow(1, 4 * field, 4));
                assert!(mean(&after).abs() < 1e-12);
                // The variance is v/(v + ε) with v ≈ 9.
                assert!((after.var(false).double_value(&[]) - 1.0).abs() < 1e-5);
                assert!((seen("bn.running_mean", field) - 0.1 * mean(&before)).abs() < 1e-12);
                let unbiased = before.var(true).double_value(&[]);
                assert!((seen("bn.running_var", field) - (0.9 + 0.1 * unbiased)).abs() < 1e-12);
            }
            let before = layer.1.statistics().copy();
            let once = layer.0.forward(&layer.1, &input, Mode::Evaluate).unwrap();
            assert_eq!(before, *layer.1.statistics());
            assert!(largest(&(once - output)) > 0.1);
        }
    }

    #[test]
    fn one_number_of_a_field_is_refused_in_training_and_changes_nothing() {
        let single = input().narrow(0, 0, 1).narrow(2, 0, 1).narrow(3, 0, 1).contiguous();
        let (plain, parameters) = layer(8, 1);
        let before = parameters.statistics().copy();
        let message = plain.forward(&parameters, &single, Mode::Train).unwrap_err().to_string();
        assert!(message.starts_with("batch: expected samples enough to normalise bn"), "{message}");
        assert_eq!(before, *parameters.statistics());
        assert!(plain.forward(&parameters, &single, Mode::Evaluate).is_ok());
        // Four channels of a field are four numbers.
        let fields = layer(2, 4);
        let _ = train(&fields, &single);
        assert!(largest(fields.1.statistics()).is_finite());
    }

    #[test]
    fn it_commutes_with_a_permutation_inside_the_fields() {
        let (layer, turn) = (layer(2, 4), Tensor::from_slice(&[3_i64, 0, 1, 2, 7, 4, 5, 6]));
        let first = train(&layer, &input().index_select(1, &turn));
        assert!(largest(&(first - train(&layer, &input()).index_select(1, &turn))) < 1e-12);
    }

    #[test]
    fn a_shift_before_it_is_seen_by_the_running_mean_alone() {
        let (first, second) = (layer(8, 1), layer(8, 1));
        let shift = Tensor::arange(8, (Kind::Double, Device::Cpu)).cos();
        let expected = train(&first, &(input() + shift.view([8, 1, 1])));
        let found = second.0.train_shifted(&second.1, &input(), &shift).unwrap();
        assert!(largest(&(expected - found)) < 1e-12);
        assert!(largest(&(first.1.statistics() - second.1.statistics())) < 1e-14);
    }

    #[test]
    fn folded_into_a_convolution_it_is_evaluated_with_it() {
        let (norm, mut parameters) = layer(2, 4);
        let (kernel, bias) = (normal(&[8, 8, 3, 3], 4), normal(&[8], 5));
        let _ = norm.forward(&parameters, &input(), Mode::Train).unwrap();
        parameters.assign(&Tensor::from_slice(&[0.5, -2.0, 0.25, 3.0])).unwrap();
        let convolve = |kernel: &Tensor, bias: &Tensor| input().conv2d(kernel, Some(bias), [1, 1], [1, 1], [1, 1], 1);
        let expected = norm.forward(&parameters, &convolve(&kernel, &bias), Mode::Evaluate).unwrap();
        let [kernel, shift] = norm.fold(&parameters, &kernel, &bias).unwrap();
        assert!(largest(&(convolve(&kernel, &shift) - &expected)) < 1e-12 * largest(&expected));
    }

    #[test]
    fn a_rollout_through_one_layer_has_a_gradient() {
        let layer = layer(8, 1);
        let output = (0..3).fold(input(), |frame, _| train(&layer, &frame).relu());
        assert!(largest(&layer.1.gradient(&output.square().sum(Kind::Double)).unwrap()) > 1e-6);
    }
}
