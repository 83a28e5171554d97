//! RPP: a residual pathway prior, the sum of an equivariant and an unconstrained path in every layer.
//!
//! ```text
//! translation   y = K ⋆ x + b + B (A x + a) + c        A ∈ ℝ^{32 × in·HW}, B ∈ ℝ^{out·HW × 32}
//! rotation      y = (K_steerable + K_dense) ⋆ x + b    the sum of two convolutions at half their cost
//! scaling       y = K ⋆ x + ReLU( κ ⋆ x + b )          κ inside each of 4 scales, K dense between all channels of all scales
//! ```
//!
//! Then batch normalisation of every channel (not for scaling) and ReLU, except after the last layer, where the inner ReLU of scaling is
//! missing too and κ reads the first scale. Normalising each channel alone, as Wang's code does, breaks the symmetry of fields whose channels
//! have different statistics. The dense maps for shifts have nearly all parameters: at 64 × 64 five layers of six channels fit under the cap,
//! of seven they do not. There is no constraint for shifts.

use super::Symmetry;
use super::conv::{self, KERNEL};
use super::rotation::{self, SteerableConv};
use super::scaling::{self, Mixing, Read, ScaleConv};
use super::*;

/// The rank of the dense maps for shifts.
const RANK: usize = 32;

pub(crate) fn network(new: &mut Construction<'_>) -> Result<Body> {
    match new.symmetry {
        Symmetry::Translation => for_shifts(new),
        Symmetry::Rotation => for_turns(new),
        Symmetry::Scaling => for_sizes(new),
    }
}

/// A convolution and a dense map of low rank.
struct LowRank {
    convolution: Conv2d,
    dense: [Linear; 2],
}

impl Layer for LowRank {
    fn kernels(&self, parameters: &Parameters) -> Result<Vec<Tensor>> {
        Ok(vec![self.convolution.kernel(parameters)?])
    }

    fn forward(&self, parameters: &Parameters, kernels: &[Tensor], input: &Tensor) -> Result<Tensor> {
        let convolved = self.convolution.forward(parameters, &kernels[0], input)?;
        let [down, up] = &self.dense;
        // Pixels in the order of `[C, H, W]`, whatever the memory of the features.
        let dense = down.forward(parameters, &input.f_reshape([input.size()[0], -1])?)?;
        let dense = up.forward(parameters, &dense)?;
        Ok(convolved.f_add(&dense.f_view(convolved.size().as_slice())?)?)
    }
}

/// Adds `layers.N`, `down.N` and `up.N`, `.weight` and `.bias` of each, and `norms.N`.
fn for_shifts(new: &mut Construction<'_>) -> Result<Body> {
    let (pairs, pixels) = (new.pairs(), new.frames.side * new.frames.side);
    let dense = |[inputs, outputs]: &[usize; 2]| RANK * (inputs * pixels + 1) + outputs * pixels * (RANK + 1);
    new.config.at_most(conv::count(&pairs, true) + pairs.iter().map(dense).sum::<usize>())?;
    let layer = |(number, &[inputs, outputs]): (usize, &[usize; 2])| -> Result<Box<dyn Layer>> {
        let (builder, random) = (&mut *new.builder, &mut *new.random);
        let convolution = Conv2d::new(builder, &format!("layers.{number}"), [inputs, outputs], KERNEL, random)?;
        let down = Linear::new(builder, &format!("down.{number}"), inputs * pixels, RANK, random)?;
        let up = Linear::new(builder, &format!("up.{number}"), RANK, outputs * pixels, random)?;
        Ok(Box::new(LowRank { convolution, dense: [down, up] }))
    };
    let layers = pairs.iter().enumerate().map(layer).collect::<Result<_>>()?;
    Ok(Body::new(layers, norms(new.builder, pairs.len(), new.config.hidden, 1)?))
}

/// A steerable convolution and a dense one with a bias, in one.
struct Sum {
    steerable: SteerableConv,
    dense: Conv2d,
}

