//! The project's own measurements: how long a step takes, what it needs, and what the penalty adds to it.

mod ct;
mod median;
mod medmnist;
mod memory;
mod steps;

pub use ct::{CtBench, CtBenchRow, CtMode};
pub use median::Median;
pub use medmnist::{MedBench, MedBenchRow};
pub use memory::DeviceMemory;
pub use steps::Paired;
