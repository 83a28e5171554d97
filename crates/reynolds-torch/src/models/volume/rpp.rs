//! Residual pathway priors: in every block a steerable branch and a dense one, added; the prior holds the dense one smaller.
//!
//! ```text
//! block(x) = steerable(x) + dense(x)      prior = α Σ‖steerable‖² + β Σ‖dense‖²   over all parameters of the blocks
//! ```
//!
//! The pool after the first block is that of the SCNN, and so is the head. Paper: Finzi, Benton and Wilson, as compared with by Veefkind and Cesa.

use reynolds::random::Random;
use tch::Tensor;

use super::block::{Block, Blocks, Head};
use super::dense::DenseBlock;
use super::scnn::{ScnnBlock, first_pool, steerable};
use super::{Fields, Network, Pass, RppConfig, VolumeNetConfig};
use crate::error::Result;
use crate::parameters::{Builder, Parameters};

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
        let fields = Fields::of_network(config.group, config.width());
        let numbers = [0, 1, 2];
        let steerable: Vec<_> = numbers
            .iter()
            .map(|&number| ScnnBlock::new(builder, number, config, &steerable, random))
            .collect::<Result<_>>()?;
        let dense: Vec<_> = numbers
            .iter()
            .map(|&number| {
                let channels = std::array::from_fn(|at| fields[2 * number + at].dim());
                DenseBlock::new(builder, DENSE, number, channels, config.layout, random)
            })
            .collect::<Result<_>>()?;
        let mut blocks = steerable.into_iter().zip(dense).map(|(steerable, dense)| Branches { steerable, dense });
        let mut block = || -> Box<dyn Block> { Box::new(blocks.next().expect("three blocks")) };
        let blocks = [block(), block(), block()];
        let head = Head::new(builder, fields[6].dim(), classes, random)?;
        Ok(Self { blocks: Blocks { blocks, pool: first_pool(), head }, prior: config.rpp })
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
