//! Rising smoke with a symmetry that is slightly broken: by place, by strength or by scale.
//!
//! ```text
//! s(t+1) = advected s(t) + inflow       w(t+1) = w − ∇p,  w = advected w(t) + s(t+1)·b,  div w(t+1) = 0       a frame: w on 64² cells
//! ```
//!
//! Three data sets ([`Symmetry`]): 35 places of the inflow with a strength that differs between the halves (translation), 36 strengths
//! at the four sides (rotation), 38 resolutions (scaling). There are no random numbers.
//!
//! Paper: `tab:hyperparams_smoke`. The text says 40 for the latter two; the public code it builds on makes 36 and 38.

mod frame;
mod plane;
mod pressure;
mod preview;
mod set;
mod setting;
mod simulate;
mod solver;
mod split;
mod sum;

pub use frame::{FRAME, speed};
pub use preview::preview;
pub use set::{SmokeFile, generate};
pub use setting::{Buoyancy, SIDE, Setting, Symmetry};
pub use simulate::simulate;
pub use solver::Solver;
pub use split::{INPUT_FRAMES, Subset, Window};
