//! The stack of residual blocks that X-nets and M-nets are made of.
//!
//! ```text
//! x ← ReLU(x + BN(K₂ ⋆ ReLU(BN(K₁ ⋆ x + b₁)) + b₂))      5 × 5, zero padding 2, C channels in and out
//! ```
//!
//! Normalisation of a minibatch takes away what a bias adds. So in training the bias is left out of the convolution and added to the
//! running mean alone, unless outputs are observed; its gradient is then zero. In evaluation scale and shift of the normalisation go into
//! kernel and bias.
//!
//! Kernels of all blocks are laid out, cast and padded together, once a step. In bf16 channels are padded with zeros to a multiple of 8, for
//! faster convolutions (`docs/gpu-notes.md`); there the first channel can be an image that 8 bits of mantissa would spoil: its sums are made
//! a second time, in the type of the parameters.
//!
//! The tape keeps 4B + 1/4 numbers (f32) for every number of the stream of B blocks: input, both outputs of convolutions, hidden layer,
//! streams between blocks, a byte for each zero at the end. With 36 channels, 3 blocks, 256² and a minibatch of 4 that is 441 MiB.

use super::channels::first;
use super::{Mode, Pass, Precision};
use crate::network::Seen;
use reynolds::random::Random;
use reynolds_torch::error::{Error, Result};
use reynolds_torch::layers::{self, BatchNorm, convolve, uniform};
use reynolds_torch::parameters::{Builder, Parameters};
use tch::{TchError, Tensor};

/// The side of the kernels.
const SIDE: usize = 5;

#[derive(Debug)]
pub(super) struct ResidualNet {
    channels: usize,
    /// Two for each block.
    layers: Vec<Layer>,
}

/// Names of a convolution and of its normalisation.
#[derive(Debug)]
struct Layer {
    convolution: String,
    norm: String,
}

impl ResidualNet {
    /// Adds `name.B.conv1.weight`, `[C, C, 5, 5]`, and `.conv1.bias`, with PyTorch's initial values, `.norm1.…`, `.conv2.…` and `.norm2.…`
    /// for every block B.
    pub(super) fn new(
        builder: &mut Builder,
        name: &str,
        channels: usize,
        blocks: usize,
        random: &mut Random,
    ) -> Result<Self> {
        let inputs = channels * SIDE * SIDE;
        let bound = 1.0 / (inputs as f64).sqrt();
        let mut layers = Vec::with_capacity(2 * blocks);
        for number in 0..2 * blocks {
            let (block, half) = (number / 2, number % 2 + 1);
            let (convolution, norm) = (format!("{name}.{block}.conv{half}"), format!("{name}.{block}.norm{half}"));
            let weight = uniform(channels * inputs, bound, random);
            builder.real(&format!("{convolution}.weight"), &[channels, channels, SIDE, SIDE], &weight)?;
            builder.real(&format!("{convolution}.bias"), &[channels], &uniform(channels, bound, random))?;
            BatchNorm::new(builder, &norm, channels, 1)?;
            layers.push(Layer { convolution, norm });
        }
        Ok(Self { channels, layers })
    }

    pub(super) fn kernels(&self) -> Vec<String> {
        self.layers.iter().map(|layer| format!("{}.weight", layer.convolution)).collect()
    }

    /// Channels of the stream in a pass: C, and zeros to a multiple of 8 in bf16.
    pub(super) fn width(&self, precision: Precision) -> i64 {
        match precision {
            Precision::F32 => self.channels as i64,
            Precision::Bf16 => self.channels.next_multiple_of(8) as i64,
        }
    }

    /// How many tensors [`ResidualNet::assemble`] makes.
    pub(super) fn assembled(&self, mode: Mode) -> usize {
        self.layers.len() + if mode == Mode::Train { 3 } else { 1 }
    }

    /// Every kernel, then all biases `[layers, C]`; in training also γ and β of the normalisation, which evaluation has in the others:
    ///
    /// ```text
    /// sK and s(b − μ) + β,   s = γ/√(σ² + ε), with the running μ and σ²
    /// ```
    pub(super) fn assemble(&self, parameters: &Parameters, pass: Pass) -> Result<Vec<Tensor>> {
        let padding = self.width(pass.precision) - self.channels as i64;
        self.with_zeros(parameters, pass, padding)
    }

