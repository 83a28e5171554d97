//! Dense convolutions with the gates and the normalisation of the SCNN: ours, equivariant wherever its kernels are.
//!
//! ```text
//! block:  x ─ conv ─ norm ─ gate ─ (mean) ─ conv ─ norm ─ gate ─ + ─
//!         └─ (mean) ─ conv ─ gate (that of the last) ────────────┘      R3: no norm, no gate after conv2 and skip
//! ```
//!
//! Convolutions make a scalar more for each irrep, its gate. Parameters have channels by irrep, copy and component, as [`Fields::rep`], then
//! gates; layers want them by irrep, component and copy.

use reynolds::random::Random;
use tch::{Kind, Tensor};

use super::block::{Block, Blocks, Head};
use super::dense::{WINDOWS, pools};
use super::{Fields, Network, Pass, VolumeNetConfig};
use crate::error::Result;
use crate::layers::{Affine, Constant, Conv3d, Gate, IidNorm, Layout, Pool3d};
use crate::parameters::{Builder, Parameters};

/// Three gated blocks and the head.
pub(super) struct GatedNet {
    blocks: Blocks,
}

impl GatedNet {
    /// Adds the parameters of a network for so many classes.
    pub(super) fn new(
        config: &VolumeNetConfig,
        classes: usize,
        builder: &mut Builder,
        random: &mut Random,
    ) -> Result<Self> {
        let fields = Fields::of_network(config.group, config.width());
        let mut block = |number: usize| -> Result<Box<dyn Block>> {
            let between = std::array::from_fn(|at| fields[2 * number + at]);
            Ok(Box::new(GatedBlock::new(builder, number, between, config.layout, random)?))
        };
        let blocks = [block(0)?, block(1)?, block(2)?];
        let head = Head::new(builder, fields[6].dim(), classes, random)?;
        Ok(Self { blocks: Blocks { blocks, pool: Pool3d::average(5, 2, 1), head } })
    }
}

impl Network for GatedNet {
    fn assemble(&self, parameters: &Parameters, pass: Pass) -> Result<Vec<Tensor>> {
        self.blocks.assemble(parameters, pass)
    }

    fn forward(&self, parameters: &Parameters, assembled: &[Tensor], volumes: &Tensor, pass: Pass) -> Result<Tensor> {
        self.blocks.forward(parameters, assembled, volumes, pass)
    }
}

/// How many gates fields have: one an irrep, of each copy; scalars alone have none.
pub(super) fn gates(fields: &Fields) -> usize {
    if fields.max_degree == 0 { 0 } else { fields.irrep_dims().len() * fields.copies }
}

/// A dense convolution between fields.
struct TypedConv {
    conv: Conv3d,
    layout: Layout,
    /// Which channel of the parameters comes where, of the output and of the input.
    rows: Constant,
    columns: Constant,
}

impl TypedConv {
    /// Kernel in layout and precision, and bias.
    fn assemble(&self, parameters: &Parameters, pass: Pass) -> Result<[Tensor; 2]> {
        let index = |order: &Constant| order.on(Kind::Int64, parameters.device());
        let (rows, columns) = (index(&self.rows)?, index(&self.columns)?);
        let kernel = parameters.get(self.conv.weight()).f_index_select(0, &rows)?.f_index_select(1, &columns)?;
        let bias = parameters.get(self.conv.bias()).f_index_select(0, &rows)?;
        Ok([self.layout.kernel(&kernel, pass.precision)?, pass.precision.cast(&bias)?])
    }
}

/// Normalisation and gates after a convolution.
struct Gated {
    norm: IidNorm,
    gate: Gate,
    /// Scalars of a field and number of fields.
    scalars: [i64; 2],
}

impl Gated {
    fn new(builder: &mut Builder, [norm, gate]: [String; 2], fields: &Fields, random: &mut Random) -> Result<Self> {
        let irreps = fields.irrep_dims();
        let norm = IidNorm::new(builder, &norm, fields.copies, [fields.field_dim() + irreps.len(), irreps.len()])?;
        let gate = Gate::new(builder, &gate, fields.copies, &irreps, random)?;
        Ok(Self { norm, gate, scalars: [1 + irreps.len() as i64, fields.copies as i64] })
    }

