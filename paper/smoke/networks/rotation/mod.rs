//! Networks for data that are almost symmetric under quarter turns.

mod basis;
mod fields;
mod rgroup;
mod rsteer;
mod steerable_conv;
use super::*;
#[cfg(test)]
pub(super) use fields::{Field, Fields, kernel_space};
pub(super) use rgroup::Rgroup;
pub(super) use rsteer::Rsteer;
pub(super) use steerable_conv::{SteerableConv, count, equiv, pairs};
