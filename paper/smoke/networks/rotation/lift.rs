//! Lift: the steerable network, told a global vector by an encoder without symmetry.
//!
//! ```text
//! frames ──conv, conv──► h regular fields ─┬─conv, conv, …──► next frame
//!    └──encoder──► h numbers, as h/4 regular fields, the same at every pixel ─┘
//! encoder: linear, normalise, ReLU, linear, normalise, ReLU, linear, of the flattened frames
//! ```
//!
//! The encoder is what may break the symmetry: without it the network commutes with quarter turns, with it it need not. Wang's code has
//! the side of another data set written into the encoder; here it is that of the frames.

use reynolds::random::Random;
use tch::Tensor;

use super::equiv::{Equiv, count, widths};
use super::fields::Field;
use crate::smoke::networks::{Forecaster, Frames, Mode, SmokeNetConfig};
use reynolds_torch::error::{Error, Result};
use reynolds_torch::layers::{BatchNorm, Linear};
use reynolds_torch::parameters::{Builder, Parameters};

/// Layers before the global vector comes in.
const BEFORE: usize = 2;

/// A steerable network with an encoder.
#[derive(Debug)]
pub(super) struct Lift {
    backbone: Equiv,
    linear: Vec<Linear>,
    norms: Vec<BatchNorm>,
}

impl Lift {
    /// Adds its parameters to `builder`.
    pub(super) fn new(
        config: &SmokeNetConfig,
        frames: Frames,
        builder: &mut Builder,
        random: &mut Random,
    ) -> Result<Self> {
        let (hidden, regular) = (config.hidden, Field::Regular);
        if hidden % regular.dim() != 0 {
            return Err(Error::setting("hidden", "a multiple of 4 for lift", hidden));
        }
        if config.layers <= BEFORE {
            return Err(Error::setting("layers", format!("more than {BEFORE} for lift"), config.layers));
        }
        let fields = widths(config, frames);
        let (mut inputs, outputs) = (fields[..config.layers].to_vec(), &fields[1..]);
        inputs[BEFORE].0 += hidden / regular.dim();
        let seen = 2 * frames.count * frames.side * frames.side;
        let encoder = hidden * (seen + 1) + 2 * hidden * (hidden + 1) + 4 * hidden;
        config.at_most(encoder + count(&inputs, outputs))?;
        let backbone = Equiv::over(&inputs, outputs, builder, random)?;
        let sizes = [seen, hidden, hidden, hidden];
        let linear = sizes
            .windows(2)
            .enumerate()
            .map(|(number, pair)| Linear::new(builder, &format!("encoder.{number}"), pair[0], pair[1], random));
        let linear = linear.collect::<Result<_>>()?;
        let norms = (0..2).map(|number| BatchNorm::new(builder, &format!("encoder.norms.{number}"), hidden, 1));
        Ok(Self { backbone, linear, norms: norms.collect::<Result<_>>()? })
    }

    /// The global vector `[N, hidden]`.
    fn encode(&self, parameters: &Parameters, frames: &Tensor, mode: Mode) -> Result<Tensor> {
        let mut state = frames.f_flatten(1, -1)?;
        for (number, linear) in self.linear.iter().enumerate() {
            state = linear.forward(parameters, &state)?;
            if let Some(norm) = self.norms.get(number) {
                let image = state.f_unsqueeze(2)?.f_unsqueeze(3)?;
                state = norm.forward(parameters, &image, mode)?.f_flatten(1, -1)?.f_relu()?;
            }
        }
        Ok(state)
    }
}

impl Forecaster for Lift {
    fn assemble(&self, parameters: &Parameters) -> Result<Vec<Tensor>> {
        self.backbone.assemble(parameters)
    }

    fn forward(&self, parameters: &Parameters, assembled: &[Tensor], frames: &Tensor, mode: Mode) -> Result<Tensor> {
        let mut state = frames.shallow_clone();
        for (number, kernel) in assembled.iter().enumerate() {
            if number == BEFORE {
                let code = self.encode(parameters, frames, mode)?.f_unsqueeze(2)?.f_unsqueeze(3)?;
                let size = state.size();
                let everywhere = code.f_expand([size[0], code.size()[1], size[2], size[3]], false)?;
                state = Tensor::f_cat(&[&state, &everywhere], 1)?;
            }
            state = self.backbone.layer(number, parameters, kernel, &state, mode)?;
        }
        Ok(state)
    }
}
