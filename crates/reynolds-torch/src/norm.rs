//! The norms of [`reynolds::norm`] on stacks of matrices, and their symmetric subgradients.
//!
//! ```text
//! ‖A‖_max = max |a_ij|      ‖A‖_(p,q) = (Σ_i (Σ_j |a_ij|^p)^{q/p})^{1/q}      ‖A‖_spectral = σ₁(A)
//! ```
//!
//! Ties of the largest entry, or of the leading singular value, are averaged within the tolerance of the host; at A = 0 the subgradient
//! is 0. The subgradient of a complex matrix is ∂/∂Re + i ∂/∂Im.
//!
//! σ₁ is the root of the largest eigenvalue of AA* or A*A, whichever is smaller: its relative error is that of a singular value
//! decomposition, which takes a GPU much longer, and is kept for the tape. Both make the host wait for the device: no other norm
//! does.

use reynolds::norm::Norm;
use tch::{Kind, Tensor};

use crate::error::Result;

/// N of every matrix of `a` `[count, rows, columns]`: `[count]`, differentiable.
pub(crate) fn value(norm: Norm, a: &Tensor) -> Result<Tensor> {
    match exponents(norm) {
        Some((p, q)) => {
            let (scale, sums) = row_sums(a, p)?;
            Ok(outer(&sums, p, q)?.f_mul(&scale.f_view([-1])?)?)
        }
        None if norm == Norm::Spectral && a.requires_grad() => Ok(a.f_svd(true, true)?.1.f_amax(1, false)?),
        None if norm == Norm::Spectral => Ok(spectral(a)?.0),
        None => Ok(a.f_abs()?.f_amax([1, 2], false)?),
    }
}

/// N of every matrix, `[count]`, and a subgradient, of the shape of `a` `[count, rows, columns]`.
pub(crate) fn value_and_gradient(norm: Norm, a: &Tensor) -> Result<(Tensor, Tensor)> {
    match exponents(norm) {
        Some((p, q)) => entrywise(a, p, q),
        None if norm == Norm::Spectral => spectral(a),
        None => largest(a),
    }
}

/// p and q of an entrywise norm.
fn exponents(norm: Norm) -> Option<(i32, i32)> {
    match norm {
        Norm::Frobenius => Some((2, 2)),
        Norm::Entrywise { p, q } => Some((p.get(), q.get())),
        Norm::Spectral | Norm::Max => None,
    }
}

/// Relative distance within which entries count as equal, as on the host.
fn tie_tolerance(a: &Tensor) -> f64 {
    32.0 * epsilon(a.kind())
}

/// The distance from 1 to the next larger number, of a real or complex kind.
pub(crate) fn epsilon(kind: Kind) -> f64 {
    match kind {
        Kind::Double | Kind::ComplexDouble => f64::EPSILON,
        _ => f64::from(f32::EPSILON),
    }
}

/// 1 where the condition holds, else 0.
fn indicator(condition: &Tensor, like: &Tensor) -> Result<Tensor> {
    Ok(condition.f_to_kind(like.kind())?)
}

fn largest(a: &Tensor) -> Result<(Tensor, Tensor)> {
    let modulus = a.f_abs()?;
    let value = modulus.f_amax([1, 2], true)?;
    let tied = modulus.f_ge_tensor(&value.f_mul_scalar(1.0 - tie_tolerance(a))?)?;
    let tied = indicator(&tied, &modulus)?;
    let share = tied.f_div(&tied.f_sum_dim_intlist([1, 2].as_slice(), true, None)?)?;
    Ok((value.f_view([-1])?, a.f_sgn()?.f_mul(&share)?))
}

/// The largest |a_ij| of each matrix, `[count, 1, 1]`, or 1 for a zero matrix, not on the tape: powers of entries divided by it neither
/// vanish nor overflow.
fn scale(modulus: &Tensor) -> Result<Tensor> {
    let scale = modulus.f_detach()?.f_amax([1, 2], true)?;
    Ok(scale.f_add(&indicator(&scale.f_eq(0.0)?, &scale)?)?)
}

/// The scale and Σ_j |a_ij / scale|^p, `[count, rows]`.
fn row_sums(a: &Tensor, p: i32) -> Result<(Tensor, Tensor)> {
    let modulus = a.f_abs()?;
    let scale = scale(&modulus)?;
    let sums = modulus.f_div(&scale)?.f_pow_tensor_scalar(i64::from(p))?.f_sum_dim_intlist(2, false, None)?;
    Ok((scale, sums))
}

