//! Networks for data that are almost symmetric under changes of size.
//!
//! ```text
//! Conv            the plain network, without normalisation
//! Equiv, RSteer   kernels of Hermite–Gauss functions, the same inside every scale or mixed position by position
//! RPP             steerable and dense, added;   Lift   a steerable backbone told a global vector
//! RGroup          filters mixed anew at each of three sizes;   CLCNN   locally connected, asked to look the same at every size
//! ```
//!
//! Changes of size are no compact group: there is no Haar measure, and no Reynolds average to derive P from. P is *defined* here as the
//! replacement of mixing weights by their mean over sizes or positions, orthogonal in the weights, whose image are the layers of one
//! filter at all sizes or of shared weights. The kernels A(ψ, P(w)) and A(ψ, w − P(w)) are not orthogonal.

mod resample;
mod rgroup;
mod rsteer;
mod scale_conv;

pub(super) use resample::{Resampling, TAPS, shifts};
pub(super) use rgroup::Rgroup;
pub(super) use rsteer::Rsteer;
pub(super) use scale_conv::{KERNEL, Mixing, Read, SCALES, ScaleConv, bases, count, equiv};
#[cfg(test)]
pub(super) use scale_conv::{LAST_SCALES, ScaleBasis};
