//! The defect split by the irreps of G on Hom(V, V′).
//!
//! ```text
//! p_σ = (d_σ / dim End_G σ) ∫ χ_σ(g) A(g) dλ(g),      ‖p_σ W‖² = (d_σ / dim End_G σ) ∫ χ_σ(g) ⟨A(g)W, W⟩ dλ(g)
//! ```
//!
//! over the real irreps σ. As ⟨A(g)D, D⟩ = ‖D‖² − ½‖Δ_g‖², the squares ‖Δ_g‖² suffice.

use crate::error::{Error, Result};
use crate::group::{Element, GroupRef};
use crate::haar::Quadrature;
use crate::rep::Representation;

/// Most elements over which the shares are integrated.
const NODE_LIMIT: usize = 1024;

/// The part of a defect in one isotypic component.
#[derive(Debug, Clone, PartialEq)]
pub struct IrrepShare {
    /// Label of the irrep σ.
    pub irrep: String,
    /// ‖p_σ(W)‖².
    pub square: f64,
}

/// The shares from ‖D‖² and from ‖Δ_g‖² at the nodes of a quadrature, the largest first; the trivial component of D is zero.
pub(super) fn shares(
    group: &GroupRef,
    degree: usize,
    energy: f64,
    squares: impl FnOnce(&[Element]) -> Result<Vec<f64>>,
) -> Result<Vec<IrrepShare>> {
    let rule = nodes(group, degree)?;
    let squares = squares(&rule.nodes)?;
    let mut shares = Vec::new();
    for irrep in group.clone().irreps(degree)?.iter().skip(1) {
        let factor = irrep.dim() as f64 / irrep.endomorphism_type().dim() as f64;
        let inner: f64 = rule
            .iter()
            .zip(&squares)
            .map(|((g, weight), square)| weight * irrep.character(g) * (energy - 0.5 * square))
            .sum();
        shares.push(IrrepShare { irrep: irrep.label(), square: (factor * inner).max(0.0) });
    }
    shares.sort_by(|a, b| b.square.total_cmp(&a.square));
    // Components that G does not have on this space, up to the rounding of the sums.
    shares.retain(|share| share.square > 1e-9 * energy);
    Ok(shares)
}

fn nodes(group: &GroupRef, degree: usize) -> Result<Quadrature> {
    let (operation, limit) = ("isotypic shares", NODE_LIMIT as u128);
    let too_large = |got: String| Error::TooLarge { group: group.name(), operation, limit, got };
    if let Some(order) = group.order().filter(|&n| n > limit) {
        return Err(too_large(order.to_string()));
    }
    let rule = group.quadrature(2 * degree)?;
    if rule.nodes.len() > NODE_LIMIT { Err(too_large(format!("{} nodes", rule.nodes.len()))) } else { Ok(rule) }
}
