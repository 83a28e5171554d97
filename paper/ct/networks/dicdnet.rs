//! DICDNet: one dictionary of free kernels for all slices, and maps that are mixed between stages.
//!
//! After Wang et al. (IEEE Transactions on Medical Imaging 2022), with the mixing of Bai et al. (CVPR 2025).

use reynolds::random::Random;

use super::stages::{MAPS, SIDE, Stages};
use super::{MarNetConfig, dictionary, nets};
use reynolds_torch::error::Result;
use reynolds_torch::parameters::Builder;

/// Adds its parameters: those of all [`Stages`], dictionaries that begin as blobs, and a mixing that begins as none.
pub(super) fn build(config: &MarNetConfig, builder: &mut Builder, random: &mut Random) -> Result<Stages> {
    let stages = Stages::new(config, true, None, builder, random)?;
    let atoms = dictionary::atoms(MAPS, SIDE);
    for name in ["dictionary.start", "dictionary"] {
        builder.real(name, &[1, MAPS, SIDE, SIDE], &atoms)?;
    }
    nets::add_mixing(builder, MAPS)?;
    Ok(stages)
}
