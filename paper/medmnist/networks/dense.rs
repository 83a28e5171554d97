//! Dense convolutions with batch normalisation and ELU: the CNN, ours, and the residual branch of RPP.
//!
//! ```text
//! R1   conv7 ─ norm ─ ELU ─ conv5 ─ norm ─ ELU        + conv7 ─ ELU
//! R2   conv3 ─ norm ─ ELU ─ mean 5/2/1 ─ conv3 ─ norm ─ ELU   + mean 5/2/0 ─ conv3 ─ ELU
//! R3   conv3 ─ norm ─ ELU ─ mean 3/1/0 ─ conv1        + conv3
//! ```
//!
//! In training a bias before a normalisation is not added, for the normalisation takes it off ([`BatchNorm::train_shifted`]); in evaluation
//! normalisations are folded into the convolutions before them, once for many passes ([`BatchNorm::fold`]).

use super::network::Block;
use super::*;

/// The windows of conv1, conv2 and skip of each block.
pub(super) const WINDOWS: [[Window; 3]; 3] = [
    [window(7, 1, 2), window(5, 1, 2), window(7, 1, 2)],
    [window(3, 2, 1), window(3, 2, 2), window(3, 1, 0)],
    [window(3, 1, 1), window(1, 1, 0), window(3, 1, 0)],
];

const fn window(side: usize, stride: usize, padding: usize) -> Window {
    Window { side, stride, padding }
}

/// The pools of a block: between conv1 and conv2, before the skip.
pub(super) fn pools(number: usize) -> [Option<Pool3d>; 2] {
    match number {
        0 => [None, None],
        1 => [Some(Pool3d::average(5, 2, 1)), Some(Pool3d::average(5, 2, 0))],
        _ => [Some(Pool3d::average(3, 1, 0)), None],
    }
}

pub(super) fn first_pool() -> Pool3d {
    Pool3d::average(5, 2, 1)
}

pub(super) struct DenseBlock {
    layout: Layout,
    first: Conv3d,
    first_norm: BatchNorm,
    between: Option<Pool3d>,
    second: Conv3d,
    /// Followed by a nonlinearity, as the skip then is.
    second_norm: Option<BatchNorm>,
    before_skip: Option<Pool3d>,
    skip: Conv3d,
}

impl DenseBlock {
    /// Adds the parameters `{prefix}r{number + 1}.…`.
    pub(super) fn new(
        builder: &mut Builder,
        prefix: &str,
        number: usize,
        config: &VolumeNetConfig,
        random: &mut Random,
    ) -> Result<Self> {
        let [inputs, inner, outputs] = config.fields(number).map(|fields| fields.dim());
        let name = |part: &str| format!("{prefix}r{}.{part}", number + 1);
        let first = Conv3d::new(builder, &name("conv1"), [inputs, inner], WINDOWS[number][0], random)?;
        let first_norm = BatchNorm::new(builder, &name("norm1"), inner, 1)?;
        let second = Conv3d::new(builder, &name("conv2"), [inner, outputs], WINDOWS[number][1], random)?;
        let second_norm = (number < 2).then(|| BatchNorm::new(builder, &name("norm2"), outputs, 1)).transpose()?;
        let skip = Conv3d::new(builder, &name("skip"), [inputs, outputs], WINDOWS[number][2], random)?;
        let [between, before_skip] = pools(number);
        Ok(Self { layout: config.layout, first, first_norm, between, second, second_norm, before_skip, skip })
    }

    /// Kernel and bias of a convolution, its normalisation folded into them if `pass` evaluates.
    fn convolution(
        &self,
        parameters: &Parameters,
        conv: &Conv3d,
        norm: Option<&BatchNorm>,
        pass: Pass,
    ) -> Result<[Tensor; 2]> {
        let (kernel, bias) = (parameters.get(conv.weight())?, parameters.get(conv.bias())?);
        let [kernel, bias] = match (norm, pass.mode) {
            (Some(norm), Mode::Evaluate) => norm.fold(parameters, &kernel, &bias)?,
            _ => [kernel, bias],
        };
        Ok([self.layout.kernel(&kernel, pass.precision)?, pass.precision.cast(&bias)?])
    }

    /// ELU of the normalised convolution.
    fn stage(
        &self,
        parameters: &Parameters,
        (conv, norm): (&Conv3d, &BatchNorm),
        [kernel, bias]: [&Tensor; 2],
        input: &Tensor,
        mode: Mode,
    ) -> Result<Tensor> {
        let mut features = match mode {
            Mode::Train => norm.train_shifted(parameters, &conv.forward(kernel, None, input)?, bias)?,
            Mode::Evaluate => conv.forward(kernel, Some(bias), input)?,
        };
        Ok(features.f_elu_()?)
    }
}

impl Block for DenseBlock {
    fn kernels(&self) -> usize {
        6
    }

    fn assemble(&self, parameters: &Parameters, pass: Pass) -> Result<Vec<Tensor>> {
        let first = self.convolution(parameters, &self.first, Some(&self.first_norm), pass)?;
        let second = self.convolution(parameters, &self.second, self.second_norm.as_ref(), pass)?;
        let skip = self.convolution(parameters, &self.skip, None, pass)?;
        Ok([first, second, skip].into_iter().flatten().collect())
    }

    fn forward(&self, parameters: &Parameters, assembled: &[Tensor], input: &Tensor, pass: Pass) -> Result<Tensor> {
        let of = |conv: usize| [&assembled[2 * conv], &assembled[2 * conv + 1]];
        let pooled = |pool: &Option<Pool3d>, features: Tensor| match pool {
            Some(pool) => pool.forward(&features),
            None => Ok(features),
        };
        let inner = self.stage(parameters, (&self.first, &self.first_norm), of(0), input, pass.mode)?;
        let inner = pooled(&self.between, inner)?;
        let around = pooled(&self.before_skip, input.shallow_clone())?;
        let mut skip = self.skip.forward(of(2)[0], Some(of(2)[1]), &around)?;
        let main = match &self.second_norm {
            Some(norm) => {
                skip = skip.f_elu_()?;
                self.stage(parameters, (&self.second, norm), of(1), &inner, pass.mode)?
            }
            None => self.second.forward(of(1)[0], Some(of(1)[1]), &inner)?,
        };
        Ok(main.f_add(&skip)?)
    }
}
