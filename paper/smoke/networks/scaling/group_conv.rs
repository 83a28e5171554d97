//! A relaxed group convolution over sizes: at each of S = 3 sizes filters are mixed anew, then shrunk or dilated.
//!
//! ```text
//! K_s = R_{(s − 1)/2} Σ_f w[s, f] ψ_f      w ∈ ℝ^{S × F}, ψ_f ∈ ℝ^{out × in × 3 × 3}
//! ```
//!
//! Kernels are 3 × 3, 3 × 3 and 5 × 5. All three are one product of ψ with a small matrix made of w and R, on the tape: Wang's code
//! builds them once and detaches them, so that neither w nor ψ is ever trained; that is mended here.

use std::rc::Rc;

use reynolds::random::Random;
use tch::Tensor;

use super::resample::{KERNEL, Resampling, TAPS, shifts};
use reynolds_torch::error::Result;
use reynolds_torch::layers::{Constant, kernel_layout, uniform};
use reynolds_torch::parameters::{Builder, Parameters};

/// S, sizes.
pub(super) const SIZES: usize = 3;

/// R of all sizes.
#[derive(Debug)]
pub(super) struct Sizes {
    /// Side of each kernel.
    sides: [i64; SIZES],
    /// R of all sizes side by side, [tap, point of all sizes].
    taps: Constant,
    /// One where a point belongs to a size, [size, point of all sizes].
    owners: Constant,
    /// RᵀR of each size, [size, (tap, tap)].
    grams: Constant,
}

impl Sizes {
    /// The three sizes.
    pub(super) fn new() -> Result<Rc<Self>> {
        let maps: Vec<Resampling> = shifts(SIZES).map(Resampling::new).collect();
        let points = |map: &Resampling| {
            let side = map.side();
            (0..side * side).map(move |at| [at / side, at % side]).collect::<Vec<_>>()
        };
        let all: Vec<(usize, [usize; 2])> =
            maps.iter().enumerate().flat_map(|(size, map)| points(map).into_iter().map(move |at| (size, at))).collect();
        let taps: Vec<f64> = (0..TAPS)
            .flat_map(|tap| all.iter().map(|&(size, at)| maps[size].entry(at, tap)).collect::<Vec<_>>())
            .collect();
        let owner = |size: usize| all.iter().map(move |&(other, _)| f64::from(u8::from(size == other)));
        let owners: Vec<f64> = (0..SIZES).flat_map(owner).collect();
        let gram = |map: &Resampling| {
            let product = |pair: usize| {
                points(map).into_iter().map(|at| map.entry(at, pair / TAPS) * map.entry(at, pair % TAPS)).sum::<f64>()
            };
            (0..TAPS * TAPS).map(product).collect::<Vec<f64>>()
        };
        let grams: Vec<f64> = maps.iter().flat_map(gram).collect();
        let [sizes, columns, pairs] = [SIZES, all.len(), TAPS * TAPS].map(|count| count as i64);
        Ok(Rc::new(Self {
            sides: std::array::from_fn(|size| maps[size].side() as i64),
            taps: Constant::new(&taps, &[TAPS as i64, columns])?,
            owners: Constant::new(&owners, &[sizes, columns])?,
            grams: Constant::new(&grams, &[sizes, pairs])?,
        }))
    }

    /// RᵀR of each size, `[S, 81]`.
    pub(super) fn grams(&self) -> &Constant {
        &self.grams
    }
}

/// `[N, in, H, W]` → `[N, out, H, W]` at each size.
#[derive(Debug)]
pub(super) struct GroupConv {
    name: String,
    sizes: Rc<Sizes>,
    inputs: usize,
    outputs: usize,
    banks: usize,
}

impl GroupConv {
    /// Adds `name.filters`, `[out, in, F, 3, 3]`, uniform in ±1/√(9 in). The mixing weights are added apart, so that all filters lie in a row.
    pub(super) fn new(
        builder: &mut Builder,
        name: &str,
        [inputs, outputs]: [usize; 2],
        banks: usize,
        sizes: &Rc<Sizes>,
        random: &mut Random,
    ) -> Result<Self> {
        let bound = 1.0 / ((inputs * TAPS) as f64).sqrt();
        let shape = [outputs, inputs, banks, KERNEL, KERNEL];
        builder.real(&format!("{name}.filters"), &shape, &uniform(shape.iter().product(), bound, random))?;
        Ok(Self { name: name.into(), sizes: Rc::clone(sizes), inputs, outputs, banks })
    }

    /// Adds `name.mixing`, `[S, F]`, 1/F.
    pub(super) fn add_mixing(&self, builder: &mut Builder) -> Result<()> {
        let weights = vec![1.0 / self.banks as f64; SIZES * self.banks];
        builder.real(&format!("{}.mixing", self.name), &[SIZES, self.banks], &weights)
    }

    /// R of all sizes.
    pub(super) fn sizes(&self) -> Rc<Sizes> {
        Rc::clone(&self.sizes)
    }

    /// F.
    pub(super) fn banks(&self) -> usize {
        self.banks
    }

    /// Channels written.
    pub(super) fn outputs(&self) -> usize {
        self.outputs
    }

    /// The name of `part`.
    pub(super) fn name(&self, part: &str) -> String {
        format!("{}.{part}", self.name)
    }

    /// K_s of each size, on the tape.
    pub(super) fn kernels(&self, parameters: &Parameters) -> Result<Vec<Tensor>> {
        let (filters, mixing) = (parameters.get(&self.name("filters"))?, parameters.get(&self.name("mixing"))?);
        let (taps, owners) = (self.sizes.taps.like(&filters)?, self.sizes.owners.like(&filters)?);
        let (inputs, outputs, columns) = (self.inputs as i64, self.outputs as i64, (self.banks * TAPS) as i64);
        let by_point = mixing.f_transpose(0, 1)?.f_mm(&owners)?;
        let mixed = by_point.f_unsqueeze(1)?.f_mul(&taps)?.f_view([columns, -1])?;
        let kernels = filters.f_view([-1, columns])?.f_mm(&mixed)?;
        let mut start = 0;
        let kernel = |side: i64| -> Result<Tensor> {
            let kernel = kernels.f_narrow(1, start, side * side)?;
            start += side * side;
            kernel_layout(kernel.f_reshape([outputs, inputs, side, side])?)
        };
        self.sizes.sides.into_iter().map(kernel).collect()
    }
}
