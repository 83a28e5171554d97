//! The project's own measurements: how long a step takes, what it needs, and what the penalty adds to it.

mod ct;
mod median;
mod memory;

pub use ct::{CtBench, CtBenchRow, CtMode, Paired};
pub use median::Median;
pub use memory::DeviceMemory;