impl Layer for Sum {
    fn kernels(&self, parameters: &Parameters) -> Result<Vec<Tensor>> {
        Ok(vec![self.steerable.kernel(parameters)?.f_add(&self.dense.kernel(parameters)?)?])
    }

    fn forward(&self, parameters: &Parameters, kernels: &[Tensor], input: &Tensor) -> Result<Tensor> {
        self.dense.forward(parameters, &kernels[0], input)
    }
}

/// Adds `steerable.N.weight`, `dense.N.weight` and `.bias`, and `norms.N`.
fn for_turns(new: &mut Construction<'_>) -> Result<Body> {
    let fields = rotation::pairs(new);
    let channels: Vec<[usize; 2]> = fields.iter().map(|pair| pair.map(|(count, field)| count * field.dim())).collect();
    let steerable: usize = fields.iter().map(|&pair| SteerableConv::count(pair)).sum();
    new.config.at_most(steerable + conv::count(&channels, true))?;
    let (mut layers, mut dense): (Vec<Box<dyn Layer>>, Vec<String>) = Default::default();
    for (number, (fields, pair)) in fields.iter().zip(&channels).enumerate() {
        let steerable = SteerableConv::new(new, &format!("steerable.{number}"), *fields)?;
        dense.push(format!("dense.{number}"));
        let dense = Conv2d::new(new.builder, &dense[number], *pair, KERNEL, new.random)?;
        layers.push(Box::new(Sum { steerable, dense }));
    }
    let norms = norms(new.builder, layers.len(), channels[0][1], 1)?;
    Ok(Body { dense, ..Body::new(layers, norms) })
}

/// A convolution inside each scale and a dense one between all.
struct Scales {
    dense: Conv2d,
    steerable: ScaleConv,
    /// Channels of the first scale, in the last layer.
    first: Option<i64>,
}

impl Layer for Scales {
    fn kernels(&self, parameters: &Parameters) -> Result<Vec<Tensor>> {
        Ok(vec![self.dense.kernel(parameters)?, self.steerable.kernel(parameters, Read::All)?])
    }

    fn forward(&self, parameters: &Parameters, kernels: &[Tensor], input: &Tensor) -> Result<Tensor> {
        let residual = self.dense.forward(parameters, &kernels[0], input)?;
        let inside = match self.first {
            Some(first) => self.steerable.forward_all(parameters, &kernels[1], &input.f_narrow(1, 0, first)?)?,
            None => self.steerable.forward_all(parameters, &kernels[1], input)?.f_relu()?,
        };
        Ok(residual.f_add(&inside)?)
    }
}

/// Adds `layers.N.weight` and `.bias` (steerable) and `dense.N.weight` and `.bias`.
fn for_sizes(new: &mut Construction<'_>) -> Result<Body> {
    let (narrow, last) = (new.pairs(), new.config.layers - 1);
    let mut wide = narrow.clone();
    for (number, [inputs, outputs]) in wide.iter_mut().enumerate() {
        *inputs *= if number > 0 { scaling::SCALES.len() } else { 1 };
        *outputs *= if number < last { scaling::SCALES.len() } else { 1 };
    }
    let side = scaling::KERNEL;
    let count: usize = wide.iter().map(|[inputs, outputs]| outputs * (inputs * side * side + 1)).sum();
    new.config.at_most(count + scaling::count(&narrow, Mixing::Shared))?;
    let (mut layers, mut dense): (Vec<Box<dyn Layer>>, Vec<String>) = Default::default();
    let bases = scaling::bases(Mixing::Shared)?;
    for (number, (inside, between)) in narrow.iter().zip(&wide).enumerate() {
        let basis = &bases[usize::from(number == last)];
        let steerable = ScaleConv::new(new, &format!("layers.{number}"), *inside, basis)?;
        dense.push(format!("dense.{number}"));
        let dense = Conv2d::new(new.builder, &dense[number], *between, side, new.random)?;
        let first = (number == last).then_some(new.config.hidden as i64);
        layers.push(Box::new(Scales { dense, steerable, first }));
    }
    Ok(Body { dense, ..Body::new(layers, Vec::new()) })
}
