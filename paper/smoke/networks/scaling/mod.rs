//! Networks for data that are almost symmetric under changes of size.
//!
//! ```text
//! Conv            the plain network, without normalisation
//! Equiv, RSteer   kernels of Hermite–Gauss functions, the same inside every scale or mixed position by position
//! RPP             steerable and dense, added;   Lift   a steerable backbone told a global vector
//! RGroup          filters mixed anew at each of three sizes;   CLCNN   locally connected, asked to look the same at every size
//! ```

mod clcnn;
mod group_conv;
mod group_net;
mod group_penalty;
mod lift;
mod resample;
mod rpp;
mod steerable;
mod steerable_net;
mod steerable_penalty;
#[cfg(test)]
mod tests;

use reynolds::random::Random;

use self::clcnn::Clcnn;
use self::group_net::GroupNet;
use self::lift::LiftNet;
use self::rpp::RppNet;
use self::steerable::Mixing;
use self::steerable_net::SteerableNet;
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
        Architecture::Conv => Box::new(ConvNet::new(config, frames, false, builder, random)?),
        Architecture::Equiv => Box::new(SteerableNet::new(config, frames, Mixing::Shared, builder, random)?),
        Architecture::Rsteer => Box::new(SteerableNet::new(config, frames, Mixing::Relaxed, builder, random)?),
        Architecture::Rpp => Box::new(RppNet::new(config, frames, builder, random)?),
        Architecture::Lift => Box::new(LiftNet::new(config, frames, builder, random)?),
        Architecture::Clcnn => Box::new(Clcnn::new(config, frames, builder, random)?),
        Architecture::Rgroup => Box::new(GroupNet::new(config, frames, builder, random)?),
    })
}
