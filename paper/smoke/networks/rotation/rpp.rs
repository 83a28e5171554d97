//! RPP: a residual pathway prior, a steerable convolution and a dense one added in every layer.
//!
//! ```text
//! y = (K_steerable + K_dense) ⋆ x + b      then batch normalisation of every channel and ReLU, but after the last layer
//! ```
//!
//! The two kernels are added before the convolution, which is the sum of the two convolutions at half their cost. Normalising every
//! channel for itself, as Wang's code does, breaks the symmetry too once the channels of a field have different statistics.

use reynolds::random::Random;
use tch::Tensor;

use super::equiv::widths;
use super::steerable_conv::SteerableConv;
use crate::smoke::networks::{Forecaster, Frames, Mode, SmokeNetConfig};
use reynolds_torch::error::Result;
use reynolds_torch::layers::{BatchNorm, Conv2d};
use reynolds_torch::parameters::{Builder, Parameters};

/// What Wang's code multiplies the constraint by.
const SCALE: f64 = 1e-6;

/// Equivariant and unconstrained pathways side by side.
#[derive(Debug)]
pub(super) struct Rpp {
    steerable: Vec<SteerableConv>,
    dense: Vec<Conv2d>,
    norms: Vec<BatchNorm>,
}

fn dense_name(number: usize) -> String {
    format!("dense.{number}")
}

impl Rpp {
    /// Adds its parameters to `builder`.
    pub(super) fn new(
        config: &SmokeNetConfig,
        frames: Frames,
        builder: &mut Builder,
        random: &mut Random,
    ) -> Result<Self> {
        let fields = widths(config, frames);
        let channels: Vec<usize> = fields.iter().map(|(count, field)| count * field.dim()).collect();
        let steerable: usize = fields.windows(2).map(|pair| SteerableConv::count(pair[0], pair[1])).sum();
        config.at_most(steerable + crate::smoke::networks::conv::count(&channels, true))?;
        let mut network = Self { steerable: Vec::new(), dense: Vec::new(), norms: Vec::new() };
        for number in 0..config.layers {
            let (domain, codomain) = (fields[number], fields[number + 1]);
            let name = format!("steerable.{number}");
            network.steerable.push(SteerableConv::new(builder, &name, domain, codomain, random)?);
            let pair = [channels[number], channels[number + 1]];
            network.dense.push(Conv2d::new(builder, &dense_name(number), pair, 3, random)?);
            if number + 1 < config.layers {
                network.norms.push(BatchNorm::new(builder, &format!("norms.{number}"), pair[1], 1)?);
            }
        }
        Ok(network)
    }
}

impl Forecaster for Rpp {
    fn assemble(&self, parameters: &Parameters) -> Result<Vec<Tensor>> {
        let pairs = self.steerable.iter().zip(&self.dense);
        pairs.map(|(steerable, dense)| Ok(steerable.kernel(parameters)?.f_add(&dense.kernel(parameters)?)?)).collect()
    }

    fn forward(&self, parameters: &Parameters, assembled: &[Tensor], frames: &Tensor, mode: Mode) -> Result<Tensor> {
        let mut state = frames.shallow_clone();
        for (number, (dense, kernel)) in self.dense.iter().zip(assembled).enumerate() {
            state = dense.forward(parameters, kernel, &state)?;
            if let Some(norm) = self.norms.get(number) {
                state = norm.forward(parameters, &state, mode)?.f_relu()?;
            }
        }
        Ok(state)
    }

    /// 10⁻⁶ Σ‖dense weights and biases‖². Wang's code has no α here: its constraint is this one at α = 1.
    fn constraint(&self, parameters: &Parameters, _assembled: &[Tensor]) -> Result<Option<Tensor>> {
        let mut squares = Vec::with_capacity(2 * self.dense.len());
        for (number, part) in (0..self.dense.len()).flat_map(|number| [(number, "weight"), (number, "bias")]) {
            let weights = parameters.get(&format!("{}.{part}", dense_name(number)))?;
            squares.push(weights.f_square()?.f_sum(weights.kind())?);
        }
        Ok(Some(Tensor::f_stack(&squares, 0)?.f_sum(parameters.flat().kind())?.f_mul_scalar(SCALE)?))
    }
}
