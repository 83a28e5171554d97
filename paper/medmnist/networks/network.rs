//! What all networks share: three residual blocks, a pool after the first, and the head; and what each is made of.

use super::dense::DenseBlock;
use super::gated::{GatedBlock, gates};
use super::likelihood::Likelihood;
use super::pscnn::Partial;
use super::scnn::{ScnnBlock, steerable};
use super::typed::TypedConv;
use super::*;
use reynolds::plan::{Rule, SymmetryPlan};
use reynolds_torch::layers::Linear;

/// Names of the dense branch of RPP begin so, and those of the head.
const DENSE: &str = "dense.";
const HEAD: &str = "head";

/// The likelihoods of the P-SCNN, one a block.
const LIKELIHOODS: [&str; 3] = ["likelihood.1", "likelihood.2", "likelihood.3"];

pub(super) trait Block {
    fn kernels(&self) -> usize;

    /// Kernels in layout and precision, on the tape.
    fn assemble(&self, parameters: &Parameters, pass: Pass) -> Result<Vec<Tensor>>;

    /// `[N, C, D, H, W]` → `[N, C′, D′, H′, W′]`, with what [`Block::assemble`] made.
    fn forward(&self, parameters: &Parameters, assembled: &[Tensor], input: &Tensor, pass: Pass) -> Result<Tensor>;
}

pub(super) struct VolumeNet {
    config: VolumeNetConfig,
    /// Blocks of each branch; outputs of the branches of a block are added.
    branches: Vec<Vec<Box<dyn Block>>>,
    /// Between the first block and the second: 27³ → 13³.
    pool: Pool3d,
    head: Head,
    likelihood: Option<Likelihood>,
}

impl VolumeNet {
    pub(super) fn new(
        config: &VolumeNetConfig,
        classes: usize,
        builder: &mut Builder,
        random: &mut Random,
    ) -> Result<Self> {
        let is_partial = config.architecture == Architecture::Pscnn;
        let likelihood = is_partial.then(|| Likelihood::new(config.group, &config.likelihood)).transpose()?;
        let branches = match config.architecture {
            Architecture::Scnn | Architecture::Pscnn => vec![each(|number| match &likelihood {
                Some(likelihood) => partial(config, number, likelihood, builder, random),
                None => ScnnBlock::scnn(builder, number, config, &steerable, random),
            })?],
            Architecture::Rpp => vec![
                each(|number| ScnnBlock::scnn(builder, number, config, &steerable, random))?,
                each(|number| DenseBlock::new(builder, DENSE, number, config, random))?,
            ],
            Architecture::Ours if config.nonlinearity == Nonlinearity::Gated => vec![each(|number| {
                let (fields, pools) = (config.fields(number), dense::pools(number));
                GatedBlock::new(builder, number, fields, pools, random, |builder, place, random| {
                    TypedConv::new(builder, place, config.layout, random)
                })
            })?],
            Architecture::Cnn | Architecture::Ours => {
                vec![each(|number| DenseBlock::new(builder, "", number, config, random))?]
            }
        };
        let [.., last] = config.fields(2);
        let head = Head::new(builder, last.dim(), classes, random)?;
        let pool = match config.architecture {
            Architecture::Cnn | Architecture::Ours => dense::first_pool(),
            Architecture::Scnn | Architecture::Rpp | Architecture::Pscnn => scnn::first_pool(),
        };
        if config.architecture == Architecture::Ours {
            // Kernels of one side lie together, then biases, then what is not regularised: P takes each of these at once, in place.
            builder.arrange(|entry| match entry.shape.as_slice() {
                [.., 1, 1, 1] => (1, 0),
                [.., side, _, _] => (0, *side),
                [_] if entry.name.contains(".conv") || entry.name.contains(".skip") => (2, 0),
                _ => (3, 0),
            });
        }
        Ok(Self { config: config.clone(), branches, pool, head, likelihood })
    }

    fn block(&self, number: usize) -> impl Iterator<Item = &dyn Block> {
        self.branches.iter().map(move |branch| &*branch[number])
    }
}

fn each<B: Block + 'static>(mut block: impl FnMut(usize) -> Result<B>) -> Result<Vec<Box<dyn Block>>> {
    (0..3).map(|number| Ok(Box::new(block(number)?) as _)).collect()
}

/// A steerable block whose second convolution and skip are averaged with a likelihood, which begins uniform.
fn partial(
    config: &VolumeNetConfig,
    number: usize,
    likelihood: &Likelihood,
    builder: &mut Builder,
    random: &mut Random,
) -> Result<ScnnBlock> {
    let (name, uniform) = (LIKELIHOODS[number], likelihood.uniform());
    builder.real(name, &[uniform.len()], &uniform)?;
    let kernels =
        |pair: &FieldPair| -> Result<Box<dyn Kernels>> { Ok(Box::new(Partial::new(pair, likelihood.share(), name)?)) };
    ScnnBlock::scnn(builder, number, config, &kernels, random)
}

