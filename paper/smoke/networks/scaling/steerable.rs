//! A convolution inside each of several scales, its kernels mixed from Hermite–Gauss functions ψ.
//!
//! ```text
//! shared    κ_σ(p) = Σ_n w[n, o, i] ψ_{n,σ}(p)           one kernel, drawn at every size
//! relaxed   κ_σ(p) = Σ_n w[p, n, o, i] ψ_{n,σ}(p)        p over the 5 × 5 positions
//! ```
//!
//! Both are one product of a fixed matrix of samples with `[coefficients, out · in]`; pairs of channels are innermost in memory, for
//! rows of 49 or 1225 are an odd stride, at which products on a GPU are slower. Channels are [scale, channel]; the bias is one number
//! a channel for all scales. Scales do not mix: an image is lifted to all of them, and from then on each layer acts inside each scale.

use std::rc::Rc;

use reynolds::random::Random;
use tch::Tensor;

use crate::smoke::networks::HermiteGauss;
use reynolds_torch::error::Result;
use reynolds_torch::layers::{Constant, convolve, kernel_layout, uniform};
use reynolds_torch::parameters::{Builder, Parameters};

/// σ of the layers that write scale channels.
pub(super) const SCALES: [f64; 4] = [1.0, 1.5, 2.0, 2.5];
/// σ of the last layer.
pub(super) const LAST_SCALES: [f64; 1] = [1.0];
/// Points along the side of a kernel.
pub(super) const KERNEL: usize = 5;
/// Positions of a kernel.
pub(super) const POSITIONS: usize = KERNEL * KERNEL;
/// Orders along an axis ("effective size").
const ORDERS: usize = 7;

/// Whether weights depend on the position in the kernel.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Mixing {
    /// w[n, o, i]: steerable.
    Shared,
    /// w[p, n, o, i]: relaxed.
    Relaxed,
}

/// Which scales a kernel is assembled for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Read {
    /// The first alone, cut to its window.
    First,
    /// All.
    All,
}

/// Sampled functions at a list of scales, and what mixes them.
#[derive(Debug)]
pub(super) struct ScaleBasis {
    functions: HermiteGauss,
    mixing: Mixing,
    first: Constant,
    all: Constant,
}

impl ScaleBasis {
    /// 49 functions at `scales` on 5 × 5 points.
    pub(super) fn new(scales: &[f64], mixing: Mixing) -> Result<Rc<Self>> {
        let functions = HermiteGauss::new(KERNEL, ORDERS, scales);
        let (first, all) = (samples(&functions, mixing, Read::First)?, samples(&functions, mixing, Read::All)?);
        Ok(Rc::new(Self { functions, mixing, first, all }))
    }

    /// Weights for each pair of channels.
    pub(super) fn coefficients(&self) -> usize {
        coefficients(&self.functions, self.mixing)
    }

    /// How many scales and the side of their kernels.
    fn shape(&self, read: Read) -> (i64, i64) {
        let (scales, window) = shape(&self.functions, read);
        (scales as i64, window as i64)
    }
}

fn coefficients(functions: &HermiteGauss, mixing: Mixing) -> usize {
    functions.count() * if mixing == Mixing::Relaxed { POSITIONS } else { 1 }
}

fn shape(functions: &HermiteGauss, read: Read) -> (usize, usize) {
    let windows = functions.windows();
    match read {
        Read::First => (1, windows[0]),
        Read::All => (windows.len(), KERNEL),
    }
}

/// The points of the kernels of these scales, (scale, y, x).
pub(super) fn points(functions: &HermiteGauss, read: Read) -> Vec<[usize; 3]> {
    let (scales, window) = shape(functions, read);
    let margin = (KERNEL - window) / 2;
    let point = |at: usize| [at / (window * window), at / window % window + margin, at % window + margin];
    (0..scales * window * window).map(point).collect()
}

/// ψ as a matrix, [point, coefficient].
fn samples(functions: &HermiteGauss, mixing: Mixing, read: Read) -> Result<Constant> {
    let points = points(functions, read);
    let columns = coefficients(functions, mixing);
    let mut values = vec![0.0; points.len() * columns];
    for (number, &[scale, y, x]) in points.iter().enumerate() {
        let first = match mixing {
            Mixing::Shared => 0,
            Mixing::Relaxed => (y * KERNEL + x) * functions.count(),
        };
        for function in 0..functions.count() {
            values[number * columns + first + function] = functions.value(function, scale, y, x);
        }
    }
    Constant::new(&values, &[points.len() as i64, columns as i64])
}

