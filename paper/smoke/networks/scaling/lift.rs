//! Lift: a steerable backbone that is told a global vector by an unconstrained encoder.
//!
//! ```text
//! frames ──κ₁, ReLU, κ₂, ReLU──► h features ──┐
//!    └──linear, ReLU, linear, ReLU, linear──► h/2 numbers, at every pixel, before the features ──κ₃, ReLU … κ_L──► 2 channels
//! ```
//!
//! The vector is the same for all scales. As in Equiv the last layer reads scale 1 alone, and nothing else is computed.

use reynolds::random::Random;
use tch::Tensor;

use super::steerable::{LAST_SCALES, Mixing, Read, SCALES, ScaleBasis, ScaleConv};
use crate::smoke::networks::conv::widths;
use crate::smoke::networks::{Forecaster, Frames, Mode, SmokeNetConfig};
use reynolds_torch::error::{Error, Result};
use reynolds_torch::layers::Linear;
use reynolds_torch::parameters::{Builder, Parameters};

/// Layers before the vector is told.
const BEFORE: usize = 2;

/// A steerable backbone with an encoder.
#[derive(Debug)]
pub(super) struct LiftNet {
    encoder: [Linear; 3],
    layers: Vec<ScaleConv>,
}

impl LiftNet {
    /// Adds `encoder.N.weight`, `encoder.N.bias`, `layers.N.weight` and `layers.N.bias`.
    pub(super) fn new(
        config: &SmokeNetConfig,
        frames: Frames,
        builder: &mut Builder,
        random: &mut Random,
    ) -> Result<Self> {
        let SmokeNetConfig { hidden, layers, .. } = *config;
        if layers <= BEFORE + 1 {
            return Err(Error::setting("layers", format!("more than {} for lift", BEFORE + 1), layers));
        }
        if hidden < 2 {
            return Err(Error::setting("hidden", "at least 2 for lift", hidden));
        }
        let bases = [ScaleBasis::new(&SCALES, Mixing::Shared)?, ScaleBasis::new(&LAST_SCALES, Mixing::Shared)?];
        let (widths, told) = (widths(config, frames), hidden / 2);
        let inputs = |number: usize| widths[number] + if number == BEFORE { told } else { 0 };
        let numbers = 2 * frames.count * frames.side * frames.side;
        let encoder = [[numbers, hidden], [hidden, hidden], [hidden, told]];
        let backbone = (0..layers).map(|number| widths[number + 1] * (inputs(number) * bases[0].coefficients() + 1));
        let encoding = encoder.iter().map(|[inputs, outputs]| outputs * (inputs + 1));
        config.at_most(backbone.chain(encoding).sum())?;
        let mut linear = |number: usize| {
            let [inputs, outputs] = encoder[number];
            Linear::new(builder, &format!("encoder.{number}"), inputs, outputs, random)
        };
        let encoder = [linear(0)?, linear(1)?, linear(2)?];
        let layers = (0..layers).map(|number| {
            let basis = &bases[usize::from(number + 1 == layers)];
            let channels = [inputs(number), widths[number + 1]];
            let layer = ScaleConv::new(builder, &format!("layers.{number}"), channels, basis, random)?;
            layer.add_bias(builder)?;
            Ok(layer)
        });
        Ok(Self { encoder, layers: layers.collect::<Result<_>>()? })
    }

    /// The global vector `[N, h/2]` of frames.
    fn told(&self, parameters: &Parameters, frames: &Tensor) -> Result<Tensor> {
        let [first, second, third] = &self.encoder;
        let code = first.forward(parameters, &frames.f_reshape([frames.size()[0], -1])?)?.f_relu()?;
        third.forward(parameters, &second.forward(parameters, &code)?.f_relu()?)
    }
}

impl Forecaster for LiftNet {
    fn assemble(&self, parameters: &Parameters) -> Result<Vec<Tensor>> {
        self.layers.iter().map(|layer| layer.kernel(parameters, Read::First)).collect()
    }

    fn forward(&self, parameters: &Parameters, assembled: &[Tensor], frames: &Tensor, _mode: Mode) -> Result<Tensor> {
        let mut features = frames.shallow_clone();
        for (number, (layer, kernel)) in self.layers.iter().zip(assembled).enumerate() {
            if number == BEFORE {
                let size = features.size();
                let told = self.told(parameters, frames)?.f_unsqueeze(2)?.f_unsqueeze(3)?;
                features = Tensor::f_cat(&[told.f_expand([-1, -1, size[2], size[3]], false)?, features], 1)?;
            }
            features = layer.forward(parameters, kernel, &features)?;
            if number + 1 < self.layers.len() {
                features = features.f_relu()?;
            }
        }
        Ok(features)
    }
}
