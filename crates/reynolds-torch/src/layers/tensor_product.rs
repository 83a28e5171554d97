//! The invariant part of the SO(2)-equivariant product of circular features with themselves.
//!
//! ```text
//! h′_0 = Σ_m h_m ⊙ h_{−m}      −M ≤ m ≤ M
//! ```
//!
//! Channel by channel, without a conjugate: phases add, e^{imα} e^{−imα} = 1.

use tch::Tensor;

use crate::error::Result;

/// `[N, C·(2M+1)]` → `[N, C]`; channel c·(2M+1) + (m + M) as in "Cx(-M..M)".
///
/// Paper: `app:details_so2`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TensorProduct {
    max_degree: usize,
}

impl TensorProduct {
    /// For features of orders −M … M, M = `max_degree`.
    pub fn new(max_degree: usize) -> Self {
        Self { max_degree }
    }

    /// Re h′_0, `[N, C]`, real: what an invariant head reads.
    pub fn invariant(&self, features: &Tensor) -> Result<Tensor> {
        // Each pair of orders once: h′_0 = h_0² + 2 Σ_{m>0} h_m h_{−m}. Points last: a sum is written with its last dimension innermost,
        // and that is how the layers before lay theirs out. Split, for the tape puts the parts of a split together in one go.
        let degree = self.max_degree as i64;
        let orders = features.f_unflatten(1, [-1, 2 * degree + 1])?.f_permute([1, 2, 0])?;
        let [below, zero, above] = <[Tensor; 3]>::try_from(orders.f_split_with_sizes([degree, 1, degree], 1)?)
            .expect("as many parts as sizes");
        let zero = zero.f_squeeze_dim(1)?;
        let square = zero.f_mul(&zero)?.f_real()?;
        let pairs = above.f_mul(&below.f_flip([1])?)?.f_sum_dim_intlist(1, false, None)?.f_real()?;
        Ok(square.f_add(&pairs.f_mul_scalar(2.0)?)?.f_transpose(0, 1)?)
    }
}

#[cfg(test)]
mod tests {
    use tch::{Device, Kind};

    use super::*;
    use crate::testing::{largest, normal};

    #[test]
    fn it_is_the_sum_over_orders_in_both_layouts_with_its_gradient_and_no_turn_changes_it() {
        for degree in [0, 1, 4] {
            let plain =
                Tensor::complex(&normal(&[5, 3 * (2 * degree + 1)], 11), &normal(&[5, 3 * (2 * degree + 1)], 12));
            let points_innermost = plain.transpose(0, 1).contiguous().transpose(0, 1);
            let invariant = |features: &Tensor| TensorProduct::new(degree as usize).invariant(features).unwrap();
            for features in [plain, points_innermost] {
                let features = features.set_requires_grad(true);
                let orders = features.unflatten(1, [3, -1]);
                let slow = (&orders * orders.flip([2])).sum_dim_intlist(2, false, None::<Kind>).real();
                let fast = invariant(&features);
                assert!(largest(&(&fast - &slow)) < 1e-13);
                let [fast, slow] = [fast, slow].map(|invariant| {
                    let loss = invariant.sin().sum(Kind::Double);
                    Tensor::run_backward(&[loss], &[&features], false, false).swap_remove(0)
                });
                assert!(largest(&(&fast - &slow)) < 1e-13 && largest(&fast) > 0.1);
                // e^{imα} for m = −M … M.
                let angles = Tensor::arange_start(-degree, degree + 1, (Kind::Double, Device::Cpu)) * 0.7;
                let turned = (orders * Tensor::polar(&angles.ones_like(), &angles)).flatten(1, 2);
                assert!(largest(&(invariant(&turned) - invariant(&features))) < 1e-12);
            }
        }
    }
}
