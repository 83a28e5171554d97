//! The project's own measurements: how long a step takes, what it needs, what the penalty adds to it, and what projecting costs by itself.

mod array;
mod convolutions;
pub mod median;
mod memory;
mod penalty;
mod projection;
pub mod quartiles;
mod scaling;
pub mod steps;

pub use array::{Array, Float};
pub use convolutions::{AddedToStep, Convolutions};
pub use median::Median;
pub use memory::DeviceMemory;
pub use penalty::{PenaltyBench, PenaltyBenchRow};
pub use projection::{GridSize, ProjectionBench, ProjectionRow};
pub use quartiles::Quartiles;
pub use scaling::{ExponentRow, Extent, Panel, Plot, Point, PowerLaw, Scaling, ScalingReport, Series};
pub use steps::Paired;
