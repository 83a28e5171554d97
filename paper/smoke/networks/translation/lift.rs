//! Lift expansion for shifts: a convolutional network that is told a global vector.
//!
//! ```text
//! z = Linear ∘ [ReLU ∘ BN ∘ Linear] ∘ [ReLU ∘ BN ∘ Linear] (all frames)        z ∈ ℝ^hidden, the same at every pixel
//! x → conv → conv → (·, z) → conv → … → conv                                    BN and ReLU after all but the last
//! ```

use reynolds::random::Random;
use tch::Tensor;

use crate::smoke::networks::conv::{self, KERNEL};
use crate::smoke::networks::{Forecaster, Frames, Mode, SmokeNetConfig};
use reynolds_torch::error::{Error, Result};
use reynolds_torch::layers::{BatchNorm, Conv2d, Linear, kernel_layout};
use reynolds_torch::parameters::{Builder, Parameters};

/// Convolutions before the vector is appended.
const BEFORE: usize = 2;

/// The lift expansion network for shifts.
#[derive(Debug)]
pub(super) struct Lift {
    encoder: [Linear; 3],
    encoder_norms: [BatchNorm; 2],
    layers: Vec<Conv2d>,
    norms: Vec<BatchNorm>,
}

impl Lift {
    /// Adds `encoder.N`, `encoder_norms.N`, `layers.N` and `norms.N`.
    ///
    /// # Errors
    /// [`Error::Setting`] if there are fewer than three layers; as [`SmokeNetConfig::build`].
    pub(super) fn new(
        config: &SmokeNetConfig,
        frames: Frames,
        builder: &mut Builder,
        random: &mut Random,
    ) -> Result<Self> {
        let SmokeNetConfig { hidden, layers, .. } = *config;
        if layers <= BEFORE {
            return Err(Error::setting(
                "layers",
                format!("more than {BEFORE}, after which the vector is appended"),
                layers,
            ));
        }
        let numbers = 2 * frames.count * frames.side * frames.side;
        let widths = conv::widths(config, frames);
        let encoder = hidden * (numbers + 1) + 2 * hidden * (hidden + 1) + 4 * hidden;
        let appended = widths[BEFORE + 1] * hidden * KERNEL * KERNEL;
        config.at_most(conv::count(&widths, true) + encoder + appended)?;
        let mut linear =
            |number: usize, inputs: usize| Linear::new(builder, &format!("encoder.{number}"), inputs, hidden, random);
        let encoder = [linear(0, numbers)?, linear(1, hidden)?, linear(2, hidden)?];
        let mut norm = |name: &str, number: usize| BatchNorm::new(builder, &format!("{name}.{number}"), hidden, 1);
        let encoder_norms = [norm("encoder_norms", 0)?, norm("encoder_norms", 1)?];
        let norms = (1..layers).map(|number| norm("norms", number - 1)).collect::<Result<_>>()?;
        let layers = widths.windows(2).enumerate().map(|(number, pair)| {
            let inputs = pair[0] + if number == BEFORE { hidden } else { 0 };
            Conv2d::new(builder, &format!("layers.{number}"), [inputs, pair[1]], KERNEL, random)
        });
        Ok(Self { encoder, encoder_norms, layers: layers.collect::<Result<_>>()?, norms })
    }

    /// z, `[N, hidden]`.
    fn encode(&self, parameters: &Parameters, frames: &Tensor, mode: Mode) -> Result<Tensor> {
        let samples = frames.size()[0];
        let mut vector = frames.f_reshape([samples, -1])?;
        for (layer, norm) in self.encoder.iter().zip(&self.encoder_norms) {
            vector = norm.forward(parameters, &layer.forward(parameters, &vector)?, mode)?.f_relu()?;
        }
        self.encoder[2].forward(parameters, &vector)
    }
}

impl Forecaster for Lift {
    fn assemble(&self, parameters: &Parameters) -> Result<Vec<Tensor>> {
        self.layers.iter().map(|layer| layer.kernel(parameters)).collect()
    }

    fn forward(&self, parameters: &Parameters, assembled: &[Tensor], frames: &Tensor, mode: Mode) -> Result<Tensor> {
        let vector = self.encode(parameters, frames, mode)?.f_unsqueeze(2)?.f_unsqueeze(3)?;
        let mut features = frames.shallow_clone();
        for (number, (layer, kernel)) in self.layers.iter().zip(assembled).enumerate() {
            if number == BEFORE {
                let field = kernel_layout(vector.f_expand_as(&features)?)?;
                features = Tensor::f_cat(&[&features, &field], 1)?;
            }
            features = layer.forward(parameters, kernel, &features)?;
            if let Some(norm) = self.norms.get(number) {
                features = norm.forward(parameters, &features, mode)?.f_relu()?;
            }
        }
        Ok(features)
    }
}
