//! A residual pathway prior for shifts: a convolution and a dense map of low rank, added.
//!
//! ```text
//! y = K ⋆ x + b + B (A x + a) + c        A ∈ ℝ^{32 × in·HW},  B ∈ ℝ^{out·HW × 32};  then batch normalisation and ReLU, not on the last
//! ```
//!
//! The dense maps are nearly all of its parameters: at 64 × 64 five layers of six channels fit under the cap, seven do not.

use reynolds::random::Random;
use tch::Tensor;

use crate::smoke::networks::conv::{self, KERNEL, widths};
use crate::smoke::networks::{Forecaster, Frames, Mode, SmokeNetConfig};
use reynolds_torch::error::Result;
use reynolds_torch::layers::{BatchNorm, Conv2d, Linear};
use reynolds_torch::parameters::{Builder, Parameters};

/// The rank of the dense maps.
const RANK: usize = 32;

#[derive(Debug)]
struct Layer {
    convolution: Conv2d,
    dense: [Linear; 2],
}

/// The residual pathway network for shifts.
#[derive(Debug)]
pub(super) struct Rpp {
    layers: Vec<Layer>,
    norms: Vec<BatchNorm>,
}

impl Rpp {
    /// Adds `layers.N.weight` and `.bias`, `down.N` and `up.N`, `.weight` and `.bias` of each, and `norms.N`.
    ///
    /// # Errors
    /// As [`SmokeNetConfig::build`].
    pub(super) fn new(
        config: &SmokeNetConfig,
        frames: Frames,
        builder: &mut Builder,
        random: &mut Random,
    ) -> Result<Self> {
        let (widths, pixels) = (widths(config, frames), frames.side * frames.side);
        let dense = |pair: &[usize]| RANK * (pair[0] * pixels + 1) + pair[1] * pixels * (RANK + 1);
        config.at_most(conv::count(&widths, true) + widths.windows(2).map(dense).sum::<usize>())?;
        let layers = widths.windows(2).enumerate().map(|(number, pair)| {
            let (inputs, outputs) = (pair[0] * pixels, pair[1] * pixels);
            let convolution = Conv2d::new(builder, &format!("layers.{number}"), [pair[0], pair[1]], KERNEL, random)?;
            let down = Linear::new(builder, &format!("down.{number}"), inputs, RANK, random)?;
            let up = Linear::new(builder, &format!("up.{number}"), RANK, outputs, random)?;
            Ok(Layer { convolution, dense: [down, up] })
        });
        let layers = layers.collect::<Result<_>>()?;
        let norms = (1..config.layers)
            .map(|number| BatchNorm::new(builder, &format!("norms.{}", number - 1), config.hidden, 1));
        Ok(Self { layers, norms: norms.collect::<Result<_>>()? })
    }
}

impl Forecaster for Rpp {
    fn assemble(&self, parameters: &Parameters) -> Result<Vec<Tensor>> {
        self.layers.iter().map(|layer| layer.convolution.kernel(parameters)).collect()
    }

    fn forward(&self, parameters: &Parameters, assembled: &[Tensor], frames: &Tensor, mode: Mode) -> Result<Tensor> {
        let mut features = frames.shallow_clone();
        for (number, (layer, kernel)) in self.layers.iter().zip(assembled).enumerate() {
            let convolved = layer.convolution.forward(parameters, kernel, &features)?;
            let [down, up] = &layer.dense;
            // Pixels in the order of `[C, H, W]`, whatever the memory of the features.
            let dense =
                up.forward(parameters, &down.forward(parameters, &features.f_reshape([features.size()[0], -1])?)?)?;
            features = convolved.f_add(&dense.f_view(convolved.size().as_slice())?)?;
            if let Some(norm) = self.norms.get(number) {
                features = norm.forward(parameters, &features, mode)?.f_relu()?;
            }
        }
        Ok(features)
    }
}
