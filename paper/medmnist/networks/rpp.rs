//! Residual pathway priors: in every block a steerable branch and a dense one, added; the prior holds the dense one smaller.
//!
//! ```text
//! block(x) = steerable(x) + dense(x)      prior = α Σ‖steerable‖² + β Σ‖dense‖²   over all parameters of the blocks
//! ```
//!
//! The pool after the first block is that of the SCNN, and so is the head. Paper: Finzi, Benton and Wilson, as compared with by Veefkind and Cesa.

use reynolds::random::Random;
use tch::Tensor;

use super::block::{Block, Blocks};
use super::dense::DenseBlock;
use super::scnn::{ScnnBlock, first_pool, steerable};
use super::{Network, Pass, RppConfig, VolumeNetConfig};
use reynolds_torch::error::Result;
use reynolds_torch::parameters::{Builder, Parameters};

/// Names of the dense branch begin so.
const DENSE: &str = "dense.";
/// Names of the head begin so.
const HEAD: &str = "head.";

/// Three blocks of two branches each.
pub(super) struct Rpp {
    blocks: Blocks,
    prior: RppConfig,
}

impl Rpp {
    /// Adds the parameters of a network for so many classes: those of the steerable branches, of the dense ones, of the head.
    pub(super) fn new(
        config: &VolumeNetConfig,
        classes: usize,
        builder: &mut Builder,
        random: &mut Random,
    ) -> Result<Self> {
        let steerable: Result<Vec<_>> =
            (0..3).map(|number| ScnnBlock::scnn(builder, number, config, &steerable, random)).collect();
        let mut steerable = steerable?.into_iter();
        let blocks = Blocks::new(config, classes, first_pool(), builder, random, |builder, number, random| {
            let channels = config.fields(number).map(|fields| fields.dim());
            let dense = DenseBlock::new(builder, DENSE, number, channels, config.layout, random)?;
            Ok(Box::new(Branches { steerable: steerable.next().expect("three blocks"), dense }))
        })?;
        Ok(Self { blocks, prior: config.rpp })
    }
}

impl Network for Rpp {
    fn assemble(&self, parameters: &Parameters, pass: Pass) -> Result<Vec<Tensor>> {
        self.blocks.assemble(parameters, pass)
    }

    fn forward(&self, parameters: &Parameters, assembled: &[Tensor], volumes: &Tensor, pass: Pass) -> Result<Tensor> {
        self.blocks.forward(parameters, assembled, volumes, pass)
    }

    fn prior(&self, parameters: &Parameters) -> Result<Option<Tensor>> {
        // Branches lie together in the flat storage: a square each, however many parameters they have.
        let len = |chosen: &dyn Fn(&str) -> bool| -> i64 {
            parameters.entries().iter().filter(|entry| chosen(&entry.name)).map(|entry| entry.len() as i64).sum()
        };
        let dense = len(&|name| name.starts_with(DENSE));
        let steerable = len(&|name| !name.starts_with(DENSE) && !name.starts_with(HEAD));
        let flat = parameters.on_tape()?;
        let square = |start: i64, len: i64, weight: f64| -> Result<Tensor> {
            let part = flat.f_narrow(0, start, len)?;
            Ok(part.f_dot(&part)?.f_mul_scalar(weight)?)
        };
        let steerable_square = square(0, steerable, self.prior.equivariant)?;
        Ok(Some(steerable_square.f_add(&square(steerable, dense, self.prior.dense)?)?))
    }
}

/// The two branches of a block.
struct Branches {
    steerable: ScnnBlock,
    dense: DenseBlock,
}

impl Block for Branches {
    fn kernels(&self) -> usize {
        self.steerable.kernels() + self.dense.kernels()
    }

    fn assemble(&self, parameters: &Parameters, pass: Pass) -> Result<Vec<Tensor>> {
        let mut kernels = self.steerable.assemble(parameters, pass)?;
        kernels.extend(self.dense.assemble(parameters, pass)?);
        Ok(kernels)
    }

    fn forward(&self, parameters: &Parameters, assembled: &[Tensor], input: &Tensor, pass: Pass) -> Result<Tensor> {
        let (steerable, dense) = assembled.split_at(self.steerable.kernels());
        let steerable = self.steerable.forward(parameters, steerable, input, pass)?;
        Ok(steerable.f_add(&self.dense.forward(parameters, dense, input, pass)?)?)
    }
}
