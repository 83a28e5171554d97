//! Tests of whole networks.

mod dense;
mod gated;
mod ours;
mod pscnn;
mod rpp;
mod scnn;
