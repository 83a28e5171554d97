//! RGroup: a network of relaxed group convolutions over C4.
//!
//! ```text
//! f(n) = u · e_n ──K₁──► ReLU ──K₂──► … ──K_L──► u = Σ_n f(n) e_n      e_n = (cos πn/2, sin πn/2)
//! ```
//!
//! Wang's code for this model has no activation between the layers, so that it is linear, and joins tensors of four and two components
//! when it feeds a frame back, which fails. Here is a ReLU after every layer but the last, and a frame in, a frame out. Lifting and
//! reading out are linear and folded into the first and the last kernel. With 130 fields, three banks and five layers it has 5,630,100
//! parameters.

use reynolds::random::Random;
use tch::Tensor;

use super::group_penalty::GroupPenalty;
use super::relaxed_group::{FILTER, RelaxedGroup, TURNS};
use crate::smoke::networks::kernels::layers_of;
use crate::smoke::networks::{Forecaster, Frames, Held, Mode, NetworkPenalty, SmokeNetConfig};
use reynolds_torch::error::Result;
use reynolds_torch::layers::convolve;
use reynolds_torch::parameters::{Builder, Parameters};

/// The name of w, `[layers, 4, banks]`.
pub(super) const MIXING: &str = "mixing";

/// A relaxed group convolutional network.
#[derive(Debug)]
pub(super) struct Rgroup {
    /// First layer, those between, last layer.
    stacks: Vec<RelaxedGroup>,
    layers: usize,
}

impl Rgroup {
    /// Adds its parameters to `builder`; the mixing weights are 1/(4 banks).
    pub(super) fn new(
        config: &SmokeNetConfig,
        frames: Frames,
        builder: &mut Builder,
        random: &mut Random,
    ) -> Result<Self> {
        let SmokeNetConfig { hidden, layers, banks, .. } = *config;
        let count = layers * TURNS * banks;
        let pairs = hidden * (frames.count + hidden * (layers - 2) + 1);
        config.at_most(count + banks * pairs * FILTER)?;
        builder.real(MIXING, &[layers, TURNS, banks], &vec![1.0 / (TURNS * banks) as f64; count])?;
        let mut stack = |name: &str, layers: usize, inputs, outputs| {
            RelaxedGroup::new(builder, name, layers, [inputs, outputs], banks, random)
        };
        let mut stacks = vec![stack("first", 1, frames.count, hidden)?];
        if layers > 2 {
            stacks.push(stack("hidden", layers - 2, hidden, hidden)?);
        }
        stacks.push(stack("last", 1, hidden, 1)?);
        Ok(Self { stacks, layers })
    }

    /// The mixing weights of each stack, `[layers, 4, banks]`.
    fn mixing(&self, parameters: &Parameters) -> Result<Vec<Tensor>> {
        let counts: Vec<i64> = self.stacks.iter().map(|stack| stack.layers as i64).collect();
        Ok(parameters.get(MIXING)?.f_split_with_sizes(counts, 0)?)
    }

    /// K of every layer between regular fields, before lifting and reading out are folded in.
    #[cfg(test)]
    pub(super) fn unfolded(&self, parameters: &Parameters) -> Result<Vec<Tensor>> {
        let mixed = self.stacks.iter().zip(self.mixing(parameters)?);
        let kernels =
            mixed.map(|(stack, mixing)| layers_of(&stack.stacked(parameters, &mixing)?)).collect::<Result<Vec<_>>>()?;
        Ok(kernels.into_iter().flatten().collect())
    }
}

/// Σ_n f(n) e_n along one axis of four, for a kernel's output what reads it out and for its input what lifts it.
fn by_directions(kernels: &Tensor, axis: i64) -> Result<Tensor> {
    Ok(kernels.f_narrow(axis, 0, 2)?.f_sub(&kernels.f_narrow(axis, 2, 2)?)?)
}

impl Forecaster for Rgroup {
    fn assemble(&self, parameters: &Parameters) -> Result<Vec<Tensor>> {
        let mut assembled = Vec::with_capacity(self.layers);
        let last = self.stacks.len() - 1;
        for (number, (stack, mixing)) in self.stacks.iter().zip(self.mixing(parameters)?).enumerate() {
            let kernels = stack.stacked(parameters, &mixing)?;
            let kernels = match number {
                0 => by_directions(&kernels, 4)?,
                _ if number == last => by_directions(&kernels, 2)?,
                _ => kernels,
            };
            assembled.extend(layers_of(&kernels)?);
        }
        Ok(assembled)
    }

    fn forward(&self, _parameters: &Parameters, assembled: &[Tensor], frames: &Tensor, _mode: Mode) -> Result<Tensor> {
        let mut state = frames.shallow_clone();
        for (number, kernel) in assembled.iter().enumerate() {
            state = convolve(&state, kernel, None, 1)?;
            if number + 1 < self.layers {
                state = state.f_relu_()?;
            }
        }
        Ok(state)
    }

    /// Σ over layers of the mean of |w(n) − w(n + 1)| around the circle of turns. Wang's code has no constraint for this model; this
    /// one is inferred from that of the same model for translation.
    fn constraint(&self, parameters: &Parameters, _assembled: &[Tensor]) -> Result<Option<Tensor>> {
        let mixing = parameters.get(MIXING)?;
        let difference = mixing.f_sub(&mixing.f_roll([-1], [1])?)?.f_abs()?;
        Ok(Some(difference.f_mean(mixing.kind())?.f_mul_scalar(self.layers as f64)?))
    }

    fn penalty(&self, parameters: &Parameters, held: Held) -> Result<Option<Box<dyn NetworkPenalty>>> {
        Ok(Some(Box::new(GroupPenalty::new(&self.stacks, parameters, held)?)))
    }
}
