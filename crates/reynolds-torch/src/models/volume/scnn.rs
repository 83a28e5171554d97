//! The steerable CNN: equivariant by construction.
//!
//! ```text
//! block:  x ─ conv ─ norm ─ gate ─ (pool) ─ conv ─ norm ─ gate ─ + ─
//!         └─ (pool) ─ conv ─ gate (that of the last) ────────────┘      R3: no norm, no gate after conv2 and skip
//! ```
//!
//! Pools are Gaussians of σ = 0.66. Channels go by components, then by copies; see [`Fields::by_components`].

use reynolds::random::Random;
use reynolds::steerable::SphericalIrrep;
use tch::Tensor;

use super::block::{Block, Blocks, Head};
use super::dense::WINDOWS;
use super::{Fields, Network, Pass, VolumeNetConfig};
use crate::error::Result;
use crate::layers::{Affine, FieldPair, Gate, IidNorm, Kernels, Layout, Pool3d, Steerable, SteerableConv3d, Window};
use crate::parameters::{Builder, Parameters};

/// σ of the pools, in voxels.
const BLUR: f64 = 0.66;

/// What makes the kernels of a convolution.
pub(super) type MakeKernels<'a> = &'a dyn Fn(&FieldPair) -> Result<Box<dyn Kernels>>;

/// Steerable kernels: those of the SCNN.
pub(super) fn steerable(pair: &FieldPair) -> Result<Box<dyn Kernels>> {
    Ok(Box::new(Steerable::new(pair)?))
}

/// A convolution and the bias of the scalars it makes.
struct Convolution {
    layer: SteerableConv3d,
    bias: Option<String>,
}

/// Normalisation and gates after a convolution.
struct Gated {
    norm: IidNorm,
    gate: Gate,
}

/// A residual block of steerable convolutions, `rB.…`.
pub(super) struct ScnnBlock {
    convolutions: [Convolution; 3],
    first: Gated,
    last: Option<Gated>,
    pool: Option<Pool3d>,
    skip_pool: Option<Pool3d>,
}

impl ScnnBlock {
    /// Adds the parameters of block `number` (0, 1, 2), `r{number + 1}.…`. `partial` makes the kernels of its second convolution and of its
    /// skip: [`steerable`] for the SCNN.
    pub(super) fn new(
        builder: &mut Builder,
        number: usize,
        config: &VolumeNetConfig,
        partial: MakeKernels,
        random: &mut Random,
    ) -> Result<Self> {
        let all = Fields::of_network(config.group, config.width());
        let [domain, hidden, codomain] = std::array::from_fn(|at| all[2 * number + at]);
        let name = |part: &str| format!("r{}.{part}", number + 1);
        let mut convolution = |part: usize, between: [&Fields; 2], make: MakeKernels| {
            let name = name(["conv1", "conv2", "skip"][part]);
            Convolution::new(builder, &name, between, (WINDOWS[number][part], config.layout), make, random)
        };
        let conv1 = convolution(0, [&domain, &hidden], &steerable)?;
        let conv2 = convolution(1, [&hidden, &codomain], partial)?;
        let skip = convolution(2, [&domain, &codomain], partial)?;
        let first = Gated::new(builder, [name("norm1"), name("gate1")], &hidden, random)?;
        let names = [name("norm2"), name("gate2")];
        let last = (codomain.max_degree > 0).then(|| Gated::new(builder, names, &codomain, random)).transpose()?;
        let pool = |stride, padding| Some(Pool3d::gaussian(BLUR, stride, padding));
        let (pool, skip_pool) = match number {
            0 => (None, None),
            1 => (pool(2, 1), pool(2, 0)),
            _ => (pool(1, 1), None),
        };
        Ok(Self { convolutions: [conv1, conv2, skip], first, last, pool, skip_pool })
    }
}

/// Irreps of a field, and of its gates where it has any.
fn with_gates(fields: &Fields) -> Vec<SphericalIrrep> {
    let mut irreps = fields.irreps();
    if fields.max_degree > 0 {
        irreps.extend(vec![irreps[0]; irreps.len()]);
    }
    irreps
}

impl Convolution {
    /// The last one, of side 1, has no bias.
    fn new(
        builder: &mut Builder,
        name: &str,
        [domain, codomain]: [&Fields; 2],
        (window, layout): (Window, Layout),
        make: MakeKernels,
        random: &mut Random,
    ) -> Result<Self> {
        let pair = FieldPair { codomain: with_gates(codomain), domain: domain.irreps(), side: window.side };
        let copies = [codomain.copies, domain.copies];
        let kernels = make(&pair)?;
        let layer = SteerableConv3d::new(builder, name, (&pair, kernels), copies, (window, layout), random)?;
        let bias = (window.side > 1).then(|| format!("{name}.bias"));
        if let Some(bias) = &bias {
            let scalars = pair.codomain.iter().filter(|irrep| irrep.is_trivial()).count();
            builder.real(bias, &[scalars, codomain.copies], &vec![0.0; scalars * codomain.copies])?;
        }
        Ok(Self { layer, bias })
    }

