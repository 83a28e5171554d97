//! What most programs need, in one `use`.
//!
//! ```
//! use reynolds::prelude::*;
//! let c4 = group::parse("C4")?;
//! let fields = rep::parse_fields(&c4, "2 regular")?;
//! let layer = Layer::new(KernelSpace::dense(&fields, &fields)?)?;
//! assert_eq!(layer.projector().rank(), 16);
//! # Ok::<(), reynolds::Error>(())
//! ```

pub use crate::defect::Bracket;
pub use crate::group::{Element, Group, GroupRef};
pub use crate::norm::Norm;
pub use crate::penalty::PenaltyConfig;
pub use crate::plan::SymmetryPlan;
pub use crate::projection::{Dimensions, Energies, KernelSpace, Lowered, Projector, derive};
pub use crate::random::Random;
pub use crate::rep::{Grid, Rep, Representation};
pub use crate::{Layer, Values, group, rep};
