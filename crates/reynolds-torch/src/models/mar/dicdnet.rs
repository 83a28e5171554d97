//! DICDNet: one dictionary of free kernels for all slices, and maps that are mixed between stages.
//!
//! After Wang et al. (IEEE Transactions on Medical Imaging 2022), with the mixing of Bai et al. (CVPR 2025).

use reynolds::random::Random;

use super::stages::{MAPS, SIDE, Stages};
use super::{MarNetConfig, dictionary};
use crate::error::Result;
use crate::parameters::Builder;

/// Adds its parameters: those of all [`Stages`], dictionaries that begin as blobs, and a mixing that begins as none.
///
/// # Errors
/// As [`Builder::real`].
pub(super) fn build(config: &MarNetConfig, builder: &mut Builder, random: &mut Random) -> Result<Stages> {
    let stages = Stages::new(config, true, None, builder, random)?;
    let atoms = dictionary::atoms(MAPS, SIDE);
    let identity: Vec<f64> = (0..MAPS * MAPS).map(|at| if at % (MAPS + 1) == 0 { 1.0 } else { 0.0 }).collect();
    for name in ["dictionary.start", "dictionary"] {
        builder.real(name, &[1, MAPS, SIDE, SIDE], &atoms)?;
    }
    for name in ["mix.0", "mix.1"] {
        builder.real(name, &[MAPS, MAPS, 1, 1], &identity)?;
    }
    Ok(stages)
}
