//! One tensor with its fields and its projector.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::defect::Displacements;
use crate::projection::{Dimensions, KernelSpace, Lowered};

/// What a tensor is to its layer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Deserialize, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Role {
    /// A linear map or a convolution kernel.
    Weight,
    /// A vector in V′: a bias, a running mean. Equivariant ones are fixed by G.
    Bias,
    /// A diagonal of Hom(V′, V′): a norm's scale, a running variance. Equivariant ones are constant inside fields.
    Scale,
}

impl Role {
    /// "weight", "bias" or "scale".
    pub fn name(self) -> &'static str {
        match self {
            Self::Weight => "weight",
            Self::Bias => "bias",
            Self::Scale => "scale",
        }
    }
}

/// An exact action on a tensor, whose defect can be bracketed.
#[derive(Debug, Clone)]
pub struct Exact {
    /// The space with its action.
    pub space: KernelSpace,
    /// P on it.
    pub projector: Arc<Lowered>,
    /// Every element's moves, where a single pass serves them all.
    pub displacements: Option<Arc<Displacements>>,
}

/// A tensor that is held against the group.
#[derive(Debug, Clone)]
pub struct TypedTensor {
    /// Its name.
    pub name: String,
    /// `[out, in, k…]`, `[out, in]` or `[channels]`.
    pub shape: Vec<usize>,
    /// What it is to its layer.
    pub role: Role,
    /// Fields of the input channels; empty for biases and scales.
    pub domain: String,
    /// Fields of the output channels.
    pub codomain: String,
    /// The projector onto the equivariant tensors.
    pub projector: Arc<Lowered>,
    /// The action behind it: that of the whole group, or for band-limited kernels that of the rotations of the grid. `None` for biases
    /// and scales.
    pub exact: Option<Exact>,
    /// What breaks equivariance beside the weights.
    pub warnings: Vec<String>,
}

impl TypedTensor {
    /// Number of weights.
    pub fn len(&self) -> usize {
        self.projector.len()
    }

    /// Never: tensors without weights are not typed.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// dim Hom_G.
    pub fn rank(&self) -> usize {
        self.projector.rank()
    }

    /// Whether every tensor of this shape is equivariant.
    pub fn acts_trivially(&self) -> bool {
        self.rank() == self.len()
    }

    /// Whether it is projected onto a band-limited span that no exact action stands behind.
    pub fn is_band_limited(&self) -> bool {
        matches!(self.projector.as_ref(), Lowered::Basis(_))
    }
}
