//! Audits the tensors of a plan: how much of each layer is equivariant, and how much of that is expected by chance.
//!
//! ```text
//! energy = ‖P(W)‖²/‖W‖²,      chance = E ‖P(±W)‖²/‖W‖²,      excess = (energy − chance)/(1 − chance)
//! ‖W − P(W)‖² = Σ_σ ‖p_σ(W)‖²        over the irreps σ ≠ 1 of G on Hom(V, V′)
//! ```
//!
//! Excess is 0 for random weights and 1 for equivariant ones, so groups of any size can be compared. Chance is the
//! mean energy of the same magnitudes with random signs where G permutes the weights, else dim Hom_G/dim Hom. The worst defect is bracketed as in [`crate::defect`], in the Frobenius
//! norm of the kernel, which says nothing about outputs.
//!
//! ```
//! use reynolds::{audit, group};
//! use reynolds::plan::{SymmetryPlan, UniformFields};
//! let plan = SymmetryPlan::uniform(&group::parse("C4")?, UniformFields::Trivial)?;
//! let resolved = plan.resolve(&[("conv.weight".into(), vec![1, 1, 3, 3])])?;
//! let ramp = [-1.0_f32, 0.0, 1.0, -1.0, 0.0, 1.0, -1.0, 0.0, 1.0];
//! let audit = audit::layer(&resolved.layers[0], &ramp[..])?;
//! assert_eq!(audit.energy(), 0.0);
//! assert_eq!(audit.isotypic[0].irrep, "irrep(1)"); // it turns like a vector
//! assert!((audit.isotypic[0].square - 6.0).abs() < 1e-6);
//! let worst = audit.worst.expect("C4 can be listed");
//! let change = 24.0_f64.sqrt(); // half a turn changes every sign
//! assert!(worst.bracket.lower <= change && change <= worst.bracket.upper); // rounded outwards: f32 sums are not exact
//! assert!(worst.bracket.upper - worst.bracket.lower < 1e-4);
//! # Ok::<(), reynolds::Error>(())
//! ```

mod isotypic;
mod layer;
pub mod ranking;

pub use isotypic::IrrepShare;
pub use layer::{LayerAudit, WorstDefect, layer};

use crate::projection::Energies;

/// Several layers together, as one vector of weights.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Total {
    /// Number of layers counted.
    pub layers: usize,
    /// Number of weights counted.
    pub weights: usize,
    /// ‖P(W)‖² and ‖W − P(W)‖².
    pub energies: Energies,
    /// dim Hom_G/dim Hom.
    pub dimension_share: f64,
    /// Mean energy over random signs of the weights; `dimension_share` for layers where it is not known.
    pub chance: f64,
}

impl Total {
    /// The sum over the weights ([`LayerAudit::counts`]); biases and norm parameters are left out.
    pub fn of<'a>(layers: impl IntoIterator<Item = &'a LayerAudit>) -> Self {
        let (mut total, mut rank, mut signs) = (Self::default(), 0.0, 0.0);
        for layer in layers.into_iter().filter(|layer| layer.counts()) {
            total.layers += 1;
            total.weights += layer.tensor.len();
            total.energies = total.energies + layer.energies;
            rank += layer.dimension_share() * layer.tensor.len() as f64;
            signs += layer.chance.unwrap_or(layer.dimension_share()) * layer.energies.total();
        }
        if total.weights > 0 {
            total.dimension_share = rank / total.weights as f64;
        }
        total.chance =
            if total.energies.total() > 0.0 { signs / total.energies.total() } else { total.dimension_share };
        total
    }

    /// ‖P(W)‖²/‖W‖²; `None` where no layer was counted.
    pub fn energy(&self) -> Option<f64> {
        (self.layers > 0).then(|| self.energies.ratio())
    }

    /// (energy − chance)/(1 − chance), with the chance of random signs; `None` where no layer was counted.
    pub fn excess(&self) -> Option<f64> {
        self.energy().map(|energy| excess(energy, self.chance))
    }
}

/// 0 for the energy expected by chance, 1 for an equivariant tensor.
fn excess(energy: f64, chance: f64) -> f64 {
    if chance >= 1.0 { 0.0 } else { (energy - chance) / (1.0 - chance) }
}