/// `[N, in, H, W]` → `[N, out, H, W]` inside each scale.
#[derive(Debug, Clone)]
pub(super) struct ScaleConv {
    name: String,
    basis: Rc<ScaleBasis>,
    inputs: usize,
    outputs: usize,
}

impl ScaleConv {
    /// Adds `name.weight`, `[49, out, in]` or `[5, 5, 49, out, in]`, Kaiming-uniform with slope √5 (shared) or √5/25 (relaxed), as Wang's
    /// code begins. The bias is added apart, so that the weights of a network lie in a row.
    pub(super) fn new(
        builder: &mut Builder,
        name: &str,
        [inputs, outputs]: [usize; 2],
        basis: &Rc<ScaleBasis>,
        random: &mut Random,
    ) -> Result<Self> {
        let slope = 5.0_f64.sqrt() / if basis.mixing == Mixing::Relaxed { 25.0 } else { 1.0 };
        let fan_in = (inputs * basis.coefficients()) as f64;
        let bound = (6.0 / ((1.0 + slope * slope) * fan_in)).sqrt();
        let positions: &[usize] = if basis.mixing == Mixing::Relaxed { &[KERNEL, KERNEL] } else { &[] };
        let shape = [positions, &[basis.functions.count(), outputs, inputs]].concat();
        let numbers = uniform(shape.iter().product(), bound, random);
        builder.real(&format!("{name}.weight"), &shape, &numbers)?;
        Ok(Self { name: name.into(), basis: Rc::clone(basis), inputs, outputs })
    }

    /// Adds `name.bias`, `[out]`, zero.
    pub(super) fn add_bias(&self, builder: &mut Builder) -> Result<()> {
        builder.real(&format!("{}.bias", self.name), &[self.outputs], &vec![0.0; self.outputs])
    }

    /// The functions that are mixed.
    pub(super) fn functions(&self) -> &HermiteGauss {
        &self.basis.functions
    }

    /// The name of the weights.
    pub(super) fn weight_name(&self) -> String {
        format!("{}.weight", self.name)
    }

    /// w, on the tape.
    pub(super) fn weight(&self, parameters: &Parameters) -> Result<Tensor> {
        parameters.get(&self.weight_name())
    }

    /// κ, on the tape, `[scales · out, in, k, k]`.
    pub(super) fn kernel(&self, parameters: &Parameters, read: Read) -> Result<Tensor> {
        let weight = self.weight(parameters)?;
        let samples = match read {
            Read::First => self.basis.first.like(&weight)?,
            Read::All => self.basis.all.like(&weight)?,
        };
        let (scales, window) = self.basis.shape(read);
        let (inputs, outputs) = (self.inputs as i64, self.outputs as i64);
        let kernel = samples.f_mm(&weight.f_view([-1, outputs * inputs])?)?;
        let kernel = kernel.f_view([scales, window, window, outputs, inputs])?.f_permute([0, 3, 4, 1, 2])?;
        kernel_layout(kernel.f_reshape([scales * outputs, inputs, window, window])?)
    }

    /// κ ⋆ x + b with κ of the first scale: `[N, in, H, W]` → `[N, out, H, W]`.
    pub(super) fn forward(&self, parameters: &Parameters, kernel: &Tensor, input: &Tensor) -> Result<Tensor> {
        convolve(input, kernel, Some(&parameters.get(&format!("{}.bias", self.name))?), 1)
    }

    /// κ_σ ⋆ x_σ + b with κ of all scales: `[N, in, H, W]` (an image, which all scales see) or `[N, scales · in, H, W]` → `[N, scales · out, H, W]`.
    pub(super) fn forward_all(&self, parameters: &Parameters, kernel: &Tensor, input: &Tensor) -> Result<Tensor> {
        let (scales, _) = self.basis.shape(Read::All);
        let bias = parameters.get(&format!("{}.bias", self.name))?.f_repeat([scales])?;
        let groups = if input.size().get(1) == Some(&(self.inputs as i64)) { 1 } else { scales };
        convolve(input, kernel, Some(&bias), groups)
    }
}
