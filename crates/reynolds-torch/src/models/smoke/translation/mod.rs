//! Networks for data that are almost symmetric under shifts.

use reynolds::random::Random;

use super::conv::ConvNet;
use super::{Architecture, Forecaster, Frames, SmokeNetConfig, Symmetry};
use crate::error::Result;
use crate::parameters::Builder;

/// The network of this architecture.
pub(super) fn network(
    config: &SmokeNetConfig,
    frames: Frames,
    builder: &mut Builder,
    random: &mut Random,
) -> Result<Box<dyn Forecaster>> {
    Ok(match config.architecture {
        Architecture::Equiv => Box::new(ConvNet::new(config, frames, true, builder, random)?),
        _ => return Err(config.not_there(Symmetry::Translation)),
    })
}
