//! X-nets: the image and the channels that travel with it.
//!
//! ```text
//! [X; P] ← Xnet([X; P])      X [N, 1, H, W],  P [N, 35, H, W]
//! ```

use reynolds::random::Random;
use tch::Tensor;

use super::channels::{join, parts};
use super::residual_net::ResidualNet;
use super::{Mode, Pass, Precision, Seen};
use reynolds_torch::error::Result;
use reynolds_torch::parameters::{Builder, Parameters};

/// N_p, the channels that travel with the image.
pub(super) const AUXILIARY: usize = 35;

#[derive(Debug)]
pub(super) struct XNet(ResidualNet);

impl XNet {
    /// Adds `x.number.…`.
    pub(super) fn new(builder: &mut Builder, number: usize, blocks: usize, random: &mut Random) -> Result<Self> {
        Ok(Self(ResidualNet::new(builder, &format!("x.{number}"), AUXILIARY + 1, blocks, random)?))
    }

    pub(super) fn kernels(&self) -> Vec<String> {
        self.0.kernels()
    }

    /// How many tensors [`XNet::assemble`] makes.
    pub(super) fn assembled(&self, mode: Mode) -> usize {
        self.0.assembled(mode)
    }

    /// What [`XNet::forward`] needs of the parameters.
    pub(super) fn assemble(&self, parameters: &Parameters, pass: Pass) -> Result<Vec<Tensor>> {
        self.0.assemble(parameters, pass)
    }

    /// X in the type of the parameters and P in the precision of the pass, with as many channels as [`channels`] says: the same of the
    /// next.
    pub(super) fn forward(
        &self,
        parameters: &Parameters,
        assembled: &[Tensor],
        (image, others): (&Tensor, &Tensor),
        pass: Pass,
        seen: Option<&mut Seen<'_>>,
    ) -> Result<(Tensor, Tensor)> {
        let stream = join(&pass.precision.cast(image)?, others)?;
        let exact = (pass.precision == Precision::Bf16).then(|| image.shallow_clone());
        let (stream, exact) = self.0.forward(parameters, assembled, (stream, exact), pass, seen)?;
        let (image, others) = parts(&stream, 1)?;
        // A copy: images are kept, and none should keep a whole stream.
        Ok((exact.map_or_else(|| image.f_contiguous(), Ok)?, others))
    }
}

/// Channels of P in a pass: 35, and zeros behind them in bf16 ([`ResidualNet::width`]).
pub(super) fn channels(precision: Precision) -> usize {
    match precision {
        Precision::F32 => AUXILIARY,
        Precision::Bf16 => (AUXILIARY + 1).next_multiple_of(8) - 1,
    }
}
