//! OSCNet: as DICDNet without mixing, and its kernels are turned copies of a few.
//!
//! After Wang et al. (MICCAI 2022), with the kernels of Xie et al. (IEEE Transactions on Pattern Analysis and Machine Intelligence 2023) in
//! four orientations.

use reynolds::random::Random;

use super::MarNetConfig;
use super::stages::{MAPS, SIDE, Stages};
use crate::ct::networks::RotatedKernels;
use reynolds_torch::error::Result;
use reynolds_torch::parameters::Builder;

/// t, orientations of a kernel.
const TURNS: usize = 4;
/// q, frequencies of the functions along an axis.
const FREQUENCIES: usize = 9;

/// Adds its parameters: those of all [`Stages`], and `dictionary.start` and `dictionary`, `[MAPS / TURNS, functions]`.
pub(super) fn build(config: &MarNetConfig, builder: &mut Builder, random: &mut Random) -> Result<Stages> {
    let turned = RotatedKernels::new(SIDE, FREQUENCIES, TURNS)?;
    for name in ["dictionary.start", "dictionary"] {
        let atoms = MAPS / TURNS;
        builder.real(name, &[atoms, turned.functions()], &turned.initial(atoms, 1, random))?;
    }
    Stages::new(config, false, Some(turned), builder, random)
}
