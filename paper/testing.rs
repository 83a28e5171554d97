//! Tensors for unit tests.

use std::borrow::Borrow;

use reynolds::random::Random;
use reynolds_torch::tch::{Kind, Tensor};

/// Standard normal numbers in double precision.
pub(crate) fn normal(shape: &[i64], seed: u64) -> Tensor {
    let mut random = Random::new(seed);
    let numbers: Vec<f64> = (0..shape.iter().product::<i64>()).map(|_| random.normal()).collect();
    Tensor::from_slice(&numbers).view(shape)
}

pub(crate) fn number(tensor: impl Borrow<Tensor>) -> f64 {
    f64::try_from(tensor.borrow().detach().to_kind(Kind::Double)).expect("a single number")
}

/// max |a|.
pub(crate) fn largest(tensor: impl Borrow<Tensor>) -> f64 {
    number(tensor.borrow().abs().max())
}