impl Network for VolumeNet {
    fn assemble(&self, parameters: &Parameters, pass: Pass) -> Result<Vec<Tensor>> {
        let blocks = (0..3).flat_map(|number| self.block(number));
        let kernels: Result<Vec<_>> = blocks.map(|block| block.assemble(parameters, pass)).collect();
        Ok(kernels?.into_iter().flatten().collect())
    }

    fn forward(&self, parameters: &Parameters, assembled: &[Tensor], volumes: &Tensor, pass: Pass) -> Result<Tensor> {
        let mut features = pass.precision.cast(volumes)?;
        let mut rest = assembled;
        for number in 0..3 {
            let mut sum: Option<Tensor> = None;
            for block in self.block(number) {
                let (own, others) = rest.split_at(block.kernels());
                let output = block.forward(parameters, own, &features, pass)?;
                sum = Some(sum.map_or(Ok(output.shallow_clone()), |sum| sum.f_add(&output))?);
                rest = others;
            }
            features = sum.expect("a block has a branch");
            if number == 0 {
                features = self.pool.forward(&features)?;
            }
        }
        self.head.forward(parameters, &features, pass.mode)
    }

    fn prior(&self, parameters: &Parameters) -> Result<Option<Tensor>> {
        if self.config.architecture == Architecture::Rpp {
            return rpp_prior(parameters, self.config.rpp).map(Some);
        }
        let Some(likelihood) = &self.likelihood else { return Ok(None) };
        let likelihoods: Result<Vec<Tensor>> = LIKELIHOODS.iter().map(|name| parameters.get(name)).collect();
        likelihood.prior(&likelihoods?, &self.config.likelihood).map(Some)
    }

    /// Kernels and biases of ours:
    ///
    /// ```text
    /// kernel:  P = E Eᵀ onto band-limited steerable kernels from the fields before a convolution to those after it
    /// bias:    P keeps scalars of even parity
    /// ```
    ///
    /// With the pointwise nonlinearity only the linear maps are equivariant: ELU of a channel is so on scalars alone. With the gated one the
    /// network is invariant under the rotations of the grid as soon as W = P(W).
    fn plan(&self, _: &Parameters) -> Result<Option<SymmetryPlan>> {
        if self.config.architecture != Architecture::Ours {
            return Ok(None);
        }
        let gated = self.config.nonlinearity == Nonlinearity::Gated;
        let made = |fields: &Fields| match gated && gates(fields) > 0 {
            true => format!("{fields} + {}", Fields::trivial(fields.symmetry, gates(fields))),
            false => fields.to_string(),
        };
        let rules = (0..3).flat_map(|number| {
            let fields = self.config.fields(number);
            [("conv1", 0, 1), ("conv2", 1, 2), ("skip", 0, 2)].map(|(name, from, to)| Rule {
                name: format!("r{}.{name}.weight", number + 1),
                domain: Some(fields[from].to_string()),
                codomain: made(&fields[to]),
                ..Rule::default()
            })
        });
        Ok(Some(SymmetryPlan::of_rules(&self.config.group.group()?, rules.collect())?))
    }
}

/// equivariant·Σ‖steerable‖² + dense·Σ‖dense‖² over all parameters of the blocks.
fn rpp_prior(parameters: &Parameters, weights: RppConfig) -> Result<Tensor> {
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
    Ok(square(0, steerable, weights.equivariant)?.f_add(&square(steerable, dense, weights.dense)?)?)
}

/// Features `[N, 8c, 1, 1, 1]` → logits `[N, classes]`: flatten, batch normalisation, ELU, linear; in the type of the parameters.
struct Head {
    norm: BatchNorm,
    linear: Linear,
}

impl Head {
    fn new(builder: &mut Builder, features: usize, classes: usize, random: &mut Random) -> Result<Self> {
        let norm = BatchNorm::new(builder, &format!("{HEAD}.norm"), features, 1)?;
        Ok(Self { norm, linear: Linear::new(builder, HEAD, features, classes, random)? })
    }

    fn forward(&self, parameters: &Parameters, features: &Tensor, mode: Mode) -> Result<Tensor> {
        let features = features.f_flatten(1, -1)?.f_to_kind(parameters.flat().kind())?;
        self.linear.forward(parameters, &self.norm.forward(parameters, &features, mode)?.f_elu()?)
    }
}
