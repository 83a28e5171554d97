//! Networks that take the artefacts of metal out of a slice of computed tomography.
//!
//! ```text
//! Y corrupted, L interpolated, I = 1 − metal      Y = X + A outside the metal      A = Σ_n C_n ⋆ M_n
//! X ← X − (η/10) I⊙(X + A − Y),  [X; P] ← Xnet([X; P]),   M ← Mnet(M − (η/10) Cᵀ⋆ I⊙(X + A − Y)),   T stages
//! ```
//!
//! X is the image, P are 35 channels that travel with it: 36 = 9 · 4, so that the layers of an X-net can be regularised towards C4. All
//! images are `[N, 1, H, W]` and from 0 to 255.
//!
//! | parameter | shape | what |
//! |---|---|---|
//! | `auxiliary` | `[35, 1, 3, 3]` | C_p, what P begins from |
//! | `x.N.B.conv1.weight`, `.conv1.bias`, `.norm1.…`, `.conv2.…`, `.norm2.…` | `[36, 36, 5, 5]`, `[36]` | block B of X-net N, from 0 in the order of use |
//! | `m.N.B.…`, `m.N.threshold` | as X-nets with C maps; `[C]` | M-nets |
//! | `threshold` | `[1]` | τ of the first stage |
//! | `step.x`, `step.m`, `step.k` | `[stages …]` | η, as the architecture has them |
//! | `mix.0`, `mix.1` | `[C, C, 1, 1]` | the 1 × 1 convolutions Q₁, Q₂ (ACDNet, DICDNet) |
//! | `dictionary.start`, `dictionary` | `[1, C, 9, 9]`; OSCNet: weights `[9, functions]` | F₀, F; ACDNet: D₀ `[1, 8, 9, 9]`, D `[32, 1, 9, 9]` |
//! | `k.N.0.weight`, `k.N.0.bias`, `k.N.1.…`, `k.N.threshold` | `[256, 256]`, `[256]` | K-nets of ACDNet |
//!
//! Paper: section "CT-Scan Metal Artifact Reduction", `tab:hyperparams_ct_mar`; architectures of Wang et al. as Bai et al. (CVPR 2025) adapt them.

mod bands;
mod channels;
mod dictionary;
mod k_net;
mod loss;
mod nets;
mod residual_net;
mod rotated_kernels;
mod stages;
#[cfg(test)]
mod tests;

use crate::network::{Network, within};
pub use loss::loss;
use reynolds::group;
use reynolds::plan::{Rule, SymmetryPlan};
use reynolds::random::Random;
use reynolds_torch::error::Result;
pub use reynolds_torch::layers::{Mode, Pass};
use reynolds_torch::parameters::{Builder, Parameters};
use reynolds_torch::precision::Precision;
pub use rotated_kernels::RotatedKernels;
use serde::{Deserialize, Serialize};
use tch::Tensor;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Architecture {
    /// Kernels for each slice, mixed from a dictionary.
    Acdnet,
    /// One dictionary of free kernels.
    #[default]
    Dicdnet,
    /// As DICDNet, with kernels that are turned copies of each other.
    Oscnet,
}

impl Architecture {
    /// In the order of the paper.
    pub const ALL: [Self; 3] = [Self::Acdnet, Self::Dicdnet, Self::Oscnet];
}

/// Which kernels are regularised towards C4.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Regularised {
    /// Those of the X-nets.
    #[default]
    X,
    /// Those of the X-nets and the M-nets.
    Xm,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct MarNetConfig {
    /// `acdnet`, `dicdnet` or `oscnet`.
    pub architecture: Architecture,
    /// T, number of stages.
    pub stages: usize,
    /// Residual blocks of an X-net or M-net.
    pub blocks: usize,
    /// Which kernels are regularised towards C4: `x`, those of the X-nets, or `xm`, those of the X-nets and M-nets.
    pub regularised: Regularised,
}

impl Default for MarNetConfig {
    fn default() -> Self {
        Self { architecture: Architecture::Dicdnet, stages: 10, blocks: 3, regularised: Regularised::X }
    }
}

/// The input of a network, `[N, 1, H, W]` each.
#[derive(Debug)]
pub struct Corrupted {
    /// Y, the slice with metal.
    pub image: Tensor,
    /// L, with the trace of the metal bridged.
    pub interpolated: Tensor,
    /// I, 1 outside the metal and 0 in it.
    pub keep: Tensor,
}

impl Corrupted {
    /// The same of all three images.
    pub fn map<E>(&self, image: impl Fn(&Tensor) -> std::result::Result<Tensor, E>) -> std::result::Result<Self, E> {
        Ok(Self { image: image(&self.image)?, interpolated: image(&self.interpolated)?, keep: image(&self.keep)? })
    }
}

/// The output of a network, `[N, 1, H, W]` each, in the type of the parameters.
#[derive(Debug)]
pub struct Reduction {
    /// X₀.
    pub start: Tensor,
    /// X of every stage, then the final one.
    pub images: Vec<Tensor>,
    /// A of every stage.
    pub artefacts: Vec<Tensor>,
    /// ACDNet: the first two stages, before the kernels adapt; else 0.
    pub early: usize,
}

impl Reduction {
    /// The final image.
    pub fn image(&self) -> &Tensor {
        self.images.last().expect("a network makes at least the final image")
    }
}

/// Types these kernels `[out, in, s, s]`, without their biases, by regular fields of C4: channel 4p + α has the orientation α of field p.
/// `None` if there are none.
pub fn regular_plan(parameters: &Parameters, regularised: &[String]) -> Result<Option<SymmetryPlan>> {
    let regular = |channels: usize| format!("{} regular", channels / 4);
    let kernels = parameters.shapes().into_iter().filter(|(name, _)| regularised.contains(name));
    let rules = kernels.map(|(name, shape)| {
        let (domain, codomain) = (Some(regular(shape[1])), regular(shape[0]));
        Rule { name, domain, codomain, bias: Some(false), ..Rule::default() }
    });
    let rules: Vec<Rule> = rules.collect();
    if rules.is_empty() {
        return Ok(None);
    }
    Ok(Some(SymmetryPlan::of_rules(&group::parse("C4")?, rules)?))
}

impl MarNetConfig {
    /// Adds the parameters of a network to `builder`.
    pub fn build(&self, builder: &mut Builder, random: &mut Random) -> Result<Box<dyn Network<Corrupted, Reduction>>> {
        within("stages", self.stages, 2..=64)?;
        within("blocks", self.blocks, 1..=16)?;
        Ok(Box::new(stages::Stages::new(self, builder, random)?))
    }
}
