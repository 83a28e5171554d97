//! Numbers of a step that change from one to the next: strengths, rates, corrections.

#![allow(unsafe_code, reason = "numbers are written to the address of a tensor")]

use tch::{Device, Kind, Tensor};

use crate::device::{place, upload};
use crate::error::Result;

/// A few numbers, on the host and in one place of a device's memory, from which kernels and captured steps read them.
#[derive(Debug)]
pub(crate) struct Numbers {
    host: Vec<f64>,
    memory: Tensor,
}

impl Numbers {
    /// In double precision.
    pub(crate) fn new(values: &[f64], device: Device) -> Result<Self> {
        Self::of_kind(values, Kind::Double, device)
    }

    /// Rounded to `kind`, single or double precision.
    pub(crate) fn of_kind(values: &[f64], kind: Kind, device: Device) -> Result<Self> {
        Ok(Self { host: values.to_vec(), memory: upload(values, kind, device)? })
    }

    /// Changes them, in the order of the current stream; does not synchronise. Writes nothing where they are what they were, so that it may
    /// be called while a step is captured.
    pub(crate) fn set(&mut self, values: &[f64]) -> Result<()> {
        if self.host == values {
            return Ok(());
        }
        assert_eq!(self.host.len(), values.len(), "as many numbers as before");
        self.host.copy_from_slice(values);
        if !self.memory.device().is_cuda() {
            self.memory.f_copy_(&Tensor::f_from_slice(values)?)?;
            return Ok(());
        }
        let (place, address) = (place(self.memory.device())?, self.address());
        // SAFETY: the tensor has as many numbers of this type, in a row, and only operations on the current stream use it.
        unsafe {
            match self.memory.kind() {
                Kind::Double => reynolds_cuda::write(place, address, values)?,
                _ => {
                    let rounded: Vec<f32> = values.iter().map(|&value| value as f32).collect();
                    reynolds_cuda::write(place, address, &rounded)?;
                }
            }
        }
        Ok(())
    }

    /// As they are on the host.
    pub(crate) fn host(&self) -> &[f64] {
        &self.host
    }

    /// All of them on the device, a view that sees later changes.
    pub(crate) fn memory(&self) -> &Tensor {
        &self.memory
    }

    pub(crate) fn address(&self) -> u64 {
        self.memory.data_ptr() as u64
    }
}
