//! Tensors and layers for unit tests.

use reynolds::random::Random;
use tch::{Device, Kind, Tensor};

use crate::error::Result;
use crate::parameters::{Builder, Parameters};

/// Standard normal numbers.
pub(crate) fn normal(shape: &[i64], seed: u64) -> Tensor {
    let mut random = Random::new(seed);
    let numbers: Vec<f64> = (0..shape.iter().product::<i64>()).map(|_| random.normal()).collect();
    Tensor::from_slice(&numbers).view(shape)
}

/// The largest absolute value.
pub(crate) fn largest(tensor: &Tensor) -> f64 {
    tensor.detach().abs().max().double_value(&[])
}

/// The same numbers with channels innermost in memory.
pub(crate) fn innermost(tensor: &Tensor) -> Tensor {
    tensor.movedim_int(1, -1).contiguous().movedim_int(-1, 1)
}

/// A layer and its parameters in double precision.
pub(crate) fn built<L>(make: impl FnOnce(&mut Builder) -> Result<L>) -> (L, Parameters) {
    let mut builder = Parameters::builder();
    let layer = make(&mut builder).unwrap();
    (layer, builder.build(Kind::Double, Device::Cpu).unwrap())
}
