//! Operator norms of linear layers and of their defects.

use faer::Mat;

use crate::defect;
use crate::error::{Error, Result};
use crate::group::elements;
use crate::projection::{KernelSpace, Projector, derive};
use crate::rep::{self, Rep};

/// Work (multiplications, roughly) up to which the defect is bounded element by element instead of through 2‖W − P(W)‖.
const ENUMERATION_WORK: f64 = 1e9;

/// Σ_x ‖K(x)‖_op for a kernel of the shape of `space`, which bounds the operator norm of the convolution on ℓ²; for a dense map
/// it is the operator norm itself.
pub(super) fn operator_norm(space: &KernelSpace, kernel: &[f64]) -> Result<f64> {
    let (rows, columns, points) = (space.codomain().dim(), space.domain().dim(), space.points());
    let mut total = 0.0;
    for x in 0..points {
        let slice = Mat::from_fn(rows, columns, |o, i| kernel[(o * columns + i) * points + x]);
        let values = slice.singular_values().map_err(|error| Error::Numerical {
            procedure: "singular value decomposition",
            reason: format!("{error:?}"),
        })?;
        total += values.first().copied().unwrap_or(0.0);
    }
    Ok(total)
}

/// An upper bound of sup_g ‖Δ_g(K)‖_op.
///
/// Δ_g(K) = Δ_g(K − P(K)) and the actions are unitary, so 2‖K − P(K)‖_op bounds it for any group; enumeration is sharper.
pub(super) fn operator_defect(space: &KernelSpace, kernel: &[f64]) -> Result<f64> {
    let perp = derive(space)?.perp(kernel)?;
    let bound = 2.0 * operator_norm(space, &perp)?;
    let thin = space.codomain().dim().min(space.domain().dim());
    let work = space.group().order().map_or(f64::INFINITY, |order| order as f64 * (space.len() * thin) as f64);
    if work > ENUMERATION_WORK {
        return Ok(bound);
    }
    let mut largest = 0.0_f64;
    for g in elements(space.group().as_ref())? {
        largest = largest.max(operator_norm(space, &defect::at(space, &g, &perp)?)?);
    }
    Ok(largest.min(bound))
}

/// An upper bound of sup_g ‖π′(g) b − b‖: a bias is a map from the trivial representation.
pub(super) fn bias_defect(codomain: &Rep, bias: &[f64]) -> Result<f64> {
    let space = KernelSpace::dense(&rep::trivial(codomain.group()), codomain)?;
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