    /// [`ResidualNet::assemble`] with `padding` channels of zeros; kernels have channels innermost in memory.
    fn with_zeros(&self, parameters: &Parameters, pass: Pass, padding: i64) -> Result<Vec<Tensor>> {
        let innermost = |kernel: Tensor| kernel.f_permute([0, 2, 3, 1]);
        let mut kernels = self.stacked(parameters, |layer| format!("{}.weight", layer.convolution), innermost)?;
        let mut biases = self.stacked(parameters, |layer| format!("{}.bias", layer.convolution), Ok)?;
        let scale = self.stacked(parameters, |layer| format!("{}.weight", layer.norm), Ok)?;
        let shift = self.stacked(parameters, |layer| format!("{}.bias", layer.norm), Ok)?;
        if pass.mode == Mode::Evaluate {
            let statistics = self.statistics(parameters)?;
            let deviation = statistics.f_select(1, 1)?.f_add_scalar(BatchNorm::EPSILON)?.f_sqrt()?;
            let scale = scale.f_div(&deviation)?;
            biases = biases.f_sub(&statistics.f_select(1, 0)?)?.f_mul(&scale)?.f_add(&shift)?;
            kernels = kernels.f_mul(&scale.f_view([self.layers.len() as i64, -1, 1, 1, 1])?)?;
        }
        kernels = pass.precision.cast(&kernels)?;
        if padding > 0 {
            kernels = kernels.f_constant_pad_nd([0, padding, 0, 0, 0, 0, 0, padding])?;
        }
        let mut assembled = kernels.f_permute([0, 1, 4, 2, 3])?.f_unbind(0)?;
        assembled.push(padded(&pass.precision.cast(&biases)?, padding)?);
        if pass.mode == Mode::Train {
            assembled.extend([padded(&scale, padding)?, padded(&shift, padding)?]);
        }
        Ok(assembled)
    }

    /// A parameter of all layers, each as `seen`, `[layers, …]`: one copy, and one in the backward pass.
    fn stacked(
        &self,
        parameters: &Parameters,
        name: impl Fn(&Layer) -> String,
        seen: impl Fn(Tensor) -> Result<Tensor, TchError>,
    ) -> Result<Tensor> {
        let part = |layer: &Layer| Ok(seen(parameters.get(&name(layer))?)?);
        Ok(Tensor::f_stack(&self.layers.iter().map(part).collect::<Result<Vec<_>>>()?, 0)?)
    }

    /// The running statistics of all layers, `[layers, (μ, σ²), C]`, as they lie in the storage.
    fn statistics(&self, parameters: &Parameters) -> Result<Tensor> {
        let first = format!("{}.running_mean", self.layers[0].norm);
        let entry = parameters.statistics_entries().iter().find(|entry| entry.name == first);
        let start = entry.expect("statistics of a layer that was built").start as i64;
        let (layers, channels) = (self.layers.len() as i64, self.channels as i64);
        Ok(parameters.statistics().f_narrow(0, start, 2 * layers * channels)?.f_view([layers, 2, channels])?)
    }

