//! X-nets: the image and the channels that travel with it.
//!
//! ```text
//! [X; P] ← Xnet([X; P])      X [N, 1, H, W],  P [N, 35, H, W]
//! ```

use reynolds::random::Random;
use tch::{Device, Tensor};

use super::residual_net::ResidualNet;
use super::{Mode, Pass, Precision, Seen};
use crate::error::Result;
use crate::parameters::{Builder, Parameters};

/// N_p, the channels that travel with the image.
pub(super) const AUXILIARY: usize = 35;

/// An X-net.
#[derive(Debug)]
pub(super) struct XNet(ResidualNet);

impl XNet {
    /// Adds `x.number.…`.
    ///
    /// # Errors
    /// As [`Builder::real`].
    pub(super) fn new(builder: &mut Builder, number: usize, blocks: usize, random: &mut Random) -> Result<Self> {
        Ok(Self(ResidualNet::new(builder, &format!("x.{number}"), AUXILIARY + 1, blocks, random)?))
    }

    /// Names of the kernels in the order of use.
    pub(super) fn kernels(&self) -> Vec<String> {
        self.0.kernels()
    }

    /// How many tensors [`XNet::assemble`] makes.
    pub(super) fn assembled(&self, mode: Mode) -> usize {
        self.0.assembled(mode)
    }

    /// What [`XNet::forward`] needs of the parameters.
    ///
    /// # Errors
    /// [`Error::Torch`](crate::Error::Torch) if the device has no room.
    pub(super) fn assemble(&self, parameters: &Parameters, pass: Pass) -> Result<Vec<Tensor>> {
        self.0.assemble(parameters, pass)
    }

    /// X in the type of the parameters and P in the precision of the pass, with as many channels as [`channels`] says: the same of the
    /// next.
    ///
    /// # Errors
    /// As [`Reducer::forward`](super::Reducer::forward).
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
        // Unlike two selections, the gradient of this is one copy.
        let mut parts = stream.f_split_with_sizes([1, others.size()[1]], 1)?;
        let (others, image) = (parts.pop().expect("two parts"), parts.pop().expect("two parts"));
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

/// [X; P], with channels innermost in memory on CUDA.
fn join(image: &Tensor, others: &Tensor) -> Result<Tensor> {
    if !matches!(image.device(), Device::Cuda(_)) {
        return Ok(Tensor::f_cat(&[image, others], 1)?);
    }
    // libtorch would not know the layout of an image of one channel, and take the other.
    let last = |tensor: &Tensor| tensor.f_permute([0, 2, 3, 1]);
    Ok(Tensor::f_cat(&[last(image)?, last(others)?], 3)?.f_permute([0, 3, 1, 2])?)
}
