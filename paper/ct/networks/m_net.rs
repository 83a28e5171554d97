//! M-nets: the maps of a dictionary, kept sparse.
//!
//! ```text
//! M ← ReLU(R(M) − τ)      R residual blocks of C maps, τ one number a map, 1.5 at first
//! ```

use reynolds::random::Random;
use tch::Tensor;

use super::channels::{first, pad};
use super::residual_net::ResidualNet;
use super::{Mode, Pass, Seen};
use reynolds_torch::error::Result;
use reynolds_torch::parameters::{Builder, Parameters};

/// τ at first.
const THRESHOLD: f64 = 1.5;

#[derive(Debug)]
pub(super) struct MNet {
    blocks: ResidualNet,
    maps: i64,
    threshold: String,
}

impl MNet {
    /// Adds `m.number.…` and `m.number.threshold`, `[maps]`.
    pub(super) fn new(
        builder: &mut Builder,
        number: usize,
        maps: usize,
        blocks: usize,
        random: &mut Random,
    ) -> Result<Self> {
        let (name, threshold) = (format!("m.{number}"), format!("m.{number}.threshold"));
        let blocks = ResidualNet::new(builder, &name, maps, blocks, random)?;
        builder.real(&threshold, &[maps], &vec![THRESHOLD; maps])?;
        Ok(Self { blocks, maps: maps as i64, threshold })
    }

    pub(super) fn kernels(&self) -> Vec<String> {
        self.blocks.kernels()
    }

    /// How many tensors [`MNet::assemble`] makes.
    pub(super) fn assembled(&self, mode: Mode) -> usize {
        self.blocks.assembled(mode)
    }

    /// What [`MNet::forward`] needs of the parameters.
    pub(super) fn assemble(&self, parameters: &Parameters, pass: Pass) -> Result<Vec<Tensor>> {
        self.blocks.assemble(parameters, pass)
    }

    /// Maps `[N, C, H, W]` → the same, both in the type of the parameters. They are not negative.
    pub(super) fn forward(
        &self,
        parameters: &Parameters,
        assembled: &[Tensor],
        maps: &Tensor,
        pass: Pass,
        seen: Option<&mut Seen<'_>>,
    ) -> Result<Tensor> {
        let padding = self.blocks.width(pass.precision) - self.maps;
        let stream = pass.precision.cast(maps)?;
        let stream = pad(&stream, padding)?;
        let (stream, _) = self.blocks.forward(parameters, assembled, (stream, None), pass, seen)?;
        // τ has the type of the parameters, and with it the difference.
        let threshold = parameters.get(&self.threshold)?.f_view([-1, 1, 1])?;
        Ok(first(&stream, self.maps)?.f_sub(&threshold)?.f_relu_()?)
    }
}
