//! The plain convolutional network.
//!
//! ```text
//! [ conv3 → batch normalisation → ReLU ] × (L − 1) → conv3
//! ```
//!
//! It commutes with shifts away from the border, where the padding is zero. For data that change their size Wang's is without the
//! normalisation.

use reynolds::random::Random;
use tch::Tensor;

use super::{Forecaster, Frames, Mode, SmokeNetConfig};
use reynolds_torch::error::Result;
use reynolds_torch::layers::{BatchNorm, Conv2d};
use reynolds_torch::parameters::{Builder, Parameters};

/// The side of every kernel.
pub(super) const KERNEL: usize = 3;

/// Channels before, between and after the layers: 2T, `hidden` …, 2.
pub(super) fn widths(config: &SmokeNetConfig, frames: Frames) -> Vec<usize> {
    let mut widths = vec![config.hidden; config.layers + 1];
    (widths[0], widths[config.layers]) = (2 * frames.count, 2);
    widths
}

/// Convolutions of these widths, with or without normalisation between them.
#[derive(Debug)]
pub(super) struct ConvNet {
    layers: Vec<Conv2d>,
    /// One fewer than layers, or none.
    norms: Vec<BatchNorm>,
}

impl ConvNet {
    /// Adds `layers.N.weight`, `layers.N.bias` and, if `normalised`, `norms.N.weight`, `norms.N.bias` and their running statistics.
    ///
    /// # Errors
    /// As [`SmokeNetConfig::build`].
    pub(super) fn new(
        config: &SmokeNetConfig,
        frames: Frames,
        normalised: bool,
        builder: &mut Builder,
        random: &mut Random,
    ) -> Result<Self> {
        let widths = widths(config, frames);
        config.at_most(count(&widths, normalised))?;
        let pairs = widths.windows(2).enumerate();
        let layers = pairs.map(|(number, pair)| {
            Conv2d::new(builder, &format!("layers.{number}"), [pair[0], pair[1]], KERNEL, random)
        });
        let layers = layers.collect::<Result<_>>()?;
        let norms = if normalised { config.layers - 1 } else { 0 };
        let norms = (0..norms).map(|number| BatchNorm::new(builder, &format!("norms.{number}"), config.hidden, 1));
        Ok(Self { layers, norms: norms.collect::<Result<_>>()? })
    }
}

/// Parameters of convolutions of these widths, and of the normalisation between them.
pub(super) fn count(widths: &[usize], normalised: bool) -> usize {
    let convolutions: usize = widths.windows(2).map(|pair| pair[1] * (pair[0] * KERNEL * KERNEL + 1)).sum();
    let norms: usize = widths[1..widths.len() - 1].iter().map(|width| 2 * width).sum();
    convolutions + if normalised { norms } else { 0 }
}

impl Forecaster for ConvNet {
    fn assemble(&self, parameters: &Parameters) -> Result<Vec<Tensor>> {
        self.layers.iter().map(|layer| layer.kernel(parameters)).collect()
    }

    fn forward(&self, parameters: &Parameters, assembled: &[Tensor], frames: &Tensor, mode: Mode) -> Result<Tensor> {
        let mut features = frames.shallow_clone();
        for (number, (layer, kernel)) in self.layers.iter().zip(assembled).enumerate() {
            features = layer.forward(parameters, kernel, &features)?;
            if let Some(norm) = self.norms.get(number) {
                features = norm.forward(parameters, &features, mode)?;
            }
            if number + 1 < self.layers.len() {
                features = features.f_relu()?;
            }
        }
        Ok(features)
    }
}

#[cfg(test)]
mod tests {
    use tch::{Device, Kind};

    use super::*;
    use crate::smoke::networks::{Architecture, Symmetry};

    fn build(hidden: usize, layers: usize, frames: Frames, builder: &mut Builder) -> Result<Box<dyn Forecaster>> {
        let config = SmokeNetConfig { architecture: Architecture::Equiv, hidden, layers, ..SmokeNetConfig::default() };
        config.build(Symmetry::Translation, frames, builder, &mut Random::new(1))
    }

    #[test]
    fn the_published_sizes_have_the_published_counts() {
        let mut builder = Parameters::builder();
        build(128, 5, Frames::default(), &mut builder).unwrap();
        assert_eq!(builder.build(Kind::Float, Device::Cpu).unwrap().len(), 469_250);
        let config = SmokeNetConfig { hidden: 128, ..SmokeNetConfig::default() };
        let mut builder = Parameters::builder();
        ConvNet::new(&config, Frames::default(), false, &mut builder, &mut Random::new(1)).unwrap();
        assert_eq!(builder.build(Kind::Float, Device::Cpu).unwrap().len(), 468_226);
    }

    #[test]
    fn a_network_that_memory_would_not_hold_is_refused_before_it_is_drawn() {
        let message = build(4096, 64, Frames::default(), &mut Parameters::builder()).err().unwrap().to_string();
        assert!(message.starts_with("hidden: expected a network of at most 10000000 parameters"), "{message}");
    }

    #[test]
    fn it_commutes_with_shifts_away_from_the_border() {
        let mut builder = Parameters::builder();
        let network = build(6, 3, Frames { count: 2, side: 16 }, &mut builder).unwrap();
        let parameters = builder.build(Kind::Float, Device::Cpu).unwrap();
        let mut random = Random::new(2);
        let numbers: Vec<f32> = (0..2 * 4 * 256).map(|_| random.normal() as f32).collect();
        let frames = Tensor::from_slice(&numbers).view([2, 4, 16, 16]);
        let kernels = network.assemble(&parameters).unwrap();
        let run = |frames: &Tensor, mode: Mode| network.forward(&parameters, &kernels, frames, mode).unwrap().detach();
        // Running statistics that do something.
        let _ = run(&frames, Mode::Train);
        let (here, there) = (run(&frames, Mode::Evaluate), run(&frames.roll([2, 1], [2, 3]), Mode::Evaluate));
        // Three layers see three pixels far, and rows and columns wrap around by two and one.
        let crop = |image: &Tensor| image.narrow(2, 5, 8).narrow(3, 4, 9);
        let scale = f64::try_from(here.abs().max()).unwrap();
        let difference = f64::try_from((crop(&there) - crop(&here.roll([2, 1], [2, 3]))).abs().max()).unwrap();
        assert!(difference < 1e-5 * scale, "{difference} of {scale}");
        let at_the_border = f64::try_from((&there - here.roll([2, 1], [2, 3])).abs().max()).unwrap();
        assert!(at_the_border > 1e-2 * scale);
    }
}
