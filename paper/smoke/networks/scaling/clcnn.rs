//! CLCNN: locally connected layers whose kernels are asked to look the same at every size.
//!
//! ```text
//! w_p ⋆ x at each pixel p, ReLU between layers      c = Σ over layers of mean |R_d w − R_{d′} w|, d = −1, −½, 0, ½, 1 and d′ the d before it
//! ```
//!
//! R_d w is w shrunk or dilated by d, cut to the (k − 1)² points at offsets −1 and 0 along each axis; the largest counts as the neighbour of
//! the smallest, both as in Wang's code. Differences of R_d are linear, so all are one product with a fixed matrix.

use reynolds::random::Random;
use tch::Tensor;

use super::resample::{KERNEL, Resampling, TAPS, shifts};
use crate::smoke::networks::local_net::LocalNet;
use crate::smoke::networks::{Forecaster, Frames, Mode, SmokeNetConfig};
use reynolds_torch::error::Result;
use reynolds_torch::layers::Constant;
use reynolds_torch::parameters::{Builder, Parameters};

/// Sizes that are compared.
const SIZES: usize = 5;

/// The constrained locally connected network for changes of size.
#[derive(Debug)]
pub(super) struct Clcnn {
    body: LocalNet,
    /// R_d − R_{d′} at the points in the middle, [(d, point), tap].
    differences: Constant,
}

impl Clcnn {
    /// Adds the parameters of [`LocalNet`].
    ///
    /// # Errors
    /// As [`SmokeNetConfig::build`].
    pub(super) fn new(
        config: &SmokeNetConfig,
        frames: Frames,
        builder: &mut Builder,
        random: &mut Random,
    ) -> Result<Self> {
        Ok(Self { body: LocalNet::new(config, frames, builder, random)?, differences: differences()? })
    }
}

fn differences() -> Result<Constant> {
    let maps: Vec<Resampling> = shifts(SIZES).map(Resampling::new).collect();
    let entry = |map: &Resampling, point: usize, tap: usize| {
        let corner = map.side() / 2 - KERNEL / 2;
        map.entry([corner + point / (KERNEL - 1), corner + point % (KERNEL - 1)], tap)
    };
    let points = (KERNEL - 1) * (KERNEL - 1);
    let mut values = Vec::with_capacity(SIZES * points * TAPS);
    for size in 0..SIZES {
        let (map, before) = (&maps[size], &maps[(size + SIZES - 1) % SIZES]);
        for point in 0..points {
            values.extend((0..TAPS).map(|tap| entry(before, point, tap) - entry(map, point, tap)));
        }
    }
    Constant::new(&values, &[(SIZES * points) as i64, TAPS as i64])
}

impl Forecaster for Clcnn {
    fn assemble(&self, _parameters: &Parameters) -> Result<Vec<Tensor>> {
        Ok(Vec::new())
    }

    fn forward(&self, parameters: &Parameters, _assembled: &[Tensor], frames: &Tensor, _mode: Mode) -> Result<Tensor> {
        self.body.forward(parameters, frames, Tensor::f_relu)
    }

    fn constraint(&self, parameters: &Parameters, _assembled: &[Tensor]) -> Result<Option<Tensor>> {
        let flat = parameters.flat();
        let differences = self.differences.like(flat)?;
        let terms = self.body.weights(parameters).map(|weight| -> Result<Tensor> {
            let weight = weight?;
            let inputs = weight.size()[5];
            let kernels = weight.f_view([-1, TAPS as i64, inputs])?;
            Ok(differences.f_matmul(&kernels)?.f_abs()?.f_mean(flat.kind())?)
        });
        Ok(Some(Tensor::f_stack(&terms.collect::<Result<Vec<_>>>()?, 0)?.f_sum(flat.kind())?))
    }
}
