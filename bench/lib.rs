//! The project's own measurements: how long a step takes, what it needs, what the penalty adds to it, and what projecting costs by itself.

mod array;
mod clock;
mod convolutions;
mod memory;
mod penalty;
mod projection;
mod scaling;

pub use array::{Array, Float};
pub use clock::{Clock, Paired, Times, Work};
pub use convolutions::{AddedToStep, Convolutions};
pub use memory::DeviceMemory;
pub use penalty::{DecoupledRow, PenaltyBench, PenaltyBenchRow};
pub use projection::{GridSize, ProjectionBench, ProjectionRow};
pub use scaling::{ExponentRow, Extent, Panel, Plot, Point, PowerLaw, Scaling, ScalingReport, Series};
