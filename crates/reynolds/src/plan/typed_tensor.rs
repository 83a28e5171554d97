//! One tensor with its fields and its projector.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::defect::Displacements;
use crate::projection::{Dimensions, KernelSpace, Lowered};

/// The role of a tensor in its layer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Deserialize, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Role {
    /// A linear map or a convolution kernel.
    Weight,
    /// A vector in V′: a bias or a running mean. Equivariant vectors are fixed by G.
    Bias,
    /// A diagonal of Hom(V′, V′): the scale of a norm or a running variance. Equivariant diagonals are constant inside fields.
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

/// Whether a convolution takes its samples symmetrically about the centre of its input, so that the network commutes there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Sampling {
    /// It does.
    Commutes,
    /// It does not: the warnings of the tensor say why.
    Breaks,
    /// Stride, padding or input size is not known.
    Unknown,
}

impl Sampling {
    /// "commutes", "breaks" or "unknown".
    pub fn name(self) -> &'static str {
        match self {
            Self::Commutes => "commutes",
            Self::Breaks => "breaks",
            Self::Unknown => "unknown",
        }
    }
}

/// An exact action on a tensor.
#[derive(Debug, Clone)]
pub struct ExactAction {
    /// The space with its action.
    pub space: KernelSpace,
    /// P on it.
    pub projector: Arc<Lowered>,
    /// How each element moves the weights, where G permutes them.
    pub displacements: Option<Arc<Displacements>>,
}

/// A tensor with fields and the projector onto its equivariant values.
#[derive(Debug, Clone)]
pub struct TypedTensor {
    /// Name of the tensor.
    pub name: String,
    /// `[out, in, k…]`, `[out, in]` or `[channels]`.
    pub shape: Vec<usize>,
    /// Weight, bias or scale.
    pub role: Role,
    /// Fields of the input channels; empty for biases and scales.
    pub domain: String,
    /// Fields of the output channels.
    pub codomain: String,
    /// The projector onto the equivariant tensors.
    pub projector: Arc<Lowered>,
    /// The action of the group or, for band-limited kernels, of the rotations of the grid. `None` for biases and scales.
    pub exact: Option<ExactAction>,
    /// What breaks equivariance besides the weights.
    pub warnings: Vec<String>,
    /// For convolutions.
    pub sampling: Option<Sampling>,
}

impl TypedTensor {
    /// Number of weights.
    pub fn len(&self) -> usize {
        self.projector.len()
    }

    /// Always false: a tensor without weights has no fields.
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

    /// Whether it is projected onto band-limited kernels, for which there is no exact action.
    pub fn is_band_limited(&self) -> bool {
        matches!(self.projector.as_ref(), Lowered::Basis(_))
    }
}
