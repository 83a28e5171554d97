//! The project's own measurements: time and memory of training steps, overhead of the penalty, cost of a projection.

mod array;
mod clock;
mod convolutions;
mod decoupled;
mod memory;
mod penalty;
mod projection;
mod scaling;

pub use array::{Array, Float};
pub use clock::{Clock, Paired, Times, Turns, Work};
pub use convolutions::{AddedToStep, Convolutions};
pub use decoupled::DecoupledRow;
pub use memory::{DeviceMemory, used_of_mib};
pub use penalty::{PenaltyBench, PenaltyBenchRow};
pub use projection::{GridSize, ProjectionBench, ProjectionRow};
pub use scaling::{ExponentRow, Extent, Panel, Plot, Point, PowerLaw, Scaling, ScalingReport, Series};
