//! What an experiment of one's own names: `use reynolds_train::prelude::*`.

pub use reynolds::plan::SymmetryPlan;
pub use reynolds::random::Random;
pub use reynolds_torch::Parameters;
pub use reynolds_torch::parameters::Builder;
pub use reynolds_torch::tch::{Device, Kind, Reduction, Tensor};

pub use crate::config::{RunConfig, Settings};
pub use crate::error::{Error, Result};
pub use crate::experiment::Experiment;
pub use crate::passes::Passes;
pub use crate::supervised::{Supervised, supervised};
pub use crate::task::{Captured, Metrics, Moment, Split, Task};
