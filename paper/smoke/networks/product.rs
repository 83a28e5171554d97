//! What penalties are summed from: scaled products in one operation each.

use tch::Tensor;

use reynolds_torch::error::Result;

/// `start` + `factor` · left · right, `[batch, n, m]`; without a start the product alone.
///
/// # Errors
/// [`Error::Torch`](reynolds_torch::Error::Torch) if the shapes do not fit or the device has no room.
pub(super) fn product(start: Option<&Tensor>, factor: f64, left: &Tensor, right: &Tensor) -> Result<Tensor> {
    match start {
        Some(start) => Ok(start.f_baddbmm(left, right, 1.0, factor)?),
        // With β = 0 libtorch reads nothing of what it would add to: any tensor of one number will do.
        None => Ok(left.f_narrow(1, 0, 1)?.f_narrow(2, 0, 1)?.f_baddbmm(left, right, 0.0, factor)?),
    }
}

/// `sum` + `term`; without a sum the term.
///
/// # Errors
/// As [`product`].
pub(super) fn plus(sum: Option<Tensor>, term: Tensor) -> Result<Tensor> {
    match sum {
        Some(sum) => Ok(sum.f_add(&term)?),
        None => Ok(term),
    }
}

/// A sum of no terms is 0, of the type and on the device of `like`.
///
/// # Errors
/// As [`product`].
pub(super) fn or_zero(sum: Option<Tensor>, like: &Tensor) -> Result<Tensor> {
    match sum {
        Some(sum) => Ok(sum),
        None => Ok(Tensor::f_zeros([], (like.kind(), like.device()))?),
    }
}

/// `factor` · ‖part‖². Where a part is small beside the weights it was taken of, the product of weights and slope would be the difference of
/// larger numbers, and may fall below zero.
///
/// # Errors
/// As [`product`].
pub(super) fn squared(part: &Tensor, factor: f64) -> Result<Tensor> {
    let part = part.f_view([-1])?;
    Ok(part.f_dot(&part)?.f_mul_scalar_(factor)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn products_are_scaled_and_added_and_nothing_is_read_where_nothing_is_added() {
        let left = Tensor::from_slice(&[f64::NAN, 2.0, 3.0, 4.0]).view([1, 2, 2]);
        let right = Tensor::from_slice(&[0.0, 1.0]).view([1, 2, 1]);
        let second = |tensor: &Tensor| tensor.double_value(&[0, 1, 0]);
        let alone = product(None, 0.5, &left, &right).unwrap();
        assert_eq!((alone.size(), second(&alone)), (vec![1, 2, 1], 2.0));
        assert_eq!(second(&product(Some(&alone), -2.0, &left, &right).unwrap()), -6.0);
        assert_eq!(second(&plus(Some(alone.copy()), alone.copy()).unwrap()), 4.0);
        assert_eq!(second(&plus(None, alone).unwrap()), 2.0);
    }
}
