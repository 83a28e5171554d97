//! Networks for data that are almost symmetric under shifts.
//!
//! The equivariant one is the plain convolutional network. Shifts are those of a torus where a projection needs a group; the networks pad
//! with zeros, so that they commute with shifts away from the border.

mod clcnn;
mod lift;
mod rgroup;
mod rgroup_penalty;
mod rpp;
#[cfg(test)]
mod tests;
mod variation;

use reynolds::random::Random;

use super::conv::ConvNet;
use super::{Architecture, Forecaster, Frames, SmokeNetConfig, Symmetry};
use reynolds_torch::error::Result;
use reynolds_torch::parameters::Builder;

/// The network of this architecture.
pub(super) fn network(
    config: &SmokeNetConfig,
    frames: Frames,
    builder: &mut Builder,
    random: &mut Random,
) -> Result<Box<dyn Forecaster>> {
    Ok(match config.architecture {
        Architecture::Equiv => Box::new(ConvNet::new(config, frames, true, builder, random)?),
        Architecture::Rpp => Box::new(rpp::Rpp::new(config, frames, builder, random)?),
        Architecture::Clcnn => Box::new(clcnn::Clcnn::new(config, frames, builder, random)?),
        Architecture::Lift => Box::new(lift::Lift::new(config, frames, builder, random)?),
        Architecture::Rgroup => Box::new(rgroup::Rgroup::new(config, frames, builder, random)?),
        Architecture::Conv | Architecture::Rsteer => return Err(config.not_there(Symmetry::Translation)),
    })
}
