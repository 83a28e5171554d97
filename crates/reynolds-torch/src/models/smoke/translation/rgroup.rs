//! RGroup for shifts: convolutions that are mixed by weights which depend on the pixel.
//!
//! ```text
//! y(p) = Σ_r w_r(p) (ψ_r ⋆ x + b_r)(p)        w_r(p) = 1/R to begin with; ReLU between the layers, no normalisation
//! ```
//!
//! The banks of a layer are one convolution with R · out channels. Σ_r w_r(p) b_r depends on the parameters alone: it is assembled once for
//! a rollout, and the products with w are added up on it one bank after the other, so that no tensor of R · out channels is written but by
//! the convolution. With 128 channels, five layers and two banks there are 977,412 parameters.

use reynolds::random::Random;
use tch::Tensor;

use super::rgroup_penalty::RelaxedPenalty;
use super::variation::variation;
use crate::error::Result;
use crate::layers::{convolve, kernel_layout, uniform};
use crate::models::smoke::conv::{KERNEL, count, widths};
use crate::models::smoke::{Forecaster, Frames, Held, Mode, NetworkPenalty, SmokeNetConfig};
use crate::parameters::{Builder, Parameters};

/// The name of w, `[layers, R, H, W]`.
pub(super) const MIXING: &str = "mixing";

/// Layers of equal widths, held in one tensor.
#[derive(Debug)]
pub(super) struct Stack {
    /// ψ of these layers, `[layers, R, out, in, k, k]`.
    pub(super) weight: String,
    /// b of these layers, `[layers, R, out]`.
    pub(super) bias: String,
    /// Layers, R, out, in · k².
    pub(super) sides: [i64; 4],
}

impl Stack {
    fn new(
        builder: &mut Builder,
        name: &str,
        [layers, banks]: [usize; 2],
        [inputs, outputs]: [usize; 2],
        random: &mut Random,
    ) -> Result<Self> {
        let (weight, bias) = (format!("{name}.weight"), format!("{name}.bias"));
        let taps = inputs * KERNEL * KERNEL;
        let (biases, bound) = (layers * banks * outputs, 1.0 / (taps as f64).sqrt());
        let shape = [layers, banks, outputs, inputs, KERNEL, KERNEL];
        builder.real(&weight, &shape, &uniform(biases * taps, bound, random))?;
        builder.real(&bias, &[layers, banks, outputs], &uniform(biases, bound, random))?;
        Ok(Self { weight, bias, sides: [layers, banks, outputs, taps].map(|side| side as i64) })
    }
}

/// The relaxed convolutional network.
#[derive(Debug)]
pub(super) struct Rgroup {
    /// First layer, those between, last layer.
    stacks: Vec<Stack>,
    layers: usize,
    banks: usize,
}

impl Rgroup {
    /// Adds `first`, `hidden` and `last`, `.weight` and `.bias` of each, and `mixing`; filters and biases begin as PyTorch's do.
    ///
    /// # Errors
    /// As [`SmokeNetConfig::build`].
    pub(super) fn new(
        config: &SmokeNetConfig,
        frames: Frames,
        builder: &mut Builder,
        random: &mut Random,
    ) -> Result<Self> {
        let SmokeNetConfig { hidden, layers, banks, .. } = *config;
        let numbers = layers * banks * frames.side * frames.side;
        config.at_most(banks * count(&widths(config, frames), false) + numbers)?;
        let mut stack =
            |name: &str, layers: usize, widths: [usize; 2]| Stack::new(builder, name, [layers, banks], widths, random);
        let mut stacks = vec![stack("first", 1, [2 * frames.count, hidden])?];
        if layers > 2 {
            stacks.push(stack("hidden", layers - 2, [hidden, hidden])?);
        }
        stacks.push(stack("last", 1, [hidden, 2])?);
        let shape = [layers, banks, frames.side, frames.side];
        builder.real(MIXING, &shape, &vec![1.0 / banks as f64; numbers])?;
        Ok(Self { stacks, layers, banks })
    }
}

impl Forecaster for Rgroup {
    /// Of each layer: the kernel of all banks, `[R · out, in, k, k]`, Σ_r w_r b_r, `[1, out, H, W]`, and w_r for each bank, `[H, W]`.
    fn assemble(&self, parameters: &Parameters) -> Result<Vec<Tensor>> {
        let mut assembled = Vec::with_capacity(self.layers * (2 + self.banks));
        let mut mixing = parameters.get(MIXING).f_unbind(0)?.into_iter();
        for stack in &self.stacks {
            let weights = parameters.get(&stack.weight).f_flatten(1, 2)?.f_unbind(0)?;
            let biases = parameters.get(&stack.bias).f_unbind(0)?;
            for ((weight, bias), mixing) in weights.into_iter().zip(biases).zip(&mut mixing) {
                let mixed = bias.f_transpose(0, 1)?.f_matmul(&mixing.f_flatten(1, 2)?)?;
                let side = mixing.size()[1];
                assembled.push(kernel_layout(weight)?);
                assembled.push(kernel_layout(mixed.f_view([1, -1, side, side])?)?);
                assembled.extend(mixing.f_unbind(0)?);
            }
        }
        Ok(assembled)
    }

    fn forward(&self, _: &Parameters, assembled: &[Tensor], frames: &Tensor, _: Mode) -> Result<Tensor> {
        let mut features = frames.shallow_clone();
        for (number, layer) in assembled.chunks(2 + self.banks).enumerate() {
            let banks = convolve(&features, &layer[0], None, 1)?.f_chunk(self.banks as i64, 1)?;
            features = layer[1].shallow_clone();
            for (bank, mixing) in banks.iter().zip(&layer[2..]) {
                features = features.f_addcmul(bank, mixing)?;
            }
            if number + 1 < self.layers {
                features = features.f_relu_()?;
            }
        }
        Ok(features)
    }

    /// Over all layers together, mean |w(y + 1, x) − w(y, x)| + mean |w(y, x + 1) − w(y, x)|.
    fn constraint(&self, parameters: &Parameters, _: &[Tensor]) -> Result<Option<Tensor>> {
        Ok(Some(variation(&parameters.get(MIXING), [2, 3])?))
    }

    fn penalty(&self, parameters: &Parameters, held: Held) -> Result<Option<Box<dyn NetworkPenalty>>> {
        Ok(Some(Box::new(RelaxedPenalty::new(&self.stacks, parameters, held)?)))
    }
}
