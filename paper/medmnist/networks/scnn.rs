//! The steerable CNN: equivariant by construction. Its blocks are those of [`gated`](super::gated), its pools Gaussians of σ = 0.66.

use super::gated::{BlockConvolution, FieldConvolution, GatedBlock};
use super::*;
use reynolds_torch::layers::{Steerable, SteerableConv3d};

const BLUR: f64 = 0.66;

pub(super) type MakeKernels<'a> = &'a dyn Fn(&FieldPair) -> Result<Box<dyn Kernels>>;

pub(super) fn steerable(pair: &FieldPair) -> Result<Box<dyn Kernels>> {
    Ok(Box::new(Steerable::new(pair)?))
}

pub(super) fn first_pool() -> Pool3d {
    Pool3d::gaussian(BLUR, 2, 1)
}

/// The pools of a block: between conv1 and conv2, before the skip.
fn pools(number: usize) -> [Option<Pool3d>; 2] {
    let pool = |stride, padding| Some(Pool3d::gaussian(BLUR, stride, padding));
    match number {
        0 => [None, None],
        1 => [pool(2, 1), pool(2, 0)],
        _ => [pool(1, 1), None],
    }
}

pub(super) type ScnnBlock = GatedBlock<Convolution>;

impl ScnnBlock {
    /// Adds the parameters `r{number + 1}.…`. `partial` makes the kernels of conv2 and skip: [`steerable`] for the SCNN.
    pub(super) fn scnn(
        builder: &mut Builder,
        number: usize,
        config: &VolumeNetConfig,
        partial: MakeKernels,
        random: &mut Random,
    ) -> Result<Self> {
        Self::new(builder, number, config.fields(number), pools(number), random, |builder, convolution, random| {
            let make: MakeKernels = if convolution.part == 0 { &steerable } else { partial };
            Convolution::new(builder, convolution, config.layout, make, random)
        })
    }
}

fn with_gates(fields: &Fields) -> Vec<SphericalIrrep> {
    let mut irreps = fields.irreps();
    if fields.max_degree > 0 {
        irreps.extend(vec![irreps[0]; irreps.len()]);
    }
    irreps
}

/// A steerable convolution and the bias of the scalars it makes.
pub(super) struct Convolution {
    layer: SteerableConv3d,
    bias: Option<String>,
}

impl Convolution {
    /// The last one, of side 1, has no bias.
    fn new(
        builder: &mut Builder,
        BlockConvolution { name, domain, codomain, window, .. }: &BlockConvolution,
        layout: Layout,
        make: MakeKernels,
        random: &mut Random,
    ) -> Result<Self> {
        let pair = FieldPair { codomain: with_gates(codomain), domain: domain.irreps(), side: window.side };
        let copies = [codomain.copies, domain.copies];
        let kernels = make(&pair)?;
        let layer = SteerableConv3d::new(builder, name, (&pair, kernels), copies, (*window, layout), random)?;
        let bias = (window.side > 1).then(|| format!("{name}.bias"));
        if let Some(bias) = &bias {
            let scalars = pair.codomain.iter().filter(|irrep| irrep.is_trivial()).count();
            builder.real(bias, &[scalars, codomain.copies], &vec![0.0; scalars * codomain.copies])?;
        }
        Ok(Self { layer, bias })
    }
}

impl FieldConvolution for Convolution {
    const TENSORS: usize = 1;

    fn assemble(&self, parameters: &Parameters, pass: Pass) -> Result<Vec<Tensor>> {
        Ok(vec![self.layer.kernel(parameters, pass)?])
    }

    fn forward(&self, assembled: &[Tensor], input: &Tensor) -> Result<Tensor> {
        self.layer.forward(&assembled[0], input)
    }

    fn bias(&self, parameters: &Parameters) -> Result<Option<Tensor>> {
        self.bias.as_ref().map(|bias| parameters.get(bias)).transpose()
    }
}
