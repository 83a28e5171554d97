//! The squared penalty, its gradient and the decoupled steps on an NVIDIA GPU: a thread an orbit, or a block a tile.
//!
//! ```text
//! gradient         sum ← sum + a P(w) + b (w − P(w))             w, an index, sum twice:     16 bytes a weight in single precision
//! squared step     w ← a P(w) + b (w − P(w))                     w twice, an index:          12
//! plain, target    energies of each layer, a and b, the step     one more pass before it:    20
//! ```
//!
//! The layers lie in one vector, or up to [`APART`] of them apart, as tensors of other programs do.
//!
//! P averages orbits, or is E Eᵀ on tiles, with one sparse E for all tiles of a kind, which stays in the cache.
//!
//! No tensor library: a caller gives addresses of device memory, sizes and the stream ([`Place`]), and keeps the memory. Launches do not
//! synchronise and can be captured in a CUDA graph; what changes from step to step (a, b, the step size) is read from device memory, so that
//! a captured launch is replayed with other strengths. NVRTC compiles the kernels when they are first needed.
//!
//! ```
//! use reynolds_cuda::{Layout, Run, Unit};
//! // Two layers of orbits of four weights: three orbits in the first 12 weights, two in the next 8.
//! let firsts = [0, 1, 2, 12, 13];
//! let layout = Layout::new(vec![Run { unit: Unit::Orbit(4), count: 5, start: 0 }], &[firsts.to_vec()], &[12, 20]);
//! assert_eq!(layout.slot_ends(), [1, 2]); // one block sums the energies of each layer
//! ```

#[cfg(feature = "emulation")]
mod emulated;
mod layout;
mod orbits;
mod program;

pub use layout::{Layout, Run, Unit};
pub use orbits::{Memory, Orbits, Rule};
pub use program::{APART, Number, Place, launches, write};

/// The result of this crate.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// What the driver refused.
#[derive(Debug, thiserror::Error)]
#[error("CUDA device {device}: {what}: {found}")]
pub struct Error {
    /// Its number.
    pub device: usize,
    /// What was asked of it.
    pub what: &'static str,
    /// What the driver says.
    pub found: String,
}
