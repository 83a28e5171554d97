//! The partially equivariant steerable CNN: the SCNN whose blocks learn over which elements of the group they are equivariant.
//!
//! ```text
//! conv2 and skip of block B:  K(x) = ∫ λ_B(g) ρ_out(g)⁻¹ K₀(gx) ρ_in(g) dg,      λ_B from likelihood.B
//! ```
//!
//! The first convolution of a block is steerable. Kernels are made once from weights and likelihoods: evaluation costs what it costs the SCNN. See
//! [`partial_kernels`](super::partial_kernels) and [`likelihood`](super::likelihood).

use reynolds::random::Random;
use tch::Tensor;

use super::block::Blocks;
use super::likelihood::Likelihood;
use super::partial_kernels::Partial;
use super::scnn::{ScnnBlock, first_pool};
use super::{LikelihoodConfig, Network, Pass, VolumeNetConfig};
use reynolds_torch::error::Result;
use reynolds_torch::layers::{FieldPair, Kernels};
use reynolds_torch::parameters::{Builder, Parameters};

/// Names of the likelihoods.
const LIKELIHOODS: [&str; 3] = ["likelihood.1", "likelihood.2", "likelihood.3"];

/// Three blocks with a likelihood each, and the head.
pub(super) struct Pscnn {
    blocks: Blocks,
    likelihood: Likelihood,
    config: LikelihoodConfig,
}

impl Pscnn {
    /// Adds the parameters of a network for so many classes; likelihoods begin uniform.
    pub(super) fn new(
        config: &VolumeNetConfig,
        classes: usize,
        builder: &mut Builder,
        random: &mut Random,
    ) -> Result<Self> {
        let likelihood = Likelihood::new(config.group, &config.likelihood)?;
        let blocks = Blocks::new(config, classes, first_pool(), builder, random, |builder, number, random| {
            let name = LIKELIHOODS[number];
            let uniform = likelihood.uniform();
            builder.real(name, &[uniform.len()], &uniform)?;
            let partial = |pair: &FieldPair| -> Result<Box<dyn Kernels>> {
                Ok(Box::new(Partial::new(pair, likelihood.share(), name)?))
            };
            Ok(Box::new(ScnnBlock::scnn(builder, number, config, &partial, random)?))
        })?;
        Ok(Self { blocks, likelihood, config: config.likelihood })
    }
}

impl Network for Pscnn {
    fn assemble(&self, parameters: &Parameters, pass: Pass) -> Result<Vec<Tensor>> {
        self.blocks.assemble(parameters, pass)
    }

    fn forward(&self, parameters: &Parameters, assembled: &[Tensor], volumes: &Tensor, pass: Pass) -> Result<Tensor> {
        self.blocks.forward(parameters, assembled, volumes, pass)
    }

    fn prior(&self, parameters: &Parameters) -> Result<Option<Tensor>> {
        let [one, two, three] = LIKELIHOODS;
        let likelihoods = [parameters.get(one)?, parameters.get(two)?, parameters.get(three)?];
        Ok(Some(self.likelihood.prior(&likelihoods, &self.config)?))
    }
}
