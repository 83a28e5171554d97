//! The memory of tensors that Python owns: the only unsafe code of this crate.
#![allow(unsafe_code, reason = "tensors of Python are reached by address")]

use pyo3::PyResult;

use crate::error::ReynoldsError;

/// The address of the first number of a tensor on the CPU, and whether its numbers are f64 (else f32).
///
/// `python/reynolds/memory.py` makes them, of contiguous tensors on the CPU that have as many numbers as their layer, and keeps the tensors
/// alive during the call.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Memory {
    address: usize,
    double: bool,
}

/// A tensor's numbers.
pub(crate) enum Numbers<'a> {
    Single(&'a mut [f32]),
    Double(&'a mut [f64]),
}

impl Memory {
    /// # Errors
    /// If the address is null or not aligned.
    pub(crate) fn new(address: usize, double: bool) -> PyResult<Self> {
        let size = if double { 8 } else { 4 };
        if address == 0 || !address.is_multiple_of(size) {
            let message =
                format!("tensor memory: expected an address that is a multiple of {size}, found {address:#x}");
            return Err(ReynoldsError::new_err(message));
        }
        Ok(Self { address, double })
    }

    /// The numbers behind the address.
    ///
    /// # Safety
    /// `len` numbers of the type lie there, and nobody else uses them while the slice lives.
    pub(crate) unsafe fn numbers<'a>(self, len: usize) -> Numbers<'a> {
        // SAFETY: the caller vouches for the memory; null and alignment were checked above.
        unsafe {
            if self.double {
                Numbers::Double(std::slice::from_raw_parts_mut(self.address as *mut f64, len))
            } else {
                Numbers::Single(std::slice::from_raw_parts_mut(self.address as *mut f32, len))
            }
        }
    }
}
