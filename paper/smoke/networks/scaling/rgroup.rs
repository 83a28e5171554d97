//! RGroup: relaxed group convolutions over sizes; at each of S = 3 sizes filters are mixed anew, then shrunk or dilated.
//!
//! ```text
//! K_s = R_{(s − 1)/2} Σ_f w[s, f] ψ_f      w ∈ ℝ^{S × F}, ψ_f ∈ ℝ^{out × in × 3 × 3}
//! frames ──½ x, x, 2 G ⋆ x──► 3 copies ──[ K_s ⋆ · → batch normalisation → ReLU ] × (L − 1)──► 3 × h channels ──dense conv3──► 2 channels
//! ```
//!
//! Kernels are 3 × 3, 3 × 3 and 5 × 5: one product of ψ with a small matrix of w and R, on the tape. (Wang's code detaches them, so that neither
//! w nor ψ is trained.) Each copy keeps its size s until the last layer, which reads all. G is a Gaussian of width 1 on 3 × 3 points: a
//! larger plume is smoother and faster. There is no constraint.
//!
//! Inferred, where Wang's code mixes axes: G blurs images, not the channel axis, on which components and times alternate; the normalisation
//! is shared by the sizes, with statistics over all of them.

use super::resample::{Resampling, TAPS, shifts};
use super::*;
use crate::smoke::networks::conv::KERNEL;

/// S, sizes.
const SIZES: usize = 3;

pub(crate) struct Rgroup {
    blur: Constant,
    sizes: Sizes,
    /// Channels of the relaxed layers.
    pairs: Vec<[usize; 2]>,
    banks: usize,
    norms: Vec<BatchNorm>,
    last: Conv2d,
    regularised: Regularised,
}

/// R of all sizes.
struct Sizes {
    /// Side of each kernel.
    sides: [i64; SIZES],
    /// R of all sizes side by side, [tap, point of all sizes].
    taps: Constant,
    /// One where a point belongs to a size, [size, point of all sizes].
    owners: Constant,
}

impl Sizes {
    fn new() -> Result<Self> {
        let maps: Vec<Resampling> = shifts(SIZES).map(Resampling::new).collect();
        let points = |size: usize| {
            let side = maps[size].side();
            (0..side * side).map(move |at| (size, [at / side, at % side]))
        };
        let all: Vec<(usize, [usize; 2])> = (0..SIZES).flat_map(points).collect();
        let taps: Vec<f64> = (0..TAPS)
            .flat_map(|tap| all.iter().map(|&(size, at)| maps[size].entry(at, tap)).collect::<Vec<_>>())
            .collect();
        let owner = |size: usize| all.iter().map(move |&(other, _)| f64::from(u8::from(size == other)));
        let owners: Vec<f64> = (0..SIZES).flat_map(owner).collect();
        Ok(Self {
            sides: std::array::from_fn(|size| maps[size].side() as i64),
            taps: Constant::new(&taps, &[TAPS as i64, all.len() as i64])?,
            owners: Constant::new(&owners, &[SIZES as i64, all.len() as i64])?,
        })
    }
}

impl Rgroup {
    /// Adds `layers.N.filters`, `[out, in, F, 3, 3]`, uniform in ±1/√(9 in), `layers.N.mixing`, `[S, F]`, 1/F, `norms.N` and `last`.
    pub(crate) fn new(new: &mut Construction<'_>) -> Result<Self> {
        let (mut pairs, banks) = (new.pairs(), new.config.banks);
        new.config.at_most(count(&pairs, banks))?;
        pairs.pop();
        for (number, [inputs, outputs]) in pairs.iter().enumerate() {
            new.uniform(&filters(number), &[*outputs, *inputs, banks, KERNEL, KERNEL], inputs * TAPS)?;
        }
        for number in 0..pairs.len() {
            new.builder.real(&mixing(number), &[SIZES, banks], &vec![1.0 / banks as f64; SIZES * banks])?;
        }
        let norms = body::norms(new.builder, new.config.layers, new.config.hidden, 1)?;
        let last = Conv2d::new(new.builder, "last", [SIZES * new.config.hidden, 2], KERNEL, new.random)?;
        Ok(Self {
            blur: gaussian()?,
            sizes: Sizes::new()?,
            pairs,
            banks,
            norms,
            last,
            regularised: new.config.regularised,
        })
    }