/// x^{1/p}, with derivative 0 where x = 0.
fn root(x: &Tensor, p: i32) -> Result<Tensor> {
    if p == 1 {
        return Ok(x.shallow_clone());
    }
    let positive = indicator(&x.f_gt(0.0)?, x)?;
    // 1 in place of 0, whose root has no derivative.
    let shifted = x.f_add(&positive.f_neg()?.f_add_scalar(1.0)?)?;
    let root = if p == 2 { shifted.f_sqrt()? } else { shifted.f_pow_tensor_scalar(1.0 / 3.0)? };
    Ok(root.f_mul(&positive)?)
}

/// (Σ_i s_i^{q/p})^{1/q} of sums `[count, rows]`.
fn outer(sums: &Tensor, p: i32, q: i32) -> Result<Tensor> {
    let powers = if p == q { sums.shallow_clone() } else { root(sums, p)?.f_pow_tensor_scalar(i64::from(q))? };
    root(&powers.f_sum_dim_intlist(1, false, None)?, q)
}

/// ∂‖A‖/∂a_ij = ‖A‖^{1−q} r_i^{q−p} |a_ij|^{p−1} a_ij/|a_ij| with r_i the p-norm of row i.
fn entrywise(a: &Tensor, p: i32, q: i32) -> Result<(Tensor, Tensor)> {
    let (scale, sums) = row_sums(a, p)?;
    let norm = outer(&sums, p, q)?;
    let alive = sums.f_gt(0.0)?;
    let rows = root(&sums, p)?.f_where_self(&alive, &sums.f_ones_like()?)?;
    let total = norm.f_where_self(&norm.f_gt(0.0)?, &norm.f_ones_like()?)?.f_unsqueeze(1)?;
    let factors = rows.f_pow_tensor_scalar(i64::from(q - p))?.f_div(&total.f_pow_tensor_scalar(i64::from(q - 1))?)?;
    let factors = factors.f_mul(&indicator(&alive, &sums)?)?.f_unsqueeze(2)?;
    let inner = a.f_abs()?.f_div(&scale)?.f_pow_tensor_scalar(i64::from(p - 1))?;
    Ok((norm.f_mul(&scale.f_view([-1])?)?, a.f_sgn()?.f_mul(&inner.f_mul(&factors)?)?))
}

/// The mean of u v* over the singular pairs tied with the leading one, U S U* A/σ₁ with the mean S over the pairs tied.
fn spectral(a: &Tensor) -> Result<(Tensor, Tensor)> {
    let adjoint = |a: &Tensor| -> Result<Tensor> { Ok(a.f_transpose(1, 2)?.f_conj()?.f_resolve_conj()?) };
    if a.size()[1] > a.size()[2] {
        let (value, gradient) = spectral(&adjoint(a)?)?;
        return Ok((value, adjoint(&gradient)?));
    }
    let scale = scale(&a.f_abs()?)?;
    let a = a.f_div(&scale)?;
    let (squares, u) = a.f_matmul(&adjoint(&a)?)?.f_linalg_eigh("L")?;
    let largest = squares.f_amax(1, true)?.f_clamp_min(0.0)?;
    // Of squares, relative distances are twice those of singular values.
    let tolerance = 2.0 * tie_tolerance(&a) * (a.size()[2] as f64).sqrt();
    let tied = indicator(&squares.f_ge_tensor(&largest.f_mul_scalar(1.0 - tolerance)?)?, &squares)?;
    let positive = largest.f_gt(0.0)?;
    let value = largest.f_sqrt()?;
    let divisor =
        tied.f_sum_dim_intlist(1, true, None)?.f_mul(&value)?.f_where_self(&positive, &value.f_ones_like()?)?;
    let share = tied.f_div(&divisor)?.f_mul(&indicator(&positive, &squares)?)?.f_unsqueeze(1)?;
    let gradient = u.f_mul(&share)?.f_matmul(&adjoint(&u)?.f_matmul(&a)?)?;
    Ok((value.f_mul(&scale.f_view([-1, 1])?)?.f_view([-1])?, gradient))
}
