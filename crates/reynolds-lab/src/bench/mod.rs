//! The project's own measurements: how long a step takes, what it needs, what the penalty adds to it, and what projecting costs by itself.

mod array;
mod convolutions;
mod ct;
mod median;
mod medmnist;
mod memory;
mod metrics;
mod penalty;
mod projection;
mod quartiles;
mod scaling;
mod steps;

pub use array::{Array, Float};
pub use convolutions::{AddedToStep, Convolutions};
pub use ct::{CtBench, CtBenchRow, CtMode};
pub use median::Median;
pub use medmnist::{MedBench, MedBenchRow};
pub use memory::DeviceMemory;
pub use metrics::{MetricsBench, MetricsRow};
pub use penalty::{PenaltyBench, PenaltyBenchRow};
pub use projection::{GridSize, ProjectionBench, ProjectionRow};
pub use quartiles::Quartiles;
pub use scaling::{ExponentRow, Extent, Panel, Plot, Point, PowerLaw, Scaling, ScalingReport, Series};
pub use steps::Paired;
