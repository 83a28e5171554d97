//! Equiv: a C4-steerable network.
//!
//! ```text
//! T vectors ──conv──► h regular fields ──normalise, ReLU, conv──► … ──conv──► 1 vector
//! ```
//!
//! Statistics of the normalisation are shared inside a field and a ReLU acts on each channel of regular fields, so that every step
//! commutes with quarter turns.

use reynolds::random::Random;
use tch::Tensor;

use super::fields::{Field, Fields};
use super::steerable_conv::SteerableConv;
use crate::smoke::networks::{Forecaster, Frames, Mode, SmokeNetConfig};
use reynolds_torch::error::Result;
use reynolds_torch::layers::{BatchNorm, convolve};
use reynolds_torch::parameters::{Builder, Parameters};

/// Fields before, between and after the layers.
pub(super) fn widths(config: &SmokeNetConfig, frames: Frames) -> Vec<Fields> {
    let mut widths = vec![(config.hidden, Field::Regular); config.layers + 1];
    (widths[0], widths[config.layers]) = ((frames.count, Field::Vector), (1, Field::Vector));
    widths
}

/// Parameters of a network that maps `inputs[l]` to `outputs[l]` in layer l.
pub(super) fn count(inputs: &[Fields], outputs: &[Fields]) -> usize {
    let convolutions: usize = inputs.iter().zip(outputs).map(|(&i, &o)| SteerableConv::count(i, o)).sum();
    let norms: usize = outputs[..outputs.len() - 1].iter().map(|(fields, _)| 2 * fields).sum();
    convolutions + norms
}

/// An exactly equivariant network.
#[derive(Debug)]
pub(super) struct Equiv {
    layers: Vec<SteerableConv>,
    norms: Vec<BatchNorm>,
}

impl Equiv {
    /// Adds its parameters to `builder`.
    pub(super) fn new(
        config: &SmokeNetConfig,
        frames: Frames,
        builder: &mut Builder,
        random: &mut Random,
    ) -> Result<Self> {
        let widths = widths(config, frames);
        let (inputs, outputs) = (&widths[..config.layers], &widths[1..]);
        config.at_most(count(inputs, outputs))?;
        Self::over(inputs, outputs, builder, random)
    }

    /// Layers from `inputs[l]` to `outputs[l]` fields, normalised after all but the last.
    pub(super) fn over(
        inputs: &[Fields],
        outputs: &[Fields],
        builder: &mut Builder,
        random: &mut Random,
    ) -> Result<Self> {
        let mut layers = Vec::with_capacity(outputs.len());
        let mut norms = Vec::new();
        for (number, (&domain, &codomain)) in inputs.iter().zip(outputs).enumerate() {
            layers.push(SteerableConv::new(builder, &format!("layers.{number}"), domain, codomain, random)?);
            if number + 1 < outputs.len() {
                norms.push(BatchNorm::new(builder, &format!("norms.{number}"), codomain.0, codomain.1.dim())?);
            }
        }
        Ok(Self { layers, norms })
    }

    /// Layer `number` with its normalisation and ReLU, if it has one.
    pub(super) fn layer(
        &self,
        number: usize,
        parameters: &Parameters,
        kernel: &Tensor,
        input: &Tensor,
        mode: Mode,
    ) -> Result<Tensor> {
        let output = convolve(input, kernel, None, 1)?;
        match self.norms.get(number) {
            Some(norm) => Ok(norm.forward(parameters, &output, mode)?.f_relu()?),
            None => Ok(output),
        }
    }
}

impl Forecaster for Equiv {
    fn assemble(&self, parameters: &Parameters) -> Result<Vec<Tensor>> {
        self.layers.iter().map(|layer| layer.kernel(parameters)).collect()
    }

    fn forward(&self, parameters: &Parameters, assembled: &[Tensor], frames: &Tensor, mode: Mode) -> Result<Tensor> {
        let mut state = frames.shallow_clone();
        for (number, kernel) in assembled.iter().enumerate() {
            state = self.layer(number, parameters, kernel, &state, mode)?;
        }
        Ok(state)
    }
}