    /// All blocks on `stream`, `[N, width, H, W]` in the precision of the pass. `image`, `[N, 1, H, W]`, is its first channel in the type of
    /// the parameters, if that has to stay exact: it is returned beside the stream, whose own is rounded. `seen` is called in training.
    pub(super) fn forward(
        &self,
        parameters: &Parameters,
        assembled: &[Tensor],
        (mut stream, mut image): (Tensor, Option<Tensor>),
        pass: Pass,
        mut seen: Option<&mut Seen<'_>>,
    ) -> Result<(Tensor, Option<Tensor>)> {
        let (kernels, rows) = assembled.split_at(self.layers.len());
        let rows = rows.iter().map(|rows| rows.f_unbind(0)).collect::<Result<Vec<_>, _>>()?;
        let mut minibatch = Vec::new();
        for block in 0..self.layers.len() / 2 {
            let mut half = |number: usize, input: &Tensor| -> Result<Tensor> {
                let (kernel, bias) = (&kernels[number], &rows[0][number]);
                if pass.mode == Mode::Evaluate {
                    return convolve(input, kernel, Some(bias), 1);
                }
                let output = convolve(input, kernel, None, 1)?;
                if let Some(seen) = seen.as_mut() {
                    let output = output.f_add(&bias.f_view([-1, 1, 1])?)?;
                    seen(&first(&output, self.channels as i64)?)?;
                }
                let (output, mean, deviation) = normalise(&output, &rows[1][number], &rows[2][number])?;
                minibatch.extend([mean, deviation]);
                Ok(output)
            };
            let hidden = half(2 * block, &stream)?.f_relu_()?;
            let mut change = half(2 * block + 1, &hidden)?;
            if let Some(exact) = image.as_mut() {
                let change = first(&change, 1)?.f_to_kind(exact.kind())?;
                *exact = exact.f_add(&change)?.f_relu_()?;
            }
            let mut sum = change.f_add_(&stream)?;
            stream = match pass.mode == Mode::Train && 2 * (block + 1) == self.layers.len() {
                true => rectified(sum)?,
                false => sum.f_relu_()?,
            };
        }
        if pass.mode == Mode::Train {
            let size = stream.size();
            self.follow(parameters, &minibatch, (size[0] * size[2] * size[3]) as f64)?;
        }
        Ok((stream, image))
    }

    /// Running statistics follow those of a minibatch of `count` numbers a channel: μ and 1/√(σ² + ε), `[width]`, of every layer without its
    /// bias.
    fn follow(&self, parameters: &Parameters, minibatch: &[Tensor], count: f64) -> Result<()> {
        let _guard = tch::no_grad_guard();
        let mut statistics = self.statistics(parameters)?;
        let minibatch = Tensor::f_stack(minibatch, 0)?.f_view([self.layers.len() as i64, 2, -1])?;
        let minibatch = minibatch.f_narrow(2, 0, self.channels as i64)?;
        let biases = self.stacked(parameters, |layer| format!("{}.bias", layer.convolution), Ok)?;
        let means = minibatch.f_select(1, 0)?.f_add(&biases)?;
        let variances = minibatch.f_select(1, 1)?.f_pow_tensor_scalar(-2.0)?.f_sub_scalar(BatchNorm::EPSILON)?;
        let newest = Tensor::f_stack(&[means, variances.f_mul_scalar(count / (count - 1.0))?], 1)?;
        let _ = statistics.f_lerp_(&newest, BatchNorm::MOMENTUM)?;
        Ok(())
    }
}

/// γ(x − μ)/√(σ² + ε) + β over the minibatch, with μ and 1/√(σ² + ε), `[width]`.
fn normalise(input: &Tensor, scale: &Tensor, shift: &Tensor) -> Result<(Tensor, Tensor, Tensor)> {
    let size = input.size();
    let count = size[0] * size[2] * size[3];
    if count < 2 {
        return Err(Error::setting("batch", "at least two numbers of each channel to normalise by", count));
    }
    layers::normalise(input, [scale, shift], None)
}

/// ReLU in place, of which the tape keeps a mask of zeros instead of the result, which nothing else keeps.
fn rectified(mut stream: Tensor) -> Result<Tensor> {
    let zero = stream.f_detach()?.f_le(0.0)?;
    Ok(stream.f_masked_fill_(&zero, 0.0)?)
}

