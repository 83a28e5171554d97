//! A network of locally connected layers, the body of every constrained locally connected network.
//!
//! ```text
//! [ local3 → activation ] × (L − 1) → local3
//! ```
//!
//! Wang's code makes biases and normalisations for it and uses neither; there are none here. All begin uniform in ±1/√(9 in), as the one
//! for shifts does there.

use reynolds::random::Random;
use tch::Tensor;

use super::conv::{KERNEL, widths};
use super::{Frames, SmokeNetConfig};
use crate::smoke::networks::LocallyConnected;
use reynolds_torch::error::Result;
use reynolds_torch::parameters::{Builder, Parameters};

/// Locally connected layers from frames to a frame.
#[derive(Debug)]
pub(super) struct LocalNet {
    layers: Vec<LocallyConnected>,
}

impl LocalNet {
    /// Adds `layers.N.weight`.
    ///
    /// # Errors
    /// As [`SmokeNetConfig::build`].
    pub(super) fn new(
        config: &SmokeNetConfig,
        frames: Frames,
        builder: &mut Builder,
        random: &mut Random,
    ) -> Result<Self> {
        let widths = widths(config, frames);
        let count = |pair: &[usize]| LocallyConnected::count([pair[0], pair[1]], KERNEL, frames.side);
        config.at_most(widths.windows(2).map(count).sum())?;
        let pairs = widths.windows(2).enumerate();
        let layers = pairs.map(|(number, pair)| {
            let name = format!("layers.{number}");
            LocallyConnected::new(builder, &name, [pair[0], pair[1]], KERNEL, frames.side, random)
        });
        Ok(Self { layers: layers.collect::<Result<_>>()? })
    }

    /// The weights of every layer, on the tape, `[H, W, out, k, k, in]`.
    pub(super) fn weights(&self, parameters: &Parameters) -> impl Iterator<Item = Result<Tensor>> {
        self.layers.iter().map(|layer| layer.weight(parameters))
    }

    /// The next frame `[N, 2, H, W]` of `[N, 2T, H, W]`, with this activation between the layers.
    ///
    /// # Errors
    /// [`Error::Torch`](reynolds_torch::Error::Torch) if the shape does not fit or the device has no room.
    pub(super) fn forward(
        &self,
        parameters: &Parameters,
        frames: &Tensor,
        activation: fn(&Tensor) -> Result<Tensor, tch::TchError>,
    ) -> Result<Tensor> {
        let mut features = LocallyConnected::pixels_first(frames)?;
        for (number, layer) in self.layers.iter().enumerate() {
            features = layer.forward(parameters, &features)?;
            if number + 1 < self.layers.len() {
                features = activation(&features)?;
            }
        }
        LocallyConnected::images(&features)
    }
}
