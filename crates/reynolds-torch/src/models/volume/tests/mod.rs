//! Tests of whole networks.

mod dense;
mod ours;
mod pscnn;
mod scnn;
