//! RSteer: a network of relaxed steerable convolutions.
//!
//! ```text
//! T vectors ──K₁──► h regular fields ──ReLU, K₂──► … ──ReLU, K_L──► 1 vector      K_l mixed position by position, a bias a channel
//! ```
//!
//! No normalisation: Wang's code makes one and does not use it. With 92 fields and five layers it has 5,595,442 parameters.

use reynolds::random::Random;
use tch::Tensor;

use super::fields::{Field, POSITIONS};
use super::relaxed_steerable::RelaxedSteerable;
use super::steerable_penalty::SteerablePenalty;
use crate::smoke::networks::{Forecaster, Frames, Held, Mode, NetworkPenalty, SmokeNetConfig};
use reynolds_torch::error::Result;
use reynolds_torch::layers::convolve;
use reynolds_torch::parameters::{Builder, Parameters};

/// A relaxed C4-steerable network.
#[derive(Debug)]
pub(super) struct Rsteer {
    /// First layer, those between, last layer.
    stacks: Vec<RelaxedSteerable>,
    layers: usize,
}

impl Rsteer {
    /// Adds its parameters to `builder`.
    pub(super) fn new(
        config: &SmokeNetConfig,
        frames: Frames,
        builder: &mut Builder,
        random: &mut Random,
    ) -> Result<Self> {
        let (input, hidden) = ((frames.count, Field::Vector), (config.hidden, Field::Regular));
        let pairs = frames.count + 2 * config.hidden * (config.layers - 2) + 1;
        config.at_most(config.hidden * (12 * POSITIONS * pairs + 4 * (config.layers - 1)) + 2)?;
        let mut stack = |name: &str, layers: usize, domain, codomain| {
            RelaxedSteerable::new(builder, name, layers, domain, codomain, random)
        };
        let mut stacks = vec![stack("first", 1, input, hidden)?];
        if config.layers > 2 {
            stacks.push(stack("hidden", config.layers - 2, hidden, hidden)?);
        }
        stacks.push(stack("last", 1, hidden, (1, Field::Vector))?);
        // After all weights: the penalty wants those in a row.
        stacks.iter().try_for_each(|stack| stack.add_bias(builder))?;
        Ok(Self { stacks, layers: config.layers })
    }
}

impl Forecaster for Rsteer {
    fn assemble(&self, parameters: &Parameters) -> Result<Vec<Tensor>> {
        let mut assembled = Vec::with_capacity(2 * self.layers);
        for stack in &self.stacks {
            let pairs = stack.kernels(parameters)?.into_iter().zip(stack.biases(parameters)?);
            assembled.extend(pairs.flat_map(|(kernel, bias)| [kernel, bias]));
        }
        Ok(assembled)
    }

    fn forward(&self, _parameters: &Parameters, assembled: &[Tensor], frames: &Tensor, _mode: Mode) -> Result<Tensor> {
        let mut state = frames.shallow_clone();
        for (number, layer) in assembled.chunks(2).enumerate() {
            state = convolve(&state, &layer[0], Some(&layer[1]), 1)?;
            if number + 1 < self.layers {
                state = state.f_relu_()?;
            }
        }
        Ok(state)
    }

    /// Σ over layers of the mean of |w(k) − w(k + 1)| over neighbouring positions in row-major order.
    fn constraint(&self, parameters: &Parameters, _assembled: &[Tensor]) -> Result<Option<Tensor>> {
        let terms = self.stacks.iter().map(|stack| stack.roughness(parameters)).collect::<Result<Vec<_>>>()?;
        Ok(Some(Tensor::f_stack(&terms, 0)?.f_sum(parameters.flat().kind())?))
    }

    fn penalty(&self, parameters: &Parameters, held: Held) -> Result<Option<Box<dyn NetworkPenalty>>> {
        let stacks: Vec<&RelaxedSteerable> = self.stacks.iter().collect();
        Ok(Some(Box::new(SteerablePenalty::new(&stacks, parameters, held)?)))
    }
}
