//! The defect split by the irreps of G on Hom(V, V′).
//!
//! ```text
//! p_σ = (d_σ / dim End_G σ) ∫ χ_σ(g) A(g) dλ(g),      ‖p_σ W‖² = (d_σ / dim End_G σ) ∫ χ_σ(g) ⟨A(g)W, W⟩ dλ(g)
//! ```
//!
//! over the real irreps σ, and ⟨A(g)D, D⟩ = ‖D‖² − ½‖Δ_g‖², so the displacements ‖Δ_g‖² are all it takes.

use crate::error::{Error, Result};
use crate::group::GroupRef;
use crate::haar::Quadrature;
use crate::rep::Representation;

/// Most elements over which the shares are integrated.
const NODE_LIMIT: usize = 1024;

/// The part of a defect in one isotypic component.
#[derive(Debug, Clone, PartialEq)]
pub struct Share {
    /// Label of the irrep σ.
    pub irrep: String,
    /// ‖p_σ(W)‖².
    pub square: f64,
}

/// Where ‖Δ_g‖² has to be known for the shares of actions up to `degree`.
///
/// # Errors
/// [`Error::TooLarge`] if that takes too many elements.
pub(super) fn nodes(group: &GroupRef, degree: usize) -> Result<Quadrature> {
    let too_large = |got: String| Error::TooLarge {
        group: group.name(),
        operation: "isotypic shares",
        limit: NODE_LIMIT as u128,
        got,
    };
    if let Some(order) = group.order().filter(|&n| n > NODE_LIMIT as u128) {
        return Err(too_large(order.to_string()));
    }
    let rule = group.quadrature(2 * degree)?;
    if rule.len() > NODE_LIMIT { Err(too_large(format!("{} nodes", rule.len()))) } else { Ok(rule) }
}

/// The shares from ‖D‖² and ‖Δ_g‖² at every node, the largest first; the trivial component of D is zero.
///
/// # Errors
/// As [`crate::group::Group::irreps`].
pub(super) fn shares(
    group: &GroupRef,
    degree: usize,
    rule: &Quadrature,
    energy: f64,
    squares: &[f64],
) -> Result<Vec<Share>> {
    let mut shares = Vec::new();
    for irrep in group.clone().irreps(degree)?.iter().skip(1) {
        let factor = irrep.dim() as f64 / irrep.endomorphism_type().dim() as f64;
        let inner: f64 = rule
            .iter()
            .zip(squares)
            .map(|((g, weight), square)| weight * irrep.character(g) * (energy - 0.5 * square))
            .sum();
        shares.push(Share { irrep: irrep.label(), square: (factor * inner).max(0.0) });
    }
    shares.sort_by(|a, b| b.square.total_cmp(&a.square));
    // Components that G does not have on this space, up to the rounding of the sums.
    shares.retain(|share| share.square > 1e-9 * energy);
    Ok(shares)
}
