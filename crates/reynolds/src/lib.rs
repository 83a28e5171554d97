//! Groups, representations, Reynolds projectors, norms, defects and certificates, in pure Rust.
//!
//! For a compact group G acting on the input and output of a linear layer T, the Reynolds operator
//!
//! ```text
//! P(T) = ∫_G π′(g)* T π(g) dλ(g)
//! ```
//!
//! is the orthogonal projection onto the equivariant maps. Penalising λ_G‖P(W)‖² + λ_⊥‖W − P(W)‖² tunes how equivariant a
//! network becomes, on its weights, over the whole group at once.
//!
//! [`Layer`] is the short way in; [`prelude`] brings it and what it is made of.
//!
//! ```
//! use reynolds::prelude::*;
//! let layer = Layer::conv2d("C4", "3 trivial", "9 regular", 5)?;
//! let weights = vec![1.0_f32; layer.len()];
//! assert!(layer.energies(&weights)?.ratio() > 0.999); // a constant kernel is equivariant
//! # Ok::<(), reynolds::Error>(())
//! ```

pub mod audit;
pub mod certificate;
pub mod character;
pub mod defect;
pub mod error;
pub mod fourier;
pub mod group;
pub mod haar;
pub mod irrep;
pub mod irreps;
mod layer;
pub mod norm;
pub mod penalty;
pub mod plan;
pub mod prelude;
pub mod projection;
pub mod proximal;
pub mod random;
pub mod rep;
pub mod scalar;
pub mod steerable;
pub mod symmetrise;
mod values;

pub use error::{Error, Result};
pub use layer::Layer;
pub use values::Values;

/// The example of the README runs as a doctest.
#[cfg(doctest)]
#[doc = include_str!("../../../README.md")]
struct Readme;