    fn affine(&self, parameters: &Parameters, features: &Tensor, pass: Pass) -> Result<Affine> {
        self.norm.affine(parameters, features, None, pass.mode)
    }

    /// Nothing at all, before the gates of a skip.
    fn bare(&self, parameters: &Parameters) -> Result<Affine> {
        let options = (parameters.flat().kind(), parameters.device());
        Ok(Affine { scale: None, shift: Tensor::f_zeros(self.scalars, options)? })
    }
}

/// One residual block.
struct GatedBlock {
    convolutions: [TypedConv; 3],
    first: Gated,
    last: Option<Gated>,
    between: Option<Pool3d>,
    before_skip: Option<Pool3d>,
}

impl GatedBlock {
    /// Adds the parameters of block `number` (0, 1, 2) with the fields before it, after its first convolution and after it.
    fn new(
        builder: &mut Builder,
        number: usize,
        [domain, hidden, codomain]: [Fields; 3],
        layout: Layout,
        random: &mut Random,
    ) -> Result<Self> {
        let name = |part: &str| format!("r{}.{part}", number + 1);
        let mut convolution = |part: usize, from: &Fields, to: &Fields| -> Result<TypedConv> {
            let channels = [from.dim(), to.dim() + gates(to)];
            let name = name(["conv1", "conv2", "skip"][part]);
            let conv = Conv3d::new(builder, &name, channels, WINDOWS[number][part], random)?;
            let order = |fields: &Fields, gates: usize| {
                let gates = fields.dim()..fields.dim() + gates;
                let channels: Vec<f64> = fields.by_components().into_iter().chain(gates).map(|at| at as f64).collect();
                Constant::new(&channels, &[channels.len() as i64])
            };
            Ok(TypedConv { conv, layout, rows: order(to, gates(to))?, columns: order(from, 0)? })
        };
        let convolutions = [
            convolution(0, &domain, &hidden)?,
            convolution(1, &hidden, &codomain)?,
            convolution(2, &domain, &codomain)?,
        ];
        let first = Gated::new(builder, [name("norm1"), name("gate1")], &hidden, random)?;
        let names = [name("norm2"), name("gate2")];
        let last = (codomain.max_degree > 0).then(|| Gated::new(builder, names, &codomain, random)).transpose()?;
        let [between, before_skip] = pools(number);
        Ok(Self { convolutions, first, last, between, before_skip })
    }
}

impl Block for GatedBlock {
    fn kernels(&self) -> usize {
        2 * self.convolutions.len()
    }

    fn assemble(&self, parameters: &Parameters, pass: Pass) -> Result<Vec<Tensor>> {
        let kernels: Vec<_> =
            self.convolutions.iter().map(|conv| conv.assemble(parameters, pass)).collect::<Result<_>>()?;
        Ok(kernels.into_iter().flatten().collect())
    }

    fn forward(&self, parameters: &Parameters, assembled: &[Tensor], input: &Tensor, pass: Pass) -> Result<Tensor> {
        let convolve = |number: usize, pool: Option<&Pool3d>, input: &Tensor| -> Result<Tensor> {
            let (kernel, bias) = (&assembled[2 * number], &assembled[2 * number + 1]);
            let conv = &self.convolutions[number].conv;
            match pool {
                Some(pool) => conv.forward(kernel, Some(bias), &pool.forward(input)?),
                None => conv.forward(kernel, Some(bias), input),
            }
        };
        let features = convolve(0, None, input)?;
        let affine = self.first.affine(parameters, &features, pass)?;
        let features = self.first.gate.forward(parameters, &features, &affine)?;
        let features = convolve(1, self.between.as_ref(), &features)?;
        let skipped = convolve(2, self.before_skip.as_ref(), input)?;
        match &self.last {
            Some(last) => {
                let (affine, bare) = (last.affine(parameters, &features, pass)?, last.bare(parameters)?);
                last.gate.sum(parameters, &[(&features, &affine), (&skipped, &bare)])
            }
            None => Ok(features.f_add(&skipped)?),
        }
    }
}