/// Rows `[layers, C]` with zeros behind.
fn padded(rows: &Tensor, padding: i64) -> Result<Tensor> {
    Ok(if padding > 0 { rows.f_constant_pad_nd([0, padding])? } else { rows.shallow_clone() })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::network::{EVALUATE, TRAIN};
    use crate::testing::largest;
    use tch::{Device, Kind};

    fn net() -> (ResidualNet, Parameters, Tensor) {
        let mut builder = Parameters::builder();
        let mut random = Random::new(1);
        let net = ResidualNet::new(&mut builder, "x.0", 6, 2, &mut random).unwrap();
        let mut parameters = builder.build(Kind::Double, Device::Cpu).unwrap();
        let numbers: Vec<f64> = (0..parameters.len()).map(|_| 0.3 * random.normal()).collect();
        parameters.assign(&Tensor::from_slice(&numbers)).unwrap();
        let input: Vec<f64> = (0..2 * 6 * 7 * 8).map(|_| random.normal()).collect();
        (net, parameters, Tensor::from_slice(&input).view([2, 6, 7, 8]))
    }

    /// Block after block, with [`BatchNorm`].
    fn plainly(parameters: &Parameters, input: &Tensor, mode: Mode) -> Tensor {
        let mut builder = Parameters::builder();
        let mut stream = input.shallow_clone();
        for block in 0..2 {
            let mut half = |half: usize, input: &Tensor| {
                let part = |part: &str| parameters.get(&format!("x.0.{block}.conv{half}.{part}")).unwrap();
                let output = input.conv2d(&part("weight"), Some(&part("bias")), [1, 1], [2, 2], [1, 1], 1);
                let norm = BatchNorm::new(&mut builder, &format!("x.0.{block}.norm{half}"), 6, 1).unwrap();
                norm.forward(parameters, &output, mode).unwrap()
            };
            let hidden = half(1, &stream).relu();
            stream = (&stream + half(2, &hidden)).relu();
        }
        stream
    }

    #[test]
    fn nets_with_zeros_behind_their_channels_are_the_plain_one_in_training_and_evaluation() {
        for padding in [0, 2] {
            let (net, parameters, input) = net();
            let (_, reference, _) = self::net();
            // In evaluation the running statistics of the training before it are seen.
            for pass in [TRAIN, EVALUATE] {
                let mode = pass.mode;
                let expected = plainly(&reference, &input, mode);
                let assembled = net.with_zeros(&parameters, pass, padding).unwrap();
                assert_eq!(assembled.len(), net.assembled(mode));
                let stream = input.constant_pad_nd([0, 0, 0, 0, 0, padding]);
                let (output, _) = net.forward(&parameters, &assembled, (stream, None), pass, None).unwrap();
                assert!(largest(&output.narrow(1, 0, 6) - &expected) < 1e-12, "{padding} {mode:?}");
                assert!(padding == 0 || largest(&output.narrow(1, 6, padding) - &Tensor::from(0.0)) == 0.0);
                assert!(largest(parameters.statistics() - reference.statistics()) < 1e-13);
                let gradient = parameters.gradient(&output.square().sum(Kind::Double)).unwrap();
                let expected = reference.gradient(&expected.square().sum(Kind::Double)).unwrap();
                let scale = f64::try_from(expected.abs().max()).unwrap();
                assert!(largest(&gradient - &expected) < 1e-12 * scale, "{padding} {mode:?}");
            }
        }
    }

    #[test]
    fn an_exact_first_channel_is_that_of_the_stream_with_its_gradient() {
        let (net, parameters, input) = net();
        for pass in [TRAIN, EVALUATE] {
            let assembled = net.assemble(&parameters, pass).unwrap();
            let run = |exact: bool| {
                let input = input.copy().set_requires_grad(true);
                let image = exact.then(|| input.narrow(1, 0, 1));
                let part = (input.shallow_clone(), image);
                let (stream, image) = net.forward(&parameters, &assembled, part, pass, None).unwrap();
                let image = image.unwrap_or_else(|| stream.narrow(1, 0, 1));
                let loss = image.square().sum(Kind::Double) + stream.narrow(1, 1, 5).sum(Kind::Double);
                let gradient = Tensor::run_backward(&[loss], &[&input], true, false).remove(0);
                (image, gradient)
            };
            let (before, after) = (run(false), run(true));
            assert!(largest(&before.0 - &after.0) < 1e-12 && largest(&before.1 - &after.1) < 1e-10);
        }
    }

    #[test]
    fn one_number_of_a_channel_is_refused_in_training() {
        let (net, parameters, input) = net();
        let assembled = net.assemble(&parameters, TRAIN).unwrap();
        let single = input.narrow(0, 0, 1).narrow(2, 0, 1).narrow(3, 0, 1);
        let error = net.forward(&parameters, &assembled, (single, None), TRAIN, None).unwrap_err();
        assert!(error.to_string().starts_with("batch: expected at least two numbers"), "{error}");
    }
}
