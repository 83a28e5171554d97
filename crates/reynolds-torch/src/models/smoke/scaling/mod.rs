//! Networks for data that are almost symmetric under changes of size.

use reynolds::random::Random;

use super::{Forecaster, Frames, SmokeNetConfig, Symmetry};
use crate::error::Result;
use crate::parameters::Builder;

/// The network of this architecture.
pub(super) fn network(
    config: &SmokeNetConfig,
    frames: Frames,
    builder: &mut Builder,
    random: &mut Random,
) -> Result<Box<dyn Forecaster>> {
    let _ = (frames, builder, random);
    Err(config.not_there(Symmetry::Scaling))
}
