//! Equiv and RSteer: networks of convolutions inside each scale (SESN), with shared and with relaxed weights.
//!
//! ```text
//! 2T channels ──κ₁──► 4 scales × h ──ReLU, κ₂──► … ──ReLU, κ_L──► 2 channels
//! ```
//!
//! The last layer has the one scale 1 and reads the first scale channel; in between, scales do not mix. So what the network computes
//! depends on scale 1 alone, and that is what is computed: the same function with the same gradient as with the three scales that
//! nobody reads, in a tenth of the operations (kernels of scale 1 are 3 × 3; those of the last layer, where scale 1 is the largest, 5 × 5).
//! The penalty is on the same kernels.
//!
//! **Nothing is constrained by this.** At scale 1 the 49 functions have rank 9 on the 3 × 3 points and rank 25 on the 5 × 5 of the last layer,
//! so that shared weights already make every kernel: Equiv is a plain network of 3 × 3 convolutions, the last 5 × 5, and RSteer computes the
//! same functions with more parameters for each. What scales would share is never read. The architecture is Wang's.
//!
//! Relaxed, with 48 channels and five layers it has 9,760,994 parameters. Wang's own 64 channels make 16,777,858 and are refused.

use std::rc::Rc;

use reynolds::random::Random;
use tch::Tensor;

use super::steerable::{LAST_SCALES, Mixing, Read, SCALES, ScaleBasis, ScaleConv};
use super::steerable_penalty::SteerablePenalty;
use crate::smoke::networks::conv::widths;
use crate::smoke::networks::{Forecaster, Frames, Held, Mode, NetworkPenalty, SmokeNetConfig};
use reynolds_torch::error::Result;
use reynolds_torch::parameters::{Builder, Parameters};

/// A scale-steerable network.
#[derive(Debug)]
pub(super) struct SteerableNet {
    layers: Vec<ScaleConv>,
    mixing: Mixing,
}

impl SteerableNet {
    /// Adds `layers.N.weight`, then `layers.N.bias`.
    pub(super) fn new(
        config: &SmokeNetConfig,
        frames: Frames,
        mixing: Mixing,
        builder: &mut Builder,
        random: &mut Random,
    ) -> Result<Self> {
        let bases = [ScaleBasis::new(&SCALES, mixing)?, ScaleBasis::new(&LAST_SCALES, mixing)?];
        let widths = widths(config, frames);
        config.at_most(count(&widths, &bases[0]))?;
        let pairs = widths.windows(2).enumerate();
        let layers = pairs.map(|(number, pair)| {
            let basis = &bases[usize::from(number + 1 == config.layers)];
            ScaleConv::new(builder, &format!("layers.{number}"), [pair[0], pair[1]], basis, random)
        });
        let layers = layers.collect::<Result<Vec<_>>>()?;
        layers.iter().try_for_each(|layer| layer.add_bias(builder))?;
        Ok(Self { layers, mixing })
    }
}

/// Parameters of layers of these widths.
pub(super) fn count(widths: &[usize], basis: &Rc<ScaleBasis>) -> usize {
    widths.windows(2).map(|pair| pair[1] * (pair[0] * basis.coefficients() + 1)).sum()
}

impl Forecaster for SteerableNet {
    fn assemble(&self, parameters: &Parameters) -> Result<Vec<Tensor>> {
        self.layers.iter().map(|layer| layer.kernel(parameters, Read::First)).collect()
    }

    fn forward(&self, parameters: &Parameters, assembled: &[Tensor], frames: &Tensor, _mode: Mode) -> Result<Tensor> {
        let mut features = frames.shallow_clone();
        for (number, (layer, kernel)) in self.layers.iter().zip(assembled).enumerate() {
            features = layer.forward(parameters, kernel, &features)?;
            if number + 1 < self.layers.len() {
                features = features.f_relu()?;
            }
        }
        Ok(features)
    }

    /// Σ over layers of the mean of |w(p) − w(p + (1, 1))| over the kernel plane, around its edges; none if weights are shared.
    fn constraint(&self, parameters: &Parameters, _assembled: &[Tensor]) -> Result<Option<Tensor>> {
        if self.mixing == Mixing::Shared {
            return Ok(None);
        }
        let kind = parameters.flat().kind();
        let terms = self.layers.iter().map(|layer| -> Result<Tensor> {
            let weight = layer.weight(parameters)?;
            Ok(weight.f_roll([1, 1], [0, 1])?.f_sub(&weight)?.f_abs()?.f_mean(kind)?)
        });
        Ok(Some(Tensor::f_stack(&terms.collect::<Result<Vec<_>>>()?, 0)?.f_sum(kind)?))
    }

    fn penalty(&self, parameters: &Parameters, held: Held) -> Result<Option<Box<dyn NetworkPenalty>>> {
        match self.mixing {
            Mixing::Shared => Ok(None),
            Mixing::Relaxed => Ok(Some(Box::new(SteerablePenalty::new(&self.layers, parameters, held, Read::First)?))),
        }
    }
}
