//! Ours: a dense network with a third of the published channels, typed by irreps, and the projector on each of its kernels and biases.
//!
//! ```text
//! kernel:  P = E Eᵀ onto band-limited steerable kernels from the fields before a convolution to those after it
//! bias:    P keeps scalars of even parity
//! ```
//!
//! With the pointwise nonlinearity the linear maps alone are held against the group: ELU of a channel is equivariant on scalars only. With
//! the gated one the network is invariant under the rotations of the grid as soon as W = P(W).
//!
//! The published 2.0 million parameters are those of SO(3) at c = 2. Fields of O(3) have other channels: c = 1 has 0.8 and c = 2 has 3.3
//! million parameters, and the latter, nearer in ratio and with as many fields, is what is taken.

use reynolds::plan::{Rule, SymmetryPlan};
use reynolds::random::Random;
use tch::Tensor;

use super::block::Blocks;
use super::dense::{self, WINDOWS};
use super::gated::gates;
use super::{Fields, Network, Nonlinearity, Pass, VolumeNetConfig, typed};
use reynolds_torch::error::Result;
use reynolds_torch::parameters::{Builder, Parameters};

/// The network of ours.
pub(super) struct Ours {
    blocks: Blocks,
    fields: [Fields; 7],
    gated: bool,
}

impl Ours {
    /// Adds the parameters of a network for so many classes.
    pub(super) fn new(
        config: &VolumeNetConfig,
        classes: usize,
        builder: &mut Builder,
        random: &mut Random,
    ) -> Result<Self> {
        let blocks = match config.nonlinearity {
            Nonlinearity::Pointwise => dense::network(config, classes, builder, random)?,
            Nonlinearity::Gated => typed::network(config, classes, builder, random)?,
        };
        // Kernels of one side lie together, then biases, then what is not held: P takes each of these at once and where they are.
        builder.arrange(|entry| match entry.shape.as_slice() {
            [.., 1, 1, 1] => (1, 0),
            [.., side, _, _] => (0, *side),
            [_] if entry.name.contains(".conv") || entry.name.contains(".skip") => (2, 0),
            _ => (3, 0),
        });
        let gated = config.nonlinearity == Nonlinearity::Gated;
        Ok(Self { blocks, fields: Fields::of_network(config.group, config.width()), gated })
    }
}

impl Network for Ours {
    fn assemble(&self, parameters: &Parameters, pass: Pass) -> Result<Vec<Tensor>> {
        self.blocks.assemble(parameters, pass)
    }

    fn forward(&self, parameters: &Parameters, assembled: &[Tensor], volumes: &Tensor, pass: Pass) -> Result<Tensor> {
        self.blocks.forward(parameters, assembled, volumes, pass)
    }

    fn plan(&self) -> Result<Option<SymmetryPlan>> {
        let made = |fields: &Fields| match self.gated && gates(fields) > 0 {
            true => format!("{fields} + {}", Fields::trivial(fields.symmetry, gates(fields))),
            false => fields.to_string(),
        };
        let convolutions = [("conv1", 0, 1), ("conv2", 1, 2), ("skip", 0, 2)];
        let rules = (0..WINDOWS.len()).flat_map(|number| {
            let fields = &self.fields[2 * number..];
            convolutions.map(|(name, from, to)| Rule {
                name: format!("r{}.{name}.weight", number + 1),
                domain: Some(fields[from].to_string()),
                codomain: made(&fields[to]),
                ..Rule::default()
            })
        });
        Ok(Some(SymmetryPlan::of_rules(&self.fields[0].symmetry.group()?, rules.collect())?))
    }
}
