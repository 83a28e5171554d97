//! Operator norms of linear layers and of their defects.

use crate::defect;
use crate::error::Result;
use crate::group::elements;
use crate::norm::Norm;
use crate::projection::{KernelSpace, derive};
use crate::rep::Rep;

/// Work (multiplications, roughly) up to which the defect is bounded element by element instead of through 2‖W − P(W)‖.
const ENUMERATION_WORK: f64 = 1e9;

/// Σ_x ‖K(x)‖_op for a kernel of the shape of `space`, which bounds the operator norm of the convolution on ℓ²; for a dense map
/// it is the operator norm itself.
pub(super) fn operator_norm(space: &KernelSpace, kernel: &[f64]) -> Result<f64> {
    let (rows, points) = (space.codomain().dim(), space.points());
    let mut total = 0.0;
    for x in 0..points {
        let slice: Vec<f64> = kernel.iter().skip(x).step_by(points).copied().collect();
        total += Norm::Spectral.value(&slice, rows)?;
    }
    Ok(total)
}

/// a·b ≥ 0 rounded up where it underflows, so that a bound never becomes 0 on the way.
pub(super) fn product(a: f64, b: f64) -> f64 {
    let exact = a * b;
    if a > 0.0 && b > 0.0 && exact < f64::MIN_POSITIVE { f64::MIN_POSITIVE } else { exact }
}

/// An upper bound of sup_g ‖Δ_g(K)‖_op.
///
/// Δ_g(K) = Δ_g(K − P(K)) and the actions are unitary, so 2‖K − P(K)‖_op bounds it for any group; enumeration is sharper.
pub(super) fn operator_defect(space: &KernelSpace, kernel: &[f64]) -> Result<f64> {
    let (scale, perp) = defect::scaled_perp(space, &derive(space)?, kernel)?;
    if scale == 0.0 {
        return Ok(0.0);
    }
    let bound = 2.0 * operator_norm(space, &perp)?;
    let thin = space.codomain().dim().min(space.domain().dim());
    let work = space.group().order().map_or(f64::INFINITY, |order| order as f64 * (space.len() * thin) as f64);
    if work > ENUMERATION_WORK {
        return Ok(product(bound, scale));
    }
    let mut largest = 0.0_f64;
    for g in elements(space.group().as_ref())? {
        largest = largest.max(operator_norm(space, &defect::at(space, &g, &perp)?)?);
    }
    Ok(product(largest.min(bound), scale))
}

/// An upper bound of sup_g ‖π′(g) b − b‖: a bias is a map from the trivial representation.
pub(super) fn bias_defect(codomain: &Rep, bias: &[f64]) -> Result<f64> {
    let space = KernelSpace::features(codomain, None)?;
    Ok(defect::worst(&space, &derive(&space)?, bias)?.upper)
}

/// Whether diag(scale) commutes with the action and `shift` is fixed by it, within rounding. The generators decide.
pub(super) fn is_shared(fields: &Rep, scale: &[f64], shift: &[f64]) -> bool {
    let size = |values: &[f64]| values.iter().fold(0.0_f64, |size, v| size.max(v.abs()));
    let (scale_tolerance, shift_tolerance) = (1e-12 * size(scale), 1e-12 * size(shift));
    fields.group().generators().iter().all(|g| {
        let matrix = fields.matrix(g);
        let moved = defect::apply(&matrix, shift);
        let n = scale.len();
        let commutes =
            (0..n).all(|i| (0..n).all(|j| (matrix[(i, j)] * (scale[i] - scale[j])).abs() <= scale_tolerance));
        commutes && moved.iter().zip(shift).all(|(a, b)| (a - b).abs() <= shift_tolerance)
    })
}

/// Whether two representations are the same matrices on the generators, hence everywhere.
pub(super) fn same_action(a: &Rep, b: &Rep) -> bool {
    a.dim() == b.dim() && a.group().generators().iter().all(|g| (a.matrix(g) - b.matrix(g)).norm_max() < 1e-9)
}
