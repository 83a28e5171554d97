//! A fixed tensor of a layer: derived in double precision on the host, held in the precision and on the device of the parameters.

use std::cell::RefCell;

use tch::{Device, Kind, Tensor};

use crate::error::Result;

/// Numbers that are never trained: sampled bases, permutations.
#[derive(Debug)]
pub struct Constant {
    host: Tensor,
    held: RefCell<Option<Tensor>>,
}

impl Constant {
    /// Row-major `values` of a shape.
    pub fn new(values: &[f64], shape: &[i64]) -> Result<Self> {
        Ok(Self { host: Tensor::f_from_slice(values)?.f_view(shape)?, held: RefCell::new(None) })
    }

    /// The same numbers for another layer: one copy on the host, one a layer on a device.
    pub fn share(&self) -> Self {
        Self { host: self.host.shallow_clone(), held: RefCell::new(None) }
    }

    /// It, where and as `like` is: copied on the first call and when that changes.
    pub fn like(&self, like: &Tensor) -> Result<Tensor> {
        self.on(like.kind(), like.device())
    }

    /// As [`Constant::like`], by number type and device.
    pub fn on(&self, kind: Kind, device: Device) -> Result<Tensor> {
        let mut held = self.held.borrow_mut();
        match held.as_ref().filter(|held| held.kind() == kind && held.device() == device) {
            Some(held) => Ok(held.shallow_clone()),
            None => {
                let copy = self.host.f_to_device(device)?.f_to_kind(kind)?;
                *held = Some(copy.shallow_clone());
                Ok(copy)
            }
        }
    }
}
