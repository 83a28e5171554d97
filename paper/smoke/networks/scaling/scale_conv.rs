//! A convolution inside each of several scales, its kernels mixed from Hermite–Gauss functions ψ, and Equiv, the network of them.
//!
//! ```text
//! shared    κ_σ(p) = Σ_n w[n, o, i] ψ_{n,σ}(p)           one kernel, drawn at every size
//! relaxed   κ_σ(p) = Σ_n w[p, n, o, i] ψ_{n,σ}(p)        p over the 5 × 5 positions
//! ```
//!
//! Both are one product of a fixed matrix of samples with `[coefficients, out · in]`; pairs of channels are innermost in memory, because rows
//! of 49 or 1225 are an odd stride, at which products on a GPU are slower. Channels are [scale, channel]; the bias is one number a channel for
//! all scales. Scales do not mix: an image is lifted to all of them, and each layer acts inside each scale.
//!
//! The last layer has the one scale 1 and reads the first scale channel, so that only scale 1 is computed: the same function with the same
//! gradient in a tenth of the operations (its kernels are 3 × 3, those of the last layer, where scale 1 is the largest, 5 × 5). **This
//! constrains nothing**: Equiv is a plain network of 3 × 3 convolutions, the last 5 × 5.

use super::*;
use std::rc::Rc;

/// σ of the layers that write scale channels.
pub(crate) const SCALES: [f64; 4] = [1.0, 1.5, 2.0, 2.5];
/// σ of the last layer.
pub(crate) const LAST_SCALES: [f64; 1] = [1.0];
/// Points along the side of a kernel.
pub(crate) const KERNEL: usize = 5;
/// Positions of a kernel.
pub(crate) const POSITIONS: usize = KERNEL * KERNEL;
/// Orders along an axis ("effective size"), and functions.
const ORDERS: usize = 7;
const FUNCTIONS: usize = ORDERS * ORDERS;

/// Whether weights depend on the position in the kernel.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Mixing {
    /// w[n, o, i]: steerable.
    Shared,
    /// w[p, n, o, i]: relaxed.
    Relaxed,
}

impl Mixing {
    /// Weights for each pair of channels.
    fn coefficients(self) -> usize {
        FUNCTIONS * if self == Self::Relaxed { POSITIONS } else { 1 }
    }
}

/// Which scales a kernel is assembled for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Read {
    /// The first, cut to its window.
    First,
    All,
}

/// Sampled functions at a list of scales, and what mixes them.
#[derive(Debug)]
pub(crate) struct ScaleBasis {
    functions: HermiteGauss,
    mixing: Mixing,
    /// ψ as a matrix, [point, coefficient], by [`Read`].
    samples: [Constant; 2],
}

impl ScaleBasis {
    /// 49 functions at `scales` on 5 × 5 points.
    pub(crate) fn new(scales: &[f64], mixing: Mixing) -> Result<Rc<Self>> {
        let functions = HermiteGauss::new(KERNEL, ORDERS, scales);
        let matrix = |read: Read| {
            let samples = samples(&functions, read);
            let columns = mixing.coefficients();
            let mut values = vec![0.0; samples.len() * columns];
            for (row, (place, values_at)) in values.chunks_mut(columns).zip(&samples) {
                let first = if mixing == Mixing::Relaxed { place * FUNCTIONS } else { 0 };
                row[first..first + FUNCTIONS].copy_from_slice(values_at);
            }
            Constant::new(&values, &[samples.len() as i64, columns as i64])
        };
        let samples = [matrix(Read::First)?, matrix(Read::All)?];
        Ok(Rc::new(Self { functions, mixing, samples }))
    }
}

/// The number of scales, and the side of their kernels.
fn shape(functions: &HermiteGauss, read: Read) -> (usize, usize) {
    let windows = &functions.windows;
    match read {
        Read::First => (1, windows[0]),
        Read::All => (windows.len(), KERNEL),
    }
}

/// For each point (scale, y, x) of the kernels: its place among the 5 × 5, and the functions there.
fn samples(functions: &HermiteGauss, read: Read) -> Vec<(usize, Vec<f64>)> {
    let (scales, window) = shape(functions, read);
    let margin = (KERNEL - window) / 2;
    let point = |at: usize| {
        let (scale, y, x) = (at / (window * window), at / window % window + margin, at % window + margin);
        (y * KERNEL + x, (0..FUNCTIONS).map(|function| functions.value(function, scale, y, x)).collect())
    };
    (0..scales * window * window).map(point).collect()
}

/// `[N, in, H, W]` → `[N, out, H, W]` inside each scale.
#[derive(Debug, Clone)]
pub(crate) struct ScaleConv {
    name: String,
    basis: Rc<ScaleBasis>,
    inputs: usize,
    outputs: usize,
}

