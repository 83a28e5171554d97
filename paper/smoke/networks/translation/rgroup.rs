//! RGroup for shifts: convolutions that are mixed by weights which depend on the pixel.
//!
//! ```text
//! y(p) = Σ_r w_r(p) (ψ_r ⋆ x + b_r)(p)        w_r(p) = 1/R to begin with; ReLU between the layers, no normalisation
//! ```
//!
//! The banks of a layer are one convolution with R · out channels. Σ_r w_r(p) b_r depends on the parameters alone: it is assembled once for
//! a rollout, and the products with w are added up on it one bank after the other, so that no tensor of R · out channels is written but by
//! the convolution. With 128 channels, five layers and two banks there are 977,412 parameters.
//!
//! All filters are rows of one length, hidden · k², bank beside bank: of the first layer one for each input, of all others one for each
//! output. So they are one matrix in the flat storage, and the biases another, whatever the number of layers.

use reynolds::random::Random;
use tch::Tensor;

use super::rgroup_penalty::RelaxedPenalty;
use super::variation::variation;
use crate::smoke::networks::conv::{KERNEL, count, widths};
use crate::smoke::networks::kernels::layers_of;
use crate::smoke::networks::{Forecaster, Frames, Held, Mode, NetworkPenalty, SmokeNetConfig};
use reynolds_torch::error::Result;
use reynolds_torch::layers::{convolve, kernel_layout, uniform};
use reynolds_torch::parameters::{Builder, Parameters};

/// The name of w, `[layers, R, H, W]`.
pub(super) const MIXING: &str = "mixing";
/// The names of ψ: `[1, in, R, hidden, k, k]`, `[layers − 2, hidden, R, hidden, k, k]` if there are such, and `[1, 2, R, hidden, k, k]`.
pub(super) const FILTERS: [&str; 3] = ["first.weight", "hidden.weight", "last.weight"];
/// The names of b: `[layers − 1, hidden, R]` and `[1, 2, R]`.
pub(super) const BIASES: [&str; 2] = ["bias", "last.bias"];
/// Channels of the frame forecast.
pub(super) const OUTPUTS: usize = 2;

/// The relaxed convolutional network.
#[derive(Debug)]
pub(super) struct Rgroup {
    /// Channels of the frames seen.
    pub(super) inputs: usize,
    pub(super) hidden: usize,
    pub(super) layers: usize,
    pub(super) banks: usize,
    pub(super) side: usize,
}

impl Rgroup {
    /// Adds [`FILTERS`], [`BIASES`] and [`MIXING`]; filters and biases begin as PyTorch's do.
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
        let (inputs, side) = (2 * frames.count, frames.side);
        let numbers = layers * banks * side * side;
        config.at_most(banks * count(&widths(config, frames), false) + numbers)?;
        let bounds = [inputs, hidden].map(|inputs| 1.0 / ((inputs * KERNEL * KERNEL) as f64).sqrt());
        let network = Self { inputs, hidden, layers, banks, side };
        for (name, [layers, rows]) in network.filters() {
            let shape = [layers, rows, banks, hidden, KERNEL, KERNEL];
            let bound = bounds[usize::from(name != FILTERS[0])];
            builder.real(name, &shape, &uniform(shape.iter().product(), bound, random))?;
        }
        let mut biases = uniform(hidden * banks, bounds[0], random);
        biases.extend(uniform((layers - 2) * hidden * banks, bounds[1], random));
        builder.real(BIASES[0], &[layers - 1, hidden, banks], &biases)?;
        builder.real(BIASES[1], &[1, OUTPUTS, banks], &uniform(OUTPUTS * banks, bounds[1], random))?;
        builder.real(MIXING, &[layers, banks, side, side], &vec![1.0 / banks as f64; numbers])?;
        Ok(network)
    }

    /// The names of ψ, with layers and rows of each.
    pub(super) fn filters(&self) -> impl Iterator<Item = (&'static str, [usize; 2])> {
        let sides = [[1, self.inputs], [self.layers - 2, self.hidden], [1, OUTPUTS]];
        FILTERS.into_iter().zip(sides).filter(|(_, [layers, _])| *layers > 0)
    }

    /// ψ of every layer, `[R · out, in, k, k]`, laid out by one copy for the first, one for the last and one for all between.
    fn kernels(&self, parameters: &Parameters) -> Result<Vec<Tensor>> {
        let mut kernels = Vec::with_capacity(self.layers);
        for (name, _) in self.filters() {
            let order = if name == FILTERS[0] { [0, 2, 3, 1, 4, 5] } else { [0, 2, 1, 3, 4, 5] };
            kernels.extend(layers_of(&parameters.get(name)?.f_permute(order)?.f_unsqueeze(4)?)?);
        }
        Ok(kernels)
    }

    /// Σ_r w_r b_r of every layer, `[1, out, H, W]`.
    fn mixed_biases(&self, parameters: &Parameters) -> Result<Vec<Tensor>> {
        let (last, side) = (self.layers as i64 - 1, self.side as i64);
        let mixing = parameters.get(MIXING)?.f_flatten(2, 3)?.f_split_with_sizes([last, 1], 0)?;
        let mut mixed = Vec::with_capacity(self.layers);
        for (name, mixing) in BIASES.into_iter().zip(mixing) {
            let fields = parameters.get(name)?.f_bmm(&mixing)?.f_unflatten(2, [side, side])?;
            mixed.extend(kernel_layout(fields)?.f_split(1, 0)?);
        }
        Ok(mixed)
    }
}

impl Forecaster for Rgroup {
    /// Of each layer: the kernel of all banks, `[R · out, in, k, k]`, Σ_r w_r b_r, `[1, out, H, W]`, and w_r for each bank, `[H, W]`.
    fn assemble(&self, parameters: &Parameters) -> Result<Vec<Tensor>> {
        let mut assembled = Vec::with_capacity(self.layers * (2 + self.banks));
        let mut mixing = parameters.get(MIXING)?.f_flatten(0, 1)?.f_unbind(0)?.into_iter();
        for (kernel, bias) in self.kernels(parameters)?.into_iter().zip(self.mixed_biases(parameters)?) {
            assembled.extend([kernel, bias]);
            assembled.extend(mixing.by_ref().take(self.banks));
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
        Ok(Some(variation(&parameters.get(MIXING)?, [2, 3])?))
    }

    fn penalty(&self, parameters: &Parameters, held: Held) -> Result<Option<Box<dyn NetworkPenalty>>> {
        Ok(Some(Box::new(RelaxedPenalty::new(self, parameters, held)?)))
    }
}
