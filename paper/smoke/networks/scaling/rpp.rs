//! RPP: residual pathway prior, an exactly steerable layer and a dense one, added.
//!
//! ```text
//! y = ReLU( K ⋆ x + ReLU( κ ⋆ x + b ) )      κ inside each of 4 scales, K dense between all channels of all scales
//! ```
//!
//! The steerable part has its own ReLU, as in Wang's code; the last layer has none and its steerable part reads the first scale. Kernels are
//! 5 × 5 in both. The constraint is 10⁻⁶ Σ‖K‖², biases included.

use reynolds::random::Random;
use tch::Tensor;

use super::steerable::{KERNEL, LAST_SCALES, Mixing, Read, SCALES, ScaleBasis, ScaleConv};
use super::steerable_net;
use crate::smoke::networks::conv::widths;
use crate::smoke::networks::{Forecaster, Frames, Mode, SmokeNetConfig};
use reynolds_torch::error::Result;
use reynolds_torch::layers::Conv2d;
use reynolds_torch::parameters::{Builder, Parameters};

/// The weight of the dense part in the constraint.
const DENSE: f64 = 1e-6;

/// A residual pathway network.
#[derive(Debug)]
pub(super) struct RppNet {
    dense: Vec<Conv2d>,
    steerable: Vec<ScaleConv>,
    hidden: i64,
}

impl RppNet {
    /// Adds `layers.N.weight` and `.bias` (steerable) and `dense.N.weight` and `.bias`.
    pub(super) fn new(
        config: &SmokeNetConfig,
        frames: Frames,
        builder: &mut Builder,
        random: &mut Random,
    ) -> Result<Self> {
        let bases = [ScaleBasis::new(&SCALES, Mixing::Shared)?, ScaleBasis::new(&LAST_SCALES, Mixing::Shared)?];
        let narrow = widths(config, frames);
        let mut wide = narrow.clone();
        wide[1..config.layers].iter_mut().for_each(|width| *width *= SCALES.len());
        let dense: usize = wide.windows(2).map(|pair| pair[1] * (pair[0] * KERNEL * KERNEL + 1)).sum();
        config.at_most(dense + steerable_net::count(&narrow, &bases[0]))?;
        let mut net = Self { dense: Vec::new(), steerable: Vec::new(), hidden: config.hidden as i64 };
        for number in 0..config.layers {
            let basis = &bases[usize::from(number + 1 == config.layers)];
            let (name, inside) = (format!("layers.{number}"), [narrow[number], narrow[number + 1]]);
            net.steerable.push(ScaleConv::new(builder, &name, inside, basis, random)?);
            net.steerable[number].add_bias(builder)?;
            let (name, between) = (format!("dense.{number}"), [wide[number], wide[number + 1]]);
            net.dense.push(Conv2d::new(builder, &name, between, KERNEL, random)?);
        }
        Ok(net)
    }
}

impl Forecaster for RppNet {
    fn assemble(&self, parameters: &Parameters) -> Result<Vec<Tensor>> {
        let mut kernels = Vec::with_capacity(2 * self.dense.len());
        for (dense, steerable) in self.dense.iter().zip(&self.steerable) {
            kernels.extend([dense.kernel(parameters)?, steerable.kernel(parameters, Read::All)?]);
        }
        Ok(kernels)
    }

    fn forward(&self, parameters: &Parameters, assembled: &[Tensor], frames: &Tensor, _mode: Mode) -> Result<Tensor> {
        let mut features = frames.shallow_clone();
        for (number, kernels) in assembled.chunks(2).enumerate() {
            let (dense, steerable) = (&self.dense[number], &self.steerable[number]);
            let residual = dense.forward(parameters, &kernels[0], &features)?;
            if number + 1 == self.dense.len() {
                let first = features.f_narrow(1, 0, self.hidden)?;
                return Ok(residual.f_add(&steerable.forward_all(parameters, &kernels[1], &first)?)?);
            }
            let inside = steerable.forward_all(parameters, &kernels[1], &features)?.f_relu()?;
            features = residual.f_add(&inside)?.f_relu()?;
        }
        Ok(features)
    }

    fn constraint(&self, parameters: &Parameters, _assembled: &[Tensor]) -> Result<Option<Tensor>> {
        let kind = parameters.flat().kind();
        let names =
            (0..self.dense.len()).flat_map(|number| ["weight", "bias"].map(|part| format!("dense.{number}.{part}")));
        let terms = names.map(|name| -> Result<Tensor> { Ok(parameters.get(&name)?.f_square()?.f_sum(kind)?) });
        let total = Tensor::f_stack(&terms.collect::<Result<Vec<_>>>()?, 0)?.f_sum(kind)?;
        Ok(Some(total.f_mul_scalar(DENSE)?))
    }
}