impl ScaleConv {
    /// Adds `name.weight`, `[49, out, in]` or `[5, 5, 49, out, in]`, Kaiming-uniform with slope √5 (shared) or √5/25 (relaxed), as Wang's
    /// code begins, and `name.bias`, `[out]`, zero.
    pub(crate) fn new(
        new: &mut Construction<'_>,
        name: &str,
        [inputs, outputs]: [usize; 2],
        basis: &Rc<ScaleBasis>,
    ) -> Result<Self> {
        let relaxed = basis.mixing == Mixing::Relaxed;
        let slope = 5.0_f64.sqrt() / if relaxed { 25.0 } else { 1.0 };
        let fan_in = (inputs * basis.mixing.coefficients()) as f64;
        let bound = (6.0 / ((1.0 + slope * slope) * fan_in)).sqrt();
        let positions: &[usize] = if relaxed { &[KERNEL, KERNEL] } else { &[] };
        let shape = [positions, &[FUNCTIONS, outputs, inputs]].concat();
        new.builder.real(&format!("{name}.weight"), &shape, &uniform(shape.iter().product(), bound, new.random))?;
        new.builder.real(&format!("{name}.bias"), &[outputs], &vec![0.0; outputs])?;
        Ok(Self { name: name.into(), basis: Rc::clone(basis), inputs, outputs })
    }

    /// Place and functions of each point of the kernels.
    pub(crate) fn samples(&self, read: Read) -> Vec<(usize, Vec<f64>)> {
        samples(&self.basis.functions, read)
    }

    /// w, on the tape.
    pub(crate) fn weight(&self, parameters: &Parameters) -> Result<Tensor> {
        parameters.get(&format!("{}.weight", self.name))
    }

    /// b, on the tape, `[out]`.
    pub(crate) fn bias(&self, parameters: &Parameters) -> Result<Tensor> {
        parameters.get(&format!("{}.bias", self.name))
    }

    /// κ, on the tape, `[scales · out, in, k, k]`.
    pub(crate) fn kernel(&self, parameters: &Parameters, read: Read) -> Result<Tensor> {
        let weight = self.weight(parameters)?;
        let samples = self.basis.samples[read as usize].like(&weight)?;
        let (scales, window) = shape(&self.basis.functions, read);
        let [scales, window, inputs, outputs] = [scales, window, self.inputs, self.outputs].map(|size| size as i64);
        let kernel = samples.f_mm(&weight.f_view([-1, outputs * inputs])?)?;
        let kernel = kernel.f_view([scales, window, window, outputs, inputs])?.f_permute([0, 3, 4, 1, 2])?;
        kernel_layout(kernel.f_reshape([scales * outputs, inputs, window, window])?)
    }

    /// κ_σ ⋆ x_σ + b with κ of all scales: `[N, in, H, W]` (an image, which all scales see) or `[N, scales · in, H, W]` → `[N, scales · out, H, W]`.
    pub(crate) fn forward_all(&self, parameters: &Parameters, kernel: &Tensor, input: &Tensor) -> Result<Tensor> {
        let scales = self.basis.functions.windows.len() as i64;
        let groups = if input.size().get(1) == Some(&(self.inputs as i64)) { 1 } else { scales };
        convolve(input, kernel, Some(&self.bias(parameters)?.f_repeat([scales])?), groups)
    }
}

impl Layer for ScaleConv {
    fn kernels(&self, parameters: &Parameters) -> Result<Vec<Tensor>> {
        Ok(vec![self.kernel(parameters, Read::First)?])
    }

    /// κ ⋆ x + b with κ of the first scale.
    fn forward(&self, parameters: &Parameters, kernels: &[Tensor], input: &Tensor) -> Result<Tensor> {
        convolve(input, &kernels[0], Some(&self.bias(parameters)?), 1)
    }
}

/// The basis of all layers but the last, and that of the last.
pub(crate) fn bases(mixing: Mixing) -> Result<[Rc<ScaleBasis>; 2]> {
    Ok([ScaleBasis::new(&SCALES, mixing)?, ScaleBasis::new(&LAST_SCALES, mixing)?])
}

/// Layers from and to these numbers of channels: adds `layers.N.weight` and `layers.N.bias`.
pub(crate) fn convolutions(new: &mut Construction<'_>, pairs: &[[usize; 2]], mixing: Mixing) -> Result<Vec<ScaleConv>> {
    let bases = bases(mixing)?;
    let layer = |(number, pair): (usize, &[usize; 2])| {
        let basis = &bases[usize::from(number + 1 == pairs.len())];
        ScaleConv::new(new, &format!("layers.{number}"), *pair, basis)
    };
    pairs.iter().enumerate().map(layer).collect()
}

pub(crate) fn count(pairs: &[[usize; 2]], mixing: Mixing) -> usize {
    pairs.iter().map(|[inputs, outputs]| outputs * (inputs * mixing.coefficients() + 1)).sum()
}

/// These layers with shared weights.
pub(crate) fn equiv(new: &mut Construction<'_>, pairs: &[[usize; 2]]) -> Result<Body> {
    let layers = convolutions(new, pairs, Mixing::Shared)?;
    Ok(Body::new(layers.into_iter().map(|layer| Box::new(layer) as Box<dyn Layer>).collect(), Vec::new()))
}
