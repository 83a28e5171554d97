//! The number type of the arithmetic, by explicit casts.
//!
//! Parameters, gradients and optimiser moments stay in the type they were built in. With bf16 a network casts its inputs and weights
//! by [`Precision::cast`] where they are used; the tape carries the gradient back through the cast to the parameter's own type.
//!
//! ```
//! use reynolds_torch::{Precision, tch::{Kind, Tensor}};
//! let weight = Tensor::from_slice(&[1.0_f32, 2.0]).set_requires_grad(true);
//! let output = Precision::Bf16.cast(&weight)? * 3.0;
//! assert_eq!(output.kind(), Kind::BFloat16);
//! output.sum(Kind::Float).backward();
//! assert_eq!(weight.grad().kind(), Kind::Float);
//! # Ok::<(), reynolds_torch::Error>(())
//! ```

use serde::{Deserialize, Serialize};
use tch::{Device, Kind, Tensor};

use crate::device;
use crate::error::{Error, Result};

/// The number type in which layers compute.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Precision {
    /// The number type of the parameters: nothing is cast.
    #[default]
    F32,
    /// bfloat16: the range of f32, 8 bits of mantissa. On CUDA only.
    Bf16,
}

impl Precision {
    /// "f32" or "bf16", as in a config.
    pub fn name(self) -> &'static str {
        match self {
            Self::F32 => "f32",
            Self::Bf16 => "bf16",
        }
    }

    /// The tensor in this precision; itself where nothing has to be cast. On the tape if the tensor is. Complex tensors, which have no
    /// bf16, stay as they are.
    pub fn cast(self, tensor: &Tensor) -> Result<Tensor> {
        match self {
            Self::Bf16 if !tensor.is_complex() => Ok(tensor.f_to_kind(Kind::BFloat16)?),
            Self::F32 | Self::Bf16 => Ok(tensor.shallow_clone()),
        }
    }

    /// A contiguous copy in this precision, on the tape if the tensor is: one pass orders and rounds.
    pub(crate) fn copy(self, tensor: &Tensor) -> Result<Tensor> {
        let kind = match self {
            Self::Bf16 => Kind::BFloat16,
            Self::F32 => tensor.kind(),
        };
        let mut copy = Tensor::f_empty(tensor.size(), (kind, tensor.device()))?;
        copy.f_copy_(tensor)?;
        Ok(copy)
    }

    /// Whether training in this precision is supported on a device.
    pub fn check(self, device: Device) -> Result<()> {
        match (self, device) {
            (Self::F32, _) | (Self::Bf16, Device::Cuda(_)) => Ok(()),
            (Self::Bf16, other) => {
                let found = format!("bf16 on {}", device::name(other));
                Err(Error::setting("precision", "f32 on this device (bf16 needs CUDA)", found))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bf16_is_refused_on_the_cpu() {
        assert!(Precision::F32.check(Device::Cpu).is_ok());
        let message = Precision::Bf16.check(Device::Cpu).unwrap_err().to_string();
        assert_eq!(message, "precision: expected f32 on this device (bf16 needs CUDA), found bf16 on cpu");
        assert!(Precision::Bf16.check(Device::Cuda(0)).is_ok());
    }

    #[test]
    fn bf16_rounds_to_eight_bits_and_f32_casts_nothing() {
        let tensor = Tensor::from_slice(&[1.0_f32 + 1.0 / 1024.0]);
        assert_eq!(Precision::F32.cast(&tensor).unwrap().data_ptr(), tensor.data_ptr());
        assert_eq!(Precision::Bf16.cast(&tensor).unwrap().to_kind(Kind::Double).double_value(&[0]), 1.0);
    }
}
