//! RGroup: a network of relaxed group convolutions over sizes.
//!
//! ```text
//! frames ──½ x, x, 2 G ⋆ x──► 3 copies ──[ K_s ⋆ · → batch normalisation → ReLU ] × (L − 1)──► 3 × h channels ──dense conv3──► 2 channels
//! ```
//!
//! Each copy keeps to its size s until the last layer, which reads all. G is a Gaussian of width 1 on 3 × 3 points: a plume drawn larger is
//! smoother and faster.
//!
//! Inferred, where Wang's code cannot be followed or its mixing of axes makes no sense: G blurs images, not the channel axis, on which
//! components and times alternate; γ, β and the statistics of the normalisation are shared by the sizes, over all of which they are taken.
//! Constraint: none.

use reynolds::random::Random;
use tch::Tensor;

use super::group_conv::{GroupConv, SIZES, Sizes};
use super::group_penalty::GroupPenalty;
use crate::smoke::networks::conv::{KERNEL, widths};
use crate::smoke::networks::{Forecaster, Frames, Held, Mode, NetworkPenalty, SmokeNetConfig};
use reynolds_torch::error::Result;
use reynolds_torch::layers::{BatchNorm, Constant, Conv2d, convolve};
use reynolds_torch::parameters::{Builder, Parameters};

/// A relaxed group convolutional network over sizes.
#[derive(Debug)]
pub(super) struct GroupNet {
    blur: Constant,
    layers: Vec<GroupConv>,
    norms: Vec<BatchNorm>,
    last: Conv2d,
}

impl GroupNet {
    /// Adds `layers.N.filters`, `layers.N.mixing`, `norms.N.*` and `last.*`.
    pub(super) fn new(
        config: &SmokeNetConfig,
        frames: Frames,
        builder: &mut Builder,
        random: &mut Random,
    ) -> Result<Self> {
        let mut widths = widths(config, frames);
        config.at_most(count(&widths, config.banks))?;
        widths.pop();
        let sizes = Sizes::new()?;
        let pairs = widths.windows(2).enumerate();
        let layers = pairs.map(|(number, pair)| {
            GroupConv::new(builder, &format!("layers.{number}"), [pair[0], pair[1]], config.banks, &sizes, random)
        });
        let layers = layers.collect::<Result<Vec<_>>>()?;
        layers.iter().try_for_each(|layer| layer.add_mixing(builder))?;
        let norms =
            (0..layers.len()).map(|number| BatchNorm::new(builder, &format!("norms.{number}"), config.hidden, 1));
        let norms = norms.collect::<Result<_>>()?;
        let last = Conv2d::new(builder, "last", [SIZES * config.hidden, 2], KERNEL, random)?;
        Ok(Self { blur: gaussian()?, layers, norms, last })
    }

    /// The frames as each size sees them.
    fn copies(&self, frames: &Tensor) -> Result<[Tensor; SIZES]> {
        let size = frames.size();
        let images = frames.f_reshape([-1, 1, size[2], size[3]])?;
        let blurred = convolve(&images, &self.blur.like(frames)?, None, 1)?.f_view(size.as_slice())?;
        Ok([frames.f_mul_scalar(0.5)?, frames.shallow_clone(), blurred.f_mul_scalar(2.0)?])
    }
}

/// Parameters of layers of these widths, the last one dense.
pub(super) fn count(widths: &[usize], banks: usize) -> usize {
    let (relaxed, last) = (&widths[..widths.len() - 1], widths[widths.len() - 1]);
    let taps = KERNEL * KERNEL;
    let layers: usize = relaxed.windows(2).map(|pair| pair[1] * (pair[0] * banks * taps + 2) + SIZES * banks).sum();
    layers + last * (SIZES * relaxed[relaxed.len() - 1] * taps + 1)
}

/// A Gaussian of width 1 on 3 × 3 points, of sum 1.
fn gaussian() -> Result<Constant> {
    let line = [(-0.5_f64).exp(), 1.0, (-0.5_f64).exp()];
    let sum: f64 = line.iter().sum();
    let plane: Vec<f64> = line.iter().flat_map(|y| line.map(|x| x * y / (sum * sum))).collect();
    Constant::new(&plane, &[1, 1, KERNEL as i64, KERNEL as i64])
}

impl Forecaster for GroupNet {
    fn assemble(&self, parameters: &Parameters) -> Result<Vec<Tensor>> {
        let mut kernels = Vec::with_capacity(SIZES * self.layers.len() + 1);
        for layer in &self.layers {
            kernels.extend(layer.kernels(parameters)?);
        }
        kernels.push(self.last.kernel(parameters)?);
        Ok(kernels)
    }

    fn forward(&self, parameters: &Parameters, assembled: &[Tensor], frames: &Tensor, mode: Mode) -> Result<Tensor> {
        let samples = frames.size()[0];
        let mut copies = Vec::from(self.copies(frames)?);
        let (last, relaxed) = assembled.split_last().expect("a network has a last kernel");
        for (norm, kernels) in self.norms.iter().zip(relaxed.chunks(SIZES)) {
            let answers = copies.iter().zip(kernels).map(|(copy, kernel)| convolve(copy, kernel, None, 1));
            // Sizes one after the other as samples: one normalisation for all.
            let together = Tensor::f_cat(&answers.collect::<Result<Vec<_>>>()?, 0)?;
            let together = norm.forward(parameters, &together, mode)?.f_relu()?;
            copies = together.f_split(samples, 0)?;
        }
        self.last.forward(parameters, last, &Tensor::f_cat(&copies, 1)?)
    }

    fn penalty(&self, parameters: &Parameters, held: Held) -> Result<Option<Box<dyn NetworkPenalty>>> {
        Ok(Some(Box::new(GroupPenalty::new(&self.layers, parameters, held)?)))
    }
}