    /// K_s of a layer for these mixing weights, `[out · in, points of all sizes]`.
    fn kernels(&self, parameters: &Parameters, number: usize, mixing: &Tensor) -> Result<Tensor> {
        let columns = (self.banks * TAPS) as i64;
        let by_point = mixing.f_transpose(0, 1)?.f_mm(&self.sizes.owners.like(mixing)?)?;
        let mixed = by_point.f_unsqueeze(1)?.f_mul(&self.sizes.taps.like(mixing)?)?.f_view([columns, -1])?;
        Ok(parameters.get(&filters(number))?.f_view([-1, columns])?.f_mm(&mixed)?)
    }

    /// The frames as each size sees them.
    fn copies(&self, frames: &Tensor) -> Result<[Tensor; SIZES]> {
        let size = frames.size();
        let images = frames.f_reshape([-1, 1, size[2], size[3]])?;
        let blurred = convolve(&images, &self.blur.like(frames)?, None, 1)?.f_view(size.as_slice())?;
        Ok([frames.f_mul_scalar(0.5)?, frames.shallow_clone(), blurred.f_mul_scalar(2.0)?])
    }
}

fn filters(number: usize) -> String {
    format!("layers.{number}.filters")
}

fn mixing(number: usize) -> String {
    format!("layers.{number}.mixing")
}

/// Parameters of these layers, the last one dense.
fn count(pairs: &[[usize; 2]], banks: usize) -> usize {
    let (relaxed, [inputs, outputs]) = (&pairs[..pairs.len() - 1], pairs[pairs.len() - 1]);
    let layer = |[inputs, outputs]: &[usize; 2]| outputs * (inputs * banks * TAPS + 2) + SIZES * banks;
    relaxed.iter().map(layer).sum::<usize>() + outputs * (SIZES * inputs * TAPS + 1)
}

/// A Gaussian of width 1 on 3 × 3 points, of sum 1.
fn gaussian() -> Result<Constant> {
    let line = [(-0.5_f64).exp(), 1.0, (-0.5_f64).exp()];
    let sum: f64 = line.iter().sum();
    let plane: Vec<f64> = line.iter().flat_map(|y| line.map(|x| x * y / (sum * sum))).collect();
    Constant::new(&plane, &[1, 1, KERNEL as i64, KERNEL as i64])
}

impl Network for Rgroup {
    fn assemble(&self, parameters: &Parameters, _: Pass) -> Result<Vec<Tensor>> {
        let mut assembled = Vec::with_capacity(SIZES * self.pairs.len() + 1);
        for (number, pair) in self.pairs.iter().enumerate() {
            let [inputs, outputs] = pair.map(|channels| channels as i64);
            let kernels = self.kernels(parameters, number, &parameters.get(&mixing(number))?)?;
            let mut start = 0;
            for side in self.sizes.sides {
                let kernel = kernels.f_narrow(1, start, side * side)?.f_reshape([outputs, inputs, side, side])?;
                assembled.push(kernel_layout(kernel)?);
                start += side * side;
            }
        }
        assembled.push(self.last.kernel(parameters)?);
        Ok(assembled)
    }

    fn forward(&self, parameters: &Parameters, assembled: &[Tensor], frames: &Tensor, pass: Pass) -> Result<Tensor> {
        let samples = frames.size()[0];
        let mut copies = Vec::from(self.copies(frames)?);
        let (last, relaxed) = assembled.split_last().expect("a network has a last kernel");
        for (norm, kernels) in self.norms.iter().zip(relaxed.chunks(SIZES)) {
            let answers = copies.iter().zip(kernels).map(|(copy, kernel)| convolve(copy, kernel, None, 1));
            // Sizes one after the other as samples: one normalisation for all.
            let together = Tensor::f_cat(&answers.collect::<Result<Vec<_>>>()?, 0)?;
            let together = norm.forward(parameters, &together, pass.mode)?.f_relu()?;
            copies = together.f_split(samples, 0)?;
        }
        self.last.forward(parameters, last, &Tensor::f_cat(&copies, 1)?)
    }

    fn energy(&self, parameters: &Parameters, component: Component) -> Result<Option<Tensor>> {
        let energy = |number: usize| {
            let mixing = component_of(&parameters.get(&mixing(number))?, &[0], component)?;
            match self.regularised {
                Regularised::Operator => squares(&self.kernels(parameters, number, &mixing)?),
                Regularised::Mixing => squares(&mixing),
            }
        };
        Ok(Some(total((0..self.pairs.len()).map(energy))?))
    }

    fn project(&self, parameters: &mut Parameters) -> Result<()> {
        (0..self.pairs.len()).try_for_each(|number| project(&parameters.get(&mixing(number))?, &[0]))
    }
}
