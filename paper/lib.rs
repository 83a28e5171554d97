//! The experiments of *Approximate Equivariance via Projection-Based Regularisation*: one room a problem, and what its tables share.
//!
//! ```text
//! room:  data ──► networks ──► task, evaluation ──► experiment (reynolds run)  ──►  table and figures (reynolds reproduce)
//! ```

#[cfg(feature = "torch")]
pub mod epoch;
#[cfg(feature = "torch")]
pub mod experiments;
#[cfg(feature = "torch")]
pub mod network;
#[cfg(feature = "torch")]
pub mod step;
#[cfg(feature = "torch")]
pub mod targets;
#[cfg(all(test, feature = "torch"))]
mod testing;

pub mod ct;
pub mod data;
pub mod medmnist;
pub mod smoke;
pub mod so2;
