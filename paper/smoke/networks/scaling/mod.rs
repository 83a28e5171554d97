//! Networks for data that are almost symmetric under changes of size.
//!
//! ```text
//! Equiv, RSteer   kernels of Hermite–Gauss functions, the same inside every scale or mixed position by position
//! RGroup          filters mixed anew at each of three sizes
//! ```
//!
//! Changes of size are no compact group: without a Haar measure there is no Reynolds average. P is *defined* here as the mean of mixing
//! weights over sizes or positions, an orthogonal projection of the weights onto one filter at all sizes, or shared weights. The kernels
//! A(ψ, P(w)) and A(ψ, w − P(w)) are not orthogonal.

mod resample;
mod rgroup;
mod rsteer;
mod scale_conv;
use super::*;
pub(super) use resample::{Resampling, TAPS, shifts};
pub(super) use rgroup::Rgroup;
pub(super) use rsteer::Rsteer;
#[cfg(test)]
pub(super) use scale_conv::LAST_SCALES;
pub(super) use scale_conv::{KERNEL, Mixing, Read, SCALES, ScaleConv, bases, count, equiv};