    fn forward(&self, kernel: &Tensor, input: &Tensor, pool: Option<&Pool3d>) -> Result<Tensor> {
        match pool {
            Some(pool) => self.layer.forward(kernel, &pool.forward(input)?),
            None => self.layer.forward(kernel, input),
        }
    }

    /// Biases of scalars, `[scalars, copies]`.
    fn bias(&self, parameters: &Parameters) -> Option<Tensor> {
        self.bias.as_ref().map(|bias| parameters.get(bias))
    }
}

impl Gated {
    fn new(builder: &mut Builder, [norm, gate]: [String; 2], fields: &Fields, random: &mut Random) -> Result<Self> {
        let irreps = fields.irrep_dims();
        let norm = IidNorm::new(builder, &norm, fields.copies, [fields.field_dim() + irreps.len(), irreps.len()])?;
        Ok(Self { norm, gate: Gate::new(builder, &gate, fields.copies, &irreps, random)? })
    }

    /// What normalising does to the volumes that a convolution made, its bias included.
    fn affine(&self, parameters: &Parameters, volumes: &Tensor, of: &Convolution, pass: Pass) -> Result<Affine> {
        self.norm.affine(parameters, volumes, of.bias(parameters).as_ref(), pass.mode)
    }
}

impl Block for ScnnBlock {
    fn kernels(&self) -> usize {
        self.convolutions.len()
    }

    fn assemble(&self, parameters: &Parameters, pass: Pass) -> Result<Vec<Tensor>> {
        self.convolutions.iter().map(|convolution| convolution.layer.kernel(parameters, pass)).collect()
    }

    fn forward(&self, parameters: &Parameters, assembled: &[Tensor], input: &Tensor, pass: Pass) -> Result<Tensor> {
        let [conv1, conv2, skip] = &self.convolutions;
        let features = conv1.forward(&assembled[0], input, None)?;
        let affine = self.first.affine(parameters, &features, conv1, pass)?;
        let features = self.first.gate.forward(parameters, &features, &affine)?;
        let features = conv2.forward(&assembled[1], &features, self.pool.as_ref())?;
        let skipped = skip.forward(&assembled[2], input, self.skip_pool.as_ref())?;
        match (&self.last, skip.bias(parameters)) {
            (Some(last), Some(shift)) => {
                let affine = last.affine(parameters, &features, conv2, pass)?;
                let bare = Affine { scale: None, shift };
                last.gate.sum(parameters, &[(&features, &affine), (&skipped, &bare)])
            }
            (_, bias) => {
                let sum = features.f_add(&skipped)?;
                match bias {
                    Some(bias) => Ok(sum.f_add(&pass.precision.cast(&bias)?.f_view([1, -1, 1, 1, 1])?)?),
                    None => Ok(sum),
                }
            }
        }
    }
}

/// Three steerable blocks and the head.
pub(super) struct Scnn {
    blocks: Blocks,
}

impl Scnn {
    /// Adds the parameters of a network for so many classes.
    pub(super) fn new(
        config: &VolumeNetConfig,
        classes: usize,
        builder: &mut Builder,
        random: &mut Random,
    ) -> Result<Self> {
        let mut block = |number| -> Result<Box<dyn Block>> {
            Ok(Box::new(ScnnBlock::new(builder, number, config, &steerable, random)?))
        };
        let blocks = [block(0)?, block(1)?, block(2)?];
        let head = Head::new(builder, 8 * config.width(), classes, random)?;
        Ok(Self { blocks: Blocks { blocks, pool: first_pool(), head } })
    }
}

/// The pool after the first block.
pub(super) fn first_pool() -> Pool3d {
    Pool3d::gaussian(BLUR, 2, 1)
}

impl Network for Scnn {
    fn assemble(&self, parameters: &Parameters, pass: Pass) -> Result<Vec<Tensor>> {
        self.blocks.assemble(parameters, pass)
    }

    fn forward(&self, parameters: &Parameters, assembled: &[Tensor], volumes: &Tensor, pass: Pass) -> Result<Tensor> {
        self.blocks.forward(parameters, assembled, volumes, pass)
    }
}
