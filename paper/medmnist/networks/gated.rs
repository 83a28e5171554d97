//! Gated residual blocks of convolutions between fields: steerable ones in the SCNN, dense ones in ours.
//!
//! ```text
//! block:  x ─ conv ─ norm ─ gate ─ (pool) ─ conv ─ norm ─ gate ─ + ─
//!         └─ (pool) ─ conv ─ gate (that of the last) ────────────┘      R3: no norm, no gate after conv2 and skip
//! ```
//!
//! Convolutions make one more scalar for each irrep, its gate. Channels are in the order of [`Fields::by_components`].

use super::dense::WINDOWS;
use super::network::Block;
use super::*;
use reynolds_torch::layers::{Affine, Gate, IidNorm};

pub(super) trait FieldConvolution {
    const TENSORS: usize;

    /// Kernel, in layout and precision, and what else a pass needs, on the tape.
    fn assemble(&self, parameters: &Parameters, pass: Pass) -> Result<Vec<Tensor>>;

    /// `[N, C, D, H, W]` → `[N, C′ + gates, D′, H′, W′]`.
    fn forward(&self, assembled: &[Tensor], input: &Tensor) -> Result<Tensor>;

    /// Biases of scalars, `[1 + gates, fields]`, that [`FieldConvolution::forward`] does not add.
    fn bias(&self, parameters: &Parameters) -> Result<Option<Tensor>>;
}

pub(super) struct BlockConvolution {
    /// "r1.conv1".
    pub(super) name: String,
    /// 0, 1, 2: conv1, conv2, skip.
    pub(super) part: usize,
    pub(super) domain: Fields,
    pub(super) codomain: Fields,
    pub(super) window: Window,
}

/// Number of gates: one an irrep and copy; scalars alone have none.
pub(super) fn gates(fields: &Fields) -> usize {
    if fields.max_degree == 0 { 0 } else { fields.irrep_dims().len() * fields.copies }
}

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

    /// The bias alone, before the gates of a skip.
    fn bare(&self, parameters: &Parameters, bias: Option<Tensor>) -> Result<Affine> {
        let zeros = || Tensor::f_zeros(self.scalars, (parameters.flat().kind(), parameters.device()));
        Ok(Affine { scale: None, shift: bias.map_or_else(zeros, Ok)? })
    }
}

pub(super) struct GatedBlock<C> {
    convolutions: [C; 3],
    first: Gated,
    last: Option<Gated>,
    between: Option<Pool3d>,
    before_skip: Option<Pool3d>,
}

impl<C: FieldConvolution> GatedBlock<C> {
    /// Adds the parameters of block `number` with the fields before it, after its first convolution and after it: those that `convolution`
    /// adds, then those of normalisations and gates. The pools are between conv1 and conv2, and before the skip.
    pub(super) fn new(
        builder: &mut Builder,
        number: usize,
        [domain, hidden, codomain]: [Fields; 3],
        [between, before_skip]: [Option<Pool3d>; 2],
        random: &mut Random,
        mut convolution: impl FnMut(&mut Builder, &BlockConvolution, &mut Random) -> Result<C>,
    ) -> Result<Self> {
        let name = |part: &str| format!("r{}.{part}", number + 1);
        let mut convolution = |part: usize, domain: Fields, codomain: Fields| {
            let name = name(["conv1", "conv2", "skip"][part]);
            convolution(
                builder,
                &BlockConvolution { name, part, domain, codomain, window: WINDOWS[number][part] },
                random,
            )
        };
        let convolutions =
            [convolution(0, domain, hidden)?, convolution(1, hidden, codomain)?, convolution(2, domain, codomain)?];
        let first = Gated::new(builder, [name("norm1"), name("gate1")], &hidden, random)?;
        let names = [name("norm2"), name("gate2")];
        let last = (codomain.max_degree > 0).then(|| Gated::new(builder, names, &codomain, random)).transpose()?;
        Ok(Self { convolutions, first, last, between, before_skip })
    }
}

impl<C: FieldConvolution> Block for GatedBlock<C> {
    fn kernels(&self) -> usize {
        C::TENSORS * self.convolutions.len()
    }

    fn assemble(&self, parameters: &Parameters, pass: Pass) -> Result<Vec<Tensor>> {
        let kernels: Result<Vec<_>> = self.convolutions.iter().map(|conv| conv.assemble(parameters, pass)).collect();
        Ok(kernels?.into_iter().flatten().collect())
    }

    fn forward(&self, parameters: &Parameters, assembled: &[Tensor], input: &Tensor, pass: Pass) -> Result<Tensor> {
        let convolve = |part: usize, pool: &Option<Pool3d>, input: &Tensor| {
            let assembled = &assembled[C::TENSORS * part..C::TENSORS * (part + 1)];
            match pool {
                Some(pool) => self.convolutions[part].forward(assembled, &pool.forward(input)?),
                None => self.convolutions[part].forward(assembled, input),
            }
        };
        let bias = |part: usize| self.convolutions[part].bias(parameters);
        let features = convolve(0, &None, input)?;
        let affine = self.first.norm.affine(parameters, &features, bias(0)?.as_ref(), pass.mode)?;
        let features = self.first.gate.forward(parameters, &features, &affine)?;
        let features = convolve(1, &self.between, &features)?;
        let skipped = convolve(2, &self.before_skip, input)?;
        if let Some(last) = &self.last {
            let affine = last.norm.affine(parameters, &features, bias(1)?.as_ref(), pass.mode)?;
            let bare = last.bare(parameters, bias(2)?)?;
            return last.gate.sum(parameters, &[(&features, &affine), (&skipped, &bare)]);
        }
        let sum = features.f_add(&skipped)?;
        match bias(2)? {
            Some(bias) => Ok(sum.f_add(&pass.precision.cast(&bias)?.f_view([1, -1, 1, 1, 1])?)?),
            None => Ok(sum),
        }
    }
}
