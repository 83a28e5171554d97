//! The SO(2)-equivariant product of circular features with themselves.
//!
//! ```text
//! h′_k = Σ_{m₁ + m₂ = k} h_{m₁} ⊙ h_{m₂},   −M ≤ m₁, m₂ ≤ M        h′_0 = Σ_m h_m ⊙ h_{−m}
//! ```
//!
//! Channel by channel, without a conjugate: phases add, e^{im₁α} e^{im₂α} = e^{ikα}, and h′_0 is invariant.

use tch::Tensor;

use crate::error::{Error, Result};

/// `[N, C·(2M+1)]` → `[N, C·(2K+1)]`, or the invariant part `[N, C]`, complex; channel c·(2M+1) + (m + M) as in "Cx(-M..M)".
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

    /// Orders −K … K of the product, K = `max_degree` ≤ 2M.
    pub fn forward(&self, features: &Tensor, max_degree: usize) -> Result<Tensor> {
        if max_degree > 2 * self.max_degree {
            let expected = format!("at most {}", 2 * self.max_degree);
            return Err(Error::setting("degree of the product", expected, max_degree));
        }
        let degree = max_degree as i64;
        let orders = (-degree..=degree).map(|order| self.component(features, order)).collect::<Result<Vec<_>>>()?;
        Ok(Tensor::f_stack(&orders, 2)?.f_flatten(1, 2)?)
    }

    /// h′_k, `[N, C]`, for one order |k| ≤ 2M.
    pub fn component(&self, features: &Tensor, order: i64) -> Result<Tensor> {
        let degree = self.max_degree as i64;
        let features = self.by_order(features)?;
        let (first, last) = ((order - degree).max(-degree), (order + degree).min(degree));
        let range = features.f_narrow(2, first + degree, last - first + 1)?;
        // m₂ = k − m₁ runs through the same range backwards.
        let kind = features.kind();
        Ok(range.f_mul(&range.f_flip([2])?)?.f_sum_dim_intlist([2_i64].as_slice(), false, kind)?)
    }

    /// Re h′_0, `[N, C]`, real: what an invariant head reads.
    pub fn invariant(&self, features: &Tensor) -> Result<Tensor> {
        // Each pair of orders once: h′_0 = h_0² + 2 Σ_{m>0} h_m h_{−m}. Points last: a sum is written with its last dimension innermost,
        // and that is how the layers before lay theirs out. Split, for the tape puts the parts of a split together in one go.
        let degree = self.max_degree as i64;
        let orders = self.by_order(features)?.f_permute([1, 2, 0])?;
        let [below, zero, above] = <[Tensor; 3]>::try_from(orders.f_split_with_sizes([degree, 1, degree], 1)?)
            .expect("as many parts as sizes");
        let zero = zero.f_squeeze_dim(1)?;
        let square = zero.f_mul(&zero)?.f_real()?;
        let pairs = above.f_mul(&below.f_flip([1])?)?.f_sum_dim_intlist(1, false, None)?.f_real()?;
        Ok(square.f_add(&pairs.f_mul_scalar(2.0)?)?.f_transpose(0, 1)?)
    }

    /// `[N, C, 2M+1]`.
    fn by_order(&self, features: &Tensor) -> Result<Tensor> {
        Ok(features.f_unflatten(1, [-1, 2 * self.max_degree as i64 + 1])?)
    }
}

#[cfg(test)]
mod tests {
    use tch::{Device, Kind};

    use super::*;
    use crate::testing::{largest, normal};

    fn random_features(rows: i64, channels: i64, degree: i64) -> Tensor {
        let shape = [rows, channels * (2 * degree + 1)];
        Tensor::complex(&normal(&shape, 11), &normal(&shape, 12))
    }

    /// e^{imα} for m = −M … M.
    fn phases(degree: i64, angle: f64) -> Tensor {
        let orders = Tensor::arange_start(-degree, degree + 1, (Kind::Double, Device::Cpu));
        Tensor::polar(&orders.ones_like(), &(orders * angle))
    }

    #[test]
    fn the_invariant_is_the_real_part_of_the_component_of_order_zero() {
        for degree in [0, 1, 4] {
            let plain = random_features(5, 3, degree);
            let points_innermost = plain.transpose(0, 1).contiguous().transpose(0, 1);
            let product = TensorProduct::new(degree as usize);
            for features in [plain, points_innermost] {
                let features = features.set_requires_grad(true);
                let fast = product.invariant(&features).unwrap();
                let slow = product.component(&features, 0).unwrap().real();
                assert!(largest(&(&fast - &slow)) < 1e-13);
                let [fast, slow] = [fast, slow].map(|invariant| {
                    let loss = invariant.sin().sum(Kind::Double);
                    Tensor::run_backward(&[loss], &[&features], false, false).swap_remove(0)
                });
                assert!(largest(&(&fast - &slow)) < 1e-13 && largest(&fast) > 0.1);
            }
        }
    }

    #[test]
    fn the_product_turns_as_its_order_says() {
        let features = random_features(6, 3, 4);
        let product = TensorProduct::new(4);
        for (angle, degree) in [(0.7, 4), (-2.0, 8), (1.3, 1)] {
            let turned = (features.view([6, 3, 9]) * phases(4, angle)).view([6, 27]);
            let after = product.forward(&turned, degree as usize).unwrap();
            let before = product.forward(&features, degree as usize).unwrap().view([6, 3, 2 * degree + 1]);
            let expected = (before * phases(degree, angle)).view([6, -1]);
            assert!(largest(&(after - expected)) < 1e-12 * 9.0 * 10.0);
            let [before, after] = [&features, &turned].map(|h| product.invariant(h).unwrap());
            assert!(largest(&(before - after)) < 1e-12 * 9.0 * 10.0);
        }
    }

    #[test]
    fn every_order_is_the_sum_of_its_pairs() {
        let features = random_features(2, 2, 2);
        let product = TensorProduct::new(2).forward(&features, 4).unwrap().view([2, 2, 9]);
        let h = features.view([2, 2, 5]);
        for order in -4_i64..=4 {
            let pairs = (-2..=2).map(|m1| (m1, order - m1)).filter(|(_, m2)| (-2..=2).contains(m2));
            let expected: Tensor = pairs.map(|(m1, m2)| h.select(2, m1 + 2) * h.select(2, m2 + 2)).sum();
            assert!(largest(&(product.select(2, order + 4) - expected)) < 1e-13);
        }
        // Orders that no pair reaches are an error.
        assert!(TensorProduct::new(2).forward(&features, 5).is_err());
    }
}
