//! What all networks share: three residual blocks, a pool after the first, and the head.

use reynolds::random::Random;
use tch::Tensor;

use super::{Mode, Network, Pass, VolumeNetConfig};
use reynolds_torch::error::Result;
use reynolds_torch::layers::{BatchNorm, Linear, Pool3d};
use reynolds_torch::parameters::{Builder, Parameters};

/// One residual block.
pub(super) trait Block: Send {
    /// How many tensors [`Block::assemble`] makes.
    fn kernels(&self) -> usize;

    /// Kernels in layout and precision, on the tape.
    fn assemble(&self, parameters: &Parameters, pass: Pass) -> Result<Vec<Tensor>>;

    /// `[N, C, D, H, W]` → `[N, C′, D′, H′, W′]`, with what [`Block::assemble`] made.
    fn forward(&self, parameters: &Parameters, assembled: &[Tensor], input: &Tensor, pass: Pass) -> Result<Tensor>;
}

/// Three blocks and a head: a network, if nothing is to be added to its loss or held against the group.
pub(super) struct Blocks {
    blocks: [Box<dyn Block>; 3],
    /// Between the first block and the second: 27³ → 13³.
    pool: Pool3d,
    head: Head,
}

impl Blocks {
    /// Adds the parameters of blocks 0, 1, 2, as `block` does that, and those of the head for so many classes.
    pub(super) fn new(
        config: &VolumeNetConfig,
        classes: usize,
        pool: Pool3d,
        builder: &mut Builder,
        random: &mut Random,
        mut block: impl FnMut(&mut Builder, usize, &mut Random) -> Result<Box<dyn Block>>,
    ) -> Result<Self> {
        let blocks = [block(builder, 0, random)?, block(builder, 1, random)?, block(builder, 2, random)?];
        let [.., last] = config.fields(2);
        Ok(Self { blocks, pool, head: Head::new(builder, last.dim(), classes, random)? })
    }
}

impl Network for Blocks {
    fn assemble(&self, parameters: &Parameters, pass: Pass) -> Result<Vec<Tensor>> {
        let blocks: Result<Vec<_>> = self.blocks.iter().map(|block| block.assemble(parameters, pass)).collect();
        Ok(blocks?.into_iter().flatten().collect())
    }

    fn forward(&self, parameters: &Parameters, assembled: &[Tensor], volumes: &Tensor, pass: Pass) -> Result<Tensor> {
        let mut features = pass.precision.cast(volumes)?;
        let mut rest = assembled;
        for (number, block) in self.blocks.iter().enumerate() {
            let (own, others) = rest.split_at(block.kernels());
            features = block.forward(parameters, own, &features, pass)?;
            if number == 0 {
                features = self.pool.forward(&features)?;
            }
            rest = others;
        }
        self.head.forward(parameters, &features, pass.mode)
    }
}

/// Features `[N, 8c, 1, 1, 1]` → logits `[N, classes]`: flatten, batch normalisation, ELU, linear; in the type of the parameters.
struct Head {
    norm: BatchNorm,
    linear: Linear,
}

impl Head {
    /// Adds `head.norm.…`, `head.weight` and `head.bias`.
    fn new(builder: &mut Builder, features: usize, classes: usize, random: &mut Random) -> Result<Self> {
        let norm = BatchNorm::new(builder, "head.norm", features, 1)?;
        Ok(Self { norm, linear: Linear::new(builder, "head", features, classes, random)? })
    }

    fn forward(&self, parameters: &Parameters, features: &Tensor, mode: Mode) -> Result<Tensor> {
        let features = features.f_flatten(1, -1)?.f_to_kind(parameters.flat().kind())?;
        self.linear.forward(parameters, &self.norm.forward(parameters, &features, mode)?.f_elu()?)
    }
}
