//! Networks for data that are almost symmetric under quarter turns.
//!
//! A turn by +90° takes (x, y) to (−y, x), frames grow y with the row, and a regular field numbers its channels by turns.

mod basis;
mod clcnn;
mod equiv;
mod fields;
mod group_penalty;
mod lift;
mod relaxed_group;
mod relaxed_steerable;
mod rgroup;
mod rpp;
mod rsteer;
mod steerable_conv;
mod steerable_penalty;
#[cfg(test)]
mod tests;

use reynolds::random::Random;

use super::conv::ConvNet;
use super::{Architecture, Forecaster, Frames, SmokeNetConfig};
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
        Architecture::Conv => Box::new(ConvNet::new(config, frames, true, builder, random)?),
        Architecture::Equiv => Box::new(equiv::Equiv::new(config, frames, builder, random)?),
        Architecture::Rpp => Box::new(rpp::Rpp::new(config, frames, builder, random)?),
        Architecture::Clcnn => Box::new(clcnn::Clcnn::new(config, frames, builder, random)?),
        Architecture::Lift => Box::new(lift::Lift::new(config, frames, builder, random)?),
        Architecture::Rgroup => Box::new(rgroup::Rgroup::new(config, frames, builder, random)?),
        Architecture::Rsteer => Box::new(rsteer::Rsteer::new(config, frames, builder, random)?),
    })
}
